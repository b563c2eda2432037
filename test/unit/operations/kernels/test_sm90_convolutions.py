"""Convolutions on Hopper, on the CPU emulator: kinds, types, ranks, tiles, schedules, clusters and modes.

Each runs on a GPU that holds a single cluster, so that its blocks take several tiles and the ring of stages goes round.
Sizes are ragged, everything that can be checked is, and tensors have poison around their pixels.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from attacks import attacks
from convolving import convolve, geometry
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sm90_products import ONE, TWO, hopper, of_everything, tolerance

from cutecc.operations.convolution.description import LAYOUTS, ConvolutionDescription
from cutecc.operations.convolution.validity import refusal
from cutecc.operations.epilogue import functions
from cutecc.operations.epilogue.declarations import Column, Full, Row
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.kernels.convolution import sm90
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.operand import Operand


def convolution(
    kind: Any,
    tile: str,
    dtype: str = "f16",
    d: str = "",
    *,
    stride: Any = "strided",
    rank: int = 2,
    groups: Any = "single",
    turned: bool = False,
    **gemm: Any,
) -> ConvolutionDescription:
    """A convolution from the texts of its product's parts, as `hopper` takes them."""
    first, second = LAYOUTS[kind]
    product = hopper(f"{dtype}:{first}", f"{dtype}:{second}", d or f"{dtype}:row", tile, **gemm)
    mode = "convolution" if turned else "cross_correlation"
    return ConvolutionDescription(kind, product, "optimized", stride, rank, groups, mode)


def everything(description: ConvolutionDescription, c: str) -> ConvolutionDescription:
    """The same with every kind of operand and of result."""
    gemm, source = description.gemm, Operand.parse(c)
    graph = of_everything(gemm.d, source, gemm.instruction.accumulator)
    return replace(description, gemm=replace(gemm, c=source, epilogue=graph))


def of_rows(accum, C, bias, scale):
    D = functions.relu(accum + C + bias) * scale
    row_max = functions.max(D, axis=1)
    return D, row_max


ROWS = Epilogue.trace(
    of_rows, C=Full("f16"), bias=Row("f16", alignment=1), scale=Column("f32"), D=Full("f16"), row_max=Column("f32")
)

SMALL = "64x32:stages=3:warps=1x1x1"
EDGES = geometry(2, (9, 7), 40, 48, (3, 2), ((1, 1), (1, 0)), (2, 1), (1, 2))
"""Asymmetric padding, strides and dilations that differ, and steps that are filled up with zeros."""
UNITY = geometry(2, (9, 7), 48, 40, (3, 2), ((1, 1), (1, 0)), (1, 1), (1, 2))
LINE = geometry(2, (41,), 40, 48, (3,), ((2, 1),), (2,), (2,))
SPACE = geometry(2, (4, 5, 6), 40, 24, (2, 3, 2), ((2, 1), (1, 1), (0, 1)), (2, 1, 1), (1, 1, 2))
PHASES = geometry(2, (9, 7), 48, 72, (3, 4), ((1, 0), (2, 1)), (3, 2), (1, 2))
"""Some phases meet no tap, and some are smaller than others."""
PIXELS = geometry(3, (9, 7), 64, 72, (3, 2), ((1, 1), (1, 0)), (2, 1), (1, 2))
WIDE = geometry(2, (7, 9), 96, 72, (2, 2), ((1, 0), (0, 1)), (1, 2), (1, 1))

CASES: dict[str, tuple[ConvolutionDescription, Geometry]] = {
    "fprop": (
        everything(convolution("fprop", f"cooperative:128x32:stages=3:{TWO}", turned=True), "f16:row:1"),
        EDGES,
    ),
    "fprop-1d": (convolution("fprop", f"pingpong:64x64:stages=3:{TWO}", "bf16", rank=1), LINE),
    "fprop-3d": (convolution("fprop", f"cooperative:{SMALL}:cluster=2x1", rank=3), SPACE),
    "fprop-shared": (convolution("fprop", f"cooperative:{SMALL}:cluster=2x2", "bf16", "f32:row:1"), EDGES),
    "fprop-tf32": (convolution("fprop", f"cooperative:{SMALL}:cluster=1x2", "f32"), EDGES),
    "fprop-i8": (
        convolution("fprop", f"pingpong:64x32:stages=3:{TWO}", "i8", epilogue="identity"),
        geometry(2, (9, 7), 80, 48, (3, 2), ((1, 1), (1, 0)), (2, 1), (1, 2)),
    ),
    "fprop-e4m3": (
        convolution("fprop", f"cooperative:{SMALL}", "f8E4M3FN", "bf16:row"),
        geometry(2, (9, 7), 80, 48, (1, 1), None, (2, 2)),
    ),
    "fprop-serial": (convolution("fprop", f"cooperative:{SMALL}", mode="split_k_serial"), EDGES),
    "dgrad-unity": (
        convolution("dgrad", f"pingpong:64x64:stages=3:{TWO}:cluster=1x2", c="f16:row:1", stride="unity"),
        UNITY,
    ),
    "dgrad-unity-3d": (
        convolution("dgrad", f"cooperative:{SMALL}", "bf16", stride="unity", rank=3, turned=True),
        geometry(1, (4, 5, 6), 24, 40, (2, 3, 2), ((1, 1), (1, 1), (0, 1)), None, (1, 1, 2)),
    ),
    "dgrad-parallel": (
        convolution("dgrad", f"cooperative:{SMALL}", stride="unity", mode="split_k_parallel"),
        UNITY,
    ),
    "dgrad": (convolution("dgrad", f"pingpong:64x32:stages=3:{TWO}:cluster=2x1"), PHASES),
    "dgrad-3d": (
        convolution("dgrad", f"cooperative:{SMALL}", "bf16", "f32:row:1", rank=3, turned=True),
        geometry(2, (4, 5, 6), 24, 40, (2, 3, 1), ((1, 1), (1, 1), (0, 0)), (2, 2, 1)),
    ),
    "wgrad": (convolution("wgrad", f"cooperative:128x96:stages=3:{TWO}", c="f16:row:1", turned=True), WIDE),
    "wgrad-1d": (
        convolution("wgrad", f"pingpong:64x64:stages=3:{TWO}", "bf16", "f32:row", rank=1),
        geometry(3, (41,), 64, 40, (3,), ((2, 1),), (2,), (2,)),
    ),
    "wgrad-3d": (
        convolution("wgrad", f"cooperative:64x128:stages=3:{ONE}:cluster=1x2", rank=3),
        geometry(2, (4, 5, 6), 64, 40, (2, 1, 2), ((1, 1), (1, 1), (0, 1)), (2, 1, 1)),
    ),
    "wgrad-shared": (convolution("wgrad", f"cooperative:{SMALL}:cluster=2x2", "bf16"), WIDE),
    "wgrad-serial": (convolution("wgrad", f"cooperative:64x64:stages=3:{ONE}", mode="split_k_serial"), PIXELS),
    "wgrad-parallel": (
        everything(convolution("wgrad", f"cooperative:64x192:stages=2:{ONE}", mode="split_k_parallel"), "f32:row:1"),
        PIXELS,
    ),
}
GROUPS: dict[str, tuple[ConvolutionDescription, Geometry]] = {
    "fprop": (
        convolution("fprop", f"cooperative:{SMALL}", groups="many"),
        geometry(2, (5, 7), 128, 80, (3, 2), ((1, 1), (1, 0)), (2, 1)),
    ),
    "dgrad": (
        convolution("dgrad", f"cooperative:{SMALL}", groups="many"),
        geometry(2, (5, 7), 80, 128, (3, 2), ((1, 1), (1, 0)), (2, 1)),
    ),
    "wgrad": (convolution("wgrad", f"cooperative:{SMALL}", groups="many"), geometry(2, (5, 7), 128, 80, (3, 1))),
}
ALWAYS = ("fprop-1d", "dgrad", "wgrad-serial")
"""Those that are tested without `slow`."""


def wrong(description: ConvolutionDescription, sizes: Geometry, **options: Any) -> dict[str, float]:
    """The errors, beyond what they may be, of a launch on a GPU that holds one cluster."""
    along_m, along_n = description.gemm.tile.cluster
    results = convolve(description, sizes, **{"multiprocessors": along_m * along_n} | options)
    gemm = description.gemm
    return {name: each.error for name, each in results.items() if not each.error <= tolerance(gemm, name)}


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in ALWAYS else pytest.mark.slow) for n in CASES])
def test_convolution(name: str):
    description, sizes = CASES[name]
    assert refusal(description) is None
    assert sm90.size_refusal(description, sizes, 1) is None
    slices = 3 if description.gemm.mode.startswith("split_k") else None
    assert wrong(description, sizes, slices=slices) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
def test_groups_end_with_their_channels(kind: str):
    description, sizes = GROUPS[kind]
    assert refusal(description) is None
    assert sm90.size_refusal(description, sizes, 2) is None
    assert wrong(description, sizes, groups=2) == {}


BEHIND = geometry(1, (6, 23), 16, 16, (1, 1), ((2, 0), (2, 0)), (2, 2))
"""Phases with a row that is beyond the image before others that are not."""


def test_rows_of_phases_are_those_of_every_operand():
    description = convolution("dgrad", f"cooperative:{SMALL}")
    gemm = replace(description.gemm, c=Operand.parse("f16:row"), epilogue=ROWS)
    for sizes in (PHASES, BEHIND):
        assert wrong(replace(description, gemm=gemm), sizes) == {}


ANY: dict[str, ConvolutionDescription] = {
    "fprop": convolution("fprop", f"cooperative:{SMALL}", d="f32:row"),
    "dgrad": convolution("dgrad", f"cooperative:{SMALL}", d="f32:row"),
    "wgrad": convolution("wgrad", f"cooperative:64x8:stages=3:{ONE}", d="f32:row"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANY)
@settings(max_examples=attacks(2), deadline=None)
@given(st.data())
def test_any_sizes(kind: str, data: st.DataObject):
    """One kernel for all of them."""
    draw, small = data.draw, st.integers(1, 4)
    image, filter, stride, dilation = (
        draw(st.tuples(*[each] * 2)) for each in (st.integers(1, 7), small, small, small)
    )
    padding = draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2))
    # Large enough that there is an output.
    image = tuple(
        max(size, apart * (taps - 1) + 1 - sum(around))
        for size, taps, apart, around in zip(image, filter, dilation, padding, strict=True)
    )
    channels, filters = (draw(st.sampled_from([8, 16, 72])) for _ in range(2))
    sizes = geometry(draw(st.integers(1, 3)), image, channels, filters, filter, padding, stride, dilation)
    assert sm90.size_refusal(ANY[kind], sizes, 1) is None
    assert wrong(ANY[kind], sizes) == {}


@pytest.mark.parametrize(
    ("kind", "sizes", "groups", "reason"),
    [
        ("wgrad", geometry(1, (9, 9), 48, 64, (3, 3)), 1, "gathers 32 channels at once, which do not divide the 48"),
        ("fprop", geometry(1, (9, 9), 96, 64, (3, 3)), 2, "gathers 64 channels at once.*the 48 channels of a group"),
        ("dgrad", geometry(1, (9, 9), 64, 96, (3, 3)), 2, "gathers 64 filters at once.*the 48 filters of a group"),
        ("fprop", geometry(1, (19, 19), 64, 64, (3, 3), None, (1, 9)), 1, "over 8 pixels at most.*stride is 1x9"),
        ("fprop", geometry(1, (299, 9), 64, 64, (3, 3), None, None, (70, 1)), 1, "128 pixels over the edge at most"),
        ("dgrad", geometry(1, (299, 9), 64, 64, (3, 3), None, None, (70, 1)), 1, "128 pixels over the edge at most"),
    ],
)
def test_sizes_that_tma_cannot_gather_are_refused(kind: str, sizes: Geometry, groups: int, reason: str):
    found = sm90.size_refusal(convolution(kind, f"cooperative:{SMALL}"), sizes, groups)
    assert found is not None
    assert re.search(reason, found)


def test_what_phases_cannot_do_is_refused():
    description = convolution("dgrad", f"cooperative:{SMALL}")
    for gemm, reason in (
        (replace(description.gemm, mode="split_k_parallel"), "K is not split where phases"),
        (everything(description, "f16:row").gemm, "tiles by phase: 'column_sum' is not reduced"),
    ):
        found = refusal(replace(description, gemm=gemm))
        assert found is not None
        assert reason in found.reason
        assert refusal(replace(description, gemm=gemm, stride="unity")) is None


def test_an_older_wheel_has_no_im2col(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sm90, "has_im2col", lambda: False)
    found = refusal(convolution("fprop", f"cooperative:{SMALL}"))
    assert found is not None
    assert "since 4.8, and an older one is installed" in found.reason
