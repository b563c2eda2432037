"""What a thread has of a tensor: how the operands of tiled copies' and matrix products' partitions are drawn."""

from __future__ import annotations

from collections.abc import Callable

from drawn_operands import Drawing
from wheel_oracle import Expression, expression

_COPIES = [
    (
        "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, "
        'layout_copy_tv = <"((4,32),4):((128,1),32)">, tiler_mn = <"[32:1;16:1]">>',
        (32, 16),
    ),
    (
        "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, "
        'layout_copy_tv = <"(32,(4,4)):(4,(1,128))">, tiler_mn = <"[(4,32):(1,4);4:1]">>',
        (128, 4),
    ),
    (
        '!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, '
        "num_matrices = 4, n>, "
        'layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, '
        'tiler_mn = <"[32:1;16:1]">>',
        (32, 16),
    ),
]
_PRODUCTS = [
    (
        "!cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >, "
        'atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;32:1;16:1]">>',
        (32, 32, 16),
    ),
    (
        "!cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), "
        'frag_kind = ss>, atom_layout_MNK = <"(2,1,1):(1,0,0)">, permutation_MNK = <"[_;_;_]">>',
        (128, 128, 16),
    ),
    (
        "!cute.tiled_mma<!cute_nvgpu.atom.universal_fma<1x1x1, (f32, f32) -> f32>, "
        'atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[(16,4):(4,1);(16,4):(4,1);_]">>',
        (64, 64, 1),
    ),
]
"""Tilings, and the sizes of their tiles."""


def _partitioned(draw: Drawing, tile: tuple[int, int]) -> tuple[str, str]:
    """A tensor of whole tiles, with more modes or without, and a thread."""
    shape = tuple(size * draw.random.choice((1, 1, 2, 3)) for size in tile)
    further = draw.sizes(draw.random.choice((0, 0, 1, 2)))
    return draw.tensor((*shape, *further), swizzled_layout=False), f"coord {draw.random.randrange(128)}"


def _of_copy(operation: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        copy, tile = draw.random.choice(_COPIES)
        return expression(operation, copy, *_partitioned(draw, tile))

    return draw_one


def _of_product(draw: Drawing) -> Expression:
    product, (m, n, k) = draw.random.choice(_PRODUCTS)
    operand = draw.random.randrange(3)
    tile = ((m, k), (n, k), (m, n))[operand]
    return expression("tiled_mma_partition", product, *_partitioned(draw, tile), operand_id=operand)


PARTITIONS: dict[str, Callable[[Drawing], Expression]] = {
    **{name: _of_copy(name) for name in ("tiled_copy_partition_S", "tiled_copy_partition_D")},
    "tiled_mma_partition": _of_product,
}
