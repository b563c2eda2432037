"""What a tiled copy or a tiled matrix product gives each thread of a tensor, as layouts.

A tiling repeats an atom, what one instruction does, over threads and values until it covers a tile; the tile is
repeated over the tensor. So what a thread has is found by dividing the tensor by the tile, looking at the tile by
thread and value, and fixing the thread.
"""

from __future__ import annotations

from cutecc.layout.algebra import Tile, composition
from cutecc.layout.basis import ArithmeticTuple
from cutecc.layout.divide import logical_divide, zipped_divide
from cutecc.layout.integers import Integer
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.modes import slice_layout
from cutecc.layout.swizzle import SomeLayout
from cutecc.layout.tuples import IntTuple, modes


def copy_partition(
    layout: SomeLayout, tiler: Tile, tile_tv: Layout, thread: Integer
) -> tuple[SomeLayout, ArithmeticTuple]:
    """What `thread` has of a tensor in a tiled copy: ((value, repeated), tiles…), and its offset.

    `tile_tv` takes (thread, (value, repeated)) to a place in the tile `tiler`.
    """
    divided = zipped_divide(layout, tiler)
    by_thread = composition(divided, (tile_tv, None))
    tiles = tuple(None for _ in modes(divided.shape)[1])
    # The values stay one mode, the tiles are a mode each.
    return slice_layout(((thread, None), tiles), by_thread)


def product_partition(
    layout: SomeLayout,
    tile: tuple[Tile, Tile],
    atom_shape: tuple[int, int],
    atom_tv: Layout,
    thread_shape: tuple[IntTuple, IntTuple],
    thread: tuple[Integer, tuple[Integer, Integer]],
) -> tuple[SomeLayout, ArithmeticTuple]:
    """What a thread has of an operand in a tiled matrix product: (value, repeated, repeated, …), and its offset.

    `tile` is the permutation of the operand's two modes, `None` where there is none; `atom_tv` takes (thread of the
    atom, value) to a place in `atom_shape`; `thread_shape` is how many atoms lie side by side along the two modes;
    `thread` is the thread in its atom, and the atom's coordinate.
    """
    permuted = logical_divide(layout, tile)
    in_atoms = zipped_divide(permuted, atom_shape)
    by_value = composition(in_atoms, (atom_tv, None))
    by_thread = zipped_divide(by_value, (None, tuple(make_layout(shape) for shape in thread_shape)))
    rest = tuple(None for _ in modes(modes(by_thread.shape)[1])[1])
    return slice_layout((thread, (None, rest)), by_thread)


def values_of(layout_tv: Layout) -> int:
    """How many values each thread has in a thread-value layout."""
    count = layout_tv[1].size
    assert isinstance(count, int), f"{layout_tv} is an atom's, whose sizes are known"
    return count
