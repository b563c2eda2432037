"""Products: a layout of tiles, each a copy of one block."""

from __future__ import annotations

from cutecc.errors import LayoutError
from cutecc.layout.algebra import Tile, coalesce, complement, composition, show_tile
from cutecc.layout.integers import multiply
from cutecc.layout.layout import Layout, join, make_layout
from cutecc.layout.modes import append_to_rank
from cutecc.layout.swizzle import on_outer
from cutecc.layout.tuples import is_tuple, leaves


@on_outer
def logical_product(block: Layout, tiler: Tile) -> Layout:
    """`(block, tiles)`: where the copies of `block` go is laid out by `tiler`; with a tuple, mode by mode."""
    if tiler is None:
        return block
    if is_tuple(tiler):
        if len(tiler) > len(block):
            raise LayoutError(
                f"logical_product: the tiler {show_tile(tiler)} has {len(tiler)} modes, "
                f"the block {block} has {len(block)}"
            )
        multiplied = [logical_product(block[mode], each) for mode, each in enumerate(tiler)]
        return join(*multiplied, *(block[mode] for mode in range(len(tiler), len(block))))
    tiles = tiler if isinstance(tiler, Layout) else make_layout(tiler)
    if all(stride == 0 for stride in leaves(tiles.stride)):
        return join(block, tiles)
    try:
        return join(block, composition(complement(block, multiply(block.size, tiles.cosize)), tiles))
    except LayoutError as error:
        raise LayoutError(error.message, notes=[*error.notes, f"to repeat {block} by {tiles}"]) from None


@on_outer
def zipped_product(block: Layout, tiler: Tile) -> Layout:
    """`((block, ...), (tiles, ...))`."""
    return join(*_unzipped(logical_product(block, tiler), tiler))


def _unzipped(multiplied: Layout, tiler: Tile) -> tuple[Layout, Layout]:
    if tiler is None:
        return multiplied, Layout(1, 0)
    if is_tuple(tiler):
        pairs = [_unzipped(multiplied[mode], each) for mode, each in enumerate(tiler)]
        rest = [multiplied[mode] for mode in range(len(tiler), len(multiplied))]
        return join(*(block for block, _ in pairs)), join(*(tiles for _, tiles in pairs), *rest)
    return multiplied[0], multiplied[1]


@on_outer
def tiled_product(block: Layout, tiler: Tile) -> Layout:
    """`((block, ...), tiles, ...)`."""
    zipped = zipped_product(block, tiler)
    return join(zipped[0], *zipped[1])


@on_outer
def flat_product(block: Layout, tiler: Tile) -> Layout:
    """`(block, ..., tiles, ...)`."""
    zipped = zipped_product(block, tiler)
    return join(*zipped[0], *zipped[1])


@on_outer
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Copies of `block` beside each other as `tiler` lays them out, mode by mode: `((block_0, tiles_0), ...)`."""
    return _zipped(*_pair(block, tiler))


@on_outer
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Copies of `block` interleaved as `tiler` lays them out, mode by mode: `((tiles_0, block_0), ...)`, coalesced."""
    blocks, tiles = _pair(block, tiler)
    zipped = _zipped(tiles, blocks)
    return coalesce(zipped, (1,) * len(zipped))


def _pair(block: Layout, tiler: Layout) -> tuple[Layout, Layout]:
    """The two modes of the logical product, of equal rank."""
    rank = max(len(block), len(tiler))
    if rank > 1:
        block, tiler = append_to_rank(block, rank), append_to_rank(tiler, rank)
    multiplied = logical_product(block, tiler)
    return multiplied[0], multiplied[1]


def _zipped(first: Layout, second: Layout) -> Layout:
    if is_tuple(first.shape) and is_tuple(second.shape) and len(first) == len(second):
        return join(*map(join, first, second))
    return join(join(first, second))
