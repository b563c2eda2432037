"""The releases of nvidia-cutlass-dsl that cutecc knows, and what is different in each: the one place that says.

What a wheel tells of itself, such as the passes of its pipeline and their options, is asked, and does not stand here.
Read off nvidia-cutlass-dsl 4.6.0, 4.6.3, 4.7.1 and 4.8.1, each for CUDA 12 (`cu12`) and CUDA 13 (`cu13`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Flavour:
    """A build of a release for one major version of CUDA: the same passes, with another assembler behind them."""

    name: str
    """As its package and the bindings call it: `cu12`."""
    toolkit: str
    """The CUDA toolkit of its assembler, `12.9`; the DSL takes it for the version that it traces for."""
    ptx: str
    """The PTX version of what it generates: `8.8`."""
    features: str
    """What its pipelines ask of libNVVM for that: `+ptx88`, or nothing, which is the newest that libNVVM knows."""


@dataclass(frozen=True)
class Release:
    """A release, with its patches, by what cutecc writes for it."""

    version: str
    """Major and minor: `4.8`."""
    lowers_experimental: str
    """The pipeline text that a module of the experimental API needs before `cute-to-nvvm`."""
    lowers_experimental_pyir: str
    """The same for a module that is traced through PyIR."""
    lowers_pyir: bool
    """Whether the pipeline has an option for such modules, and the DSL a variable that makes it trace so."""
    expands_experimental: bool
    """Whether the passes of that can be run one by one: those without a name are reimplemented."""
    sets_target: str
    """The pass that gives GPU modules the chip to compile for."""
    binary_targets: str
    """What the `compute_targets` of a `cuda.binary` hold, for `{kind}`, which is `sass` or `ptx`, of the chip `{chip}`
    without its suffix."""
    scoped_location: str
    """A location `{location}` within the debug information's `{scope}`."""
    integer_kind: str
    """The `#nvvm.tcgen05_mma_kind` of products of integers."""
    output_lanes: str
    """What builders of `nvvm.tcgen05.mma` call the mask of the lanes that are not written."""
    scale_vector: tuple[str, str]
    """What those with scales call how many elements share one, and its attribute."""
    libnvvm: str
    """The CUDA toolkit of the libNVVM that generates PTX, the same in each flavour: `13.4`."""
    flavours: tuple[Flavour, ...]
    """What the release is built for, oldest first: what of it is not the same in all of them."""

    def flavour(self, name: str) -> Flavour | None:
        """Its flavour of that name; `None` where cutecc knows none."""
        return next((each for each in self.flavours if each.name == name), None)


_CU12 = Flavour(name="cu12", toolkit="12.9", ptx="8.8", features="+ptx88")
_CU13 = Flavour(name="cu13", toolkit="13.4", ptx="9.4", features="")

_V4_8 = Release(
    version="4.8",
    lowers_experimental="lir-to-cute-dsl",
    lowers_experimental_pyir="lir-to-cute-dsl{enable-pyir=true}",
    lowers_pyir=True,
    expands_experimental=True,
    sets_target="cuda-compute-target",
    binary_targets="[#cuda.compute_target<{kind}, conditional, [{chip}]>]",
    scoped_location="#llvm.di_location<{location} in {scope}>",
    integer_kind="i8",
    output_lanes="disable_output_lane",
    scale_vector=("block_scale", "tcgen05_mma_block_scale"),
    libnvvm="13.4",
    flavours=(_CU12, _CU13),
)
_LIR_TO_CUTE = (
    "gpu.module(lir-to-cute{enable-cuda-dialect enable-lir-func-finalization=false}),"
    "lir-func-finalization{enable-cuda-dialect=true require-configure-launch=false}"
)
_V4_7 = replace(
    _V4_8,
    version="4.7",
    lowers_experimental=_LIR_TO_CUTE,
    lowers_experimental_pyir=_LIR_TO_CUTE,
    expands_experimental=False,
    sets_target="nvvm-attach-target",
    binary_targets="#cuda.compute_target<{kind}, conditional, [{chip}]>",
    scoped_location="loc(fused<{scope}>[{location}])",
    integer_kind="int8",
    output_lanes="write_disable_mask",
    scale_vector=("scale_vec_size", "tcgen05_mma_scale_vec"),
    libnvvm="13.3",
    flavours=(_CU12, replace(_CU13, toolkit="13.3", ptx="9.3")),
)
_V4_6 = replace(_V4_7, version="4.6", lowers_pyir=False)

RELEASES = (_V4_6, _V4_7, _V4_8)
"""Oldest first. Of a newer one it is assumed that it is as the last."""
