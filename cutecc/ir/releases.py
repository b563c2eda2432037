"""The releases of nvidia-cutlass-dsl that cutecc knows, and what is different in each: the one place that says.

What a wheel tells of itself, such as the passes of its pipeline and their options, is asked, and does not stand here.
Read off nvidia-cutlass-dsl 4.6.0, 4.6.3, 4.7.1 and 4.8.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Release:
    """A release, with its patches, by what cutecc writes for it."""

    version: str
    """Major and minor: `4.8`."""
    lowers_experimental: str
    """The pipeline text that a module of the experimental API needs before `cute-to-nvvm`."""
    expands_experimental: bool
    """Whether the passes of that can be run one by one: those without a name are reimplemented."""
    sets_target: str
    """The pass that gives GPU modules the chip to compile for."""
    binary_targets: str
    """What the `compute_targets` of a `cuda.binary` hold, for `{kind}`, which is `sass` or `ptx`, of the chip `{chip}`
    without its suffix."""
    scoped_location: str
    """A location `{location}` within the debug information's `{scope}`."""


_V4_8 = Release(
    version="4.8",
    lowers_experimental="lir-to-cute-dsl",
    expands_experimental=True,
    sets_target="cuda-compute-target",
    binary_targets="[#cuda.compute_target<{kind}, conditional, [{chip}]>]",
    scoped_location="#llvm.di_location<{location} in {scope}>",
)
_V4_7 = replace(
    _V4_8,
    version="4.7",
    lowers_experimental="gpu.module(lir-to-cute{enable-cuda-dialect enable-lir-func-finalization=false}),"
    "lir-func-finalization{enable-cuda-dialect=true require-configure-launch=false}",
    expands_experimental=False,
    sets_target="nvvm-attach-target",
    binary_targets="#cuda.compute_target<{kind}, conditional, [{chip}]>",
    scoped_location="loc(fused<{scope}>[{location}])",
)
_V4_6 = replace(_V4_7, version="4.6")

RELEASES = (_V4_6, _V4_7, _V4_8)
"""Oldest first. Of a newer one it is assumed that it is as the last."""
