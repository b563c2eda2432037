"""The SIMT GEMM on the CPU emulator: layouts, alignments, tiles, modes and swizzles."""

from __future__ import annotations

import pytest
from launching import launch, simt

TWO_WARPS = "64x32x8:stages=3:warps=2x1x1"
WIDE = "32x64x16:stages=2:warps=1x2x1"
TOLERANCE = {"f32": 1e-5, "f64": 1e-14}


@pytest.mark.parametrize(
    ("description", "size"),
    [
        # All layouts of A and B, alignments up and down, ragged in M, N and K where the alignment lets them be.
        (simt("f32:row:1", "f32:row:1", "f32:row:1", "f32:row:1", swizzle="identity1"), (33, 47, 29)),
        (simt("f32:column:4", "f32:row:4", "f32:row:4", "f32:row:4", tile=TWO_WARPS), (68, 44, 29)),
        (simt("f32:row:4", "f32:column:1", "f32:column:1", "f32:row:1", tile=WIDE), (35, 70, 28)),
        (simt("f64:row:2", "f64:column:2", "f64:row:2", "f64:column:1", tile=WIDE), (33, 70, 30)),
        (simt("f64:column:1", "f64:column:1", "f64:row:1", None, tile=TWO_WARPS, swizzle="identity2"), (67, 70, 13)),
        (simt("f64:column:2", "f64:row:1", "f64:column:2", "f64:column:2", swizzle="horizontal"), (34, 67, 5)),
    ],
    ids=str,
)
def test_layouts_and_alignments(description, size):
    dtype = description.a.dtype
    for alpha, beta in ((1.0, 0.0), (-0.5, 2.0)):
        result = launch(description, *size, numbers={"alpha": alpha, "beta": beta})
        assert result["D"].error < TOLERANCE[dtype]


def test_degenerate_problems():
    description = simt()
    for size in ((1, 1, 1), (33, 2, 0), (2, 33, 8)):
        assert launch(description, *size)["D"].error < 1e-5


@pytest.mark.parametrize("swizzle", ["batched", "identity4"])
@pytest.mark.parametrize("mode", ["batched", "array"])
def test_batches(mode, swizzle):
    aligned = (swizzle == "batched") == (mode == "batched")
    operands = ("f32:row:1", "f32:column:1", "f32:row:1", "f32:column:1")
    if aligned:
        operands = ("f32:column:4", "f32:column:1", "f32:row:2", "f32:row:4")
    result = launch(simt(*operands, mode=mode, swizzle=swizzle), 36, 68, 9, batches=3)
    assert result["D"].error < 1e-5


@pytest.mark.parametrize("mode", ["split_k_serial", "split_k_parallel"])
def test_split_k(mode):
    description = simt("f64:row:1", "f64:row:1", "f64:row:1", "f64:row:1", mode=mode, swizzle="identity8")
    # Slices of several steps, of less than one, and without any.
    for k, slices in ((61, 3), (9, 2), (9, 4), (5, 1)):
        assert launch(description, 33, 35, k, slices=slices)["D"].error < 1e-14
