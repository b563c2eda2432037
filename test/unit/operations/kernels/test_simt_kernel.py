"""The SIMT GEMM on the CPU emulator: layouts, alignments, tiles, modes and swizzles."""

from __future__ import annotations

import pytest
from launching import launch, simt

pytestmark = pytest.mark.slow

TWO_WARPS = "32x32x8:stages=3:warps=2x1x1"
WIDE = "16x64x16:stages=2:warps=1x2x1"
LOW = "16x32x8:stages=3:warps=1x1x1"
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
        (
            simt("f64:column:2", "f64:row:1", "f64:column:2", "f64:column:2", tile=LOW, swizzle="horizontal"),
            (18, 67, 5),
        ),
    ],
    ids=str,
)
def test_layouts_and_alignments(description, size):
    result = launch(description, *size, numbers={"alpha": -0.5, "beta": 2.0})
    assert result["D"].error < TOLERANCE[description.a.dtype]


def test_degenerate_problems():
    description = simt()
    for size in ((1, 1, 1), (33, 2, 0), (2, 33, 8)):
        assert launch(description, *size)["D"].error < 1e-5


@pytest.mark.parametrize(
    ("mode", "swizzle", "operands"),
    [
        ("batched", "identity4", ("f32:row:1", "f32:column:1", "f32:row:1", "f32:column:1")),
        ("array", "batched", ("f32:column:4", "f32:column:1", "f32:row:2", "f32:row:4")),
    ],
)
def test_batches(mode, swizzle, operands):
    result = launch(simt(*operands, mode=mode, swizzle=swizzle, tile=LOW), 20, 68, 9, batches=3)
    assert result["D"].error < 1e-5


@pytest.mark.parametrize("mode", ["split_k_serial", "split_k_parallel"])
def test_split_k(mode):
    operands = ("f64:row:1", "f64:row:1", "f64:row:1", "f64:row:1")
    description = simt(*operands, tile=LOW, mode=mode, swizzle="identity8")
    # Slices of several steps, of less than one, and without any.
    for k, slices in ((61, 3), (9, 2), (9, 4), (5, 1)):
        assert launch(description, 17, 35, k, slices=slices)["D"].error < 1e-14
