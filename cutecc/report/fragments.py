"""Which thread holds which element of a tile: thread-value layouts of matrix and copy instructions.

An instruction's layout is as the PTX ISA draws its fragments; modes are `(size, stride)`, leftmost fastest, and lead to
an index in the tile that counts its first mode fastest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import composition, right_inverse
from cutecc.layout.divide import zipped_divide
from cutecc.layout.layout import Layout, join
from cutecc.layout.pictures.drawing import size_of
from cutecc.layout.tuples import leaves

Modes: TypeAlias = list[tuple[int, int]]
"""Sizes and strides of a layout, flat."""


@dataclass(frozen=True)
class Fragment:
    """What each thread holds of a tile."""

    tile: tuple[int, int]
    threads: Modes
    values: Modes


@dataclass(frozen=True)
class MatrixInstruction:
    """One matrix product of the hardware."""

    shape: tuple[int, int, int]
    """M, N, K."""
    threads: int
    a: Fragment
    b: Fragment
    c: Fragment


_SHAPE = re.compile(r"<(\d+)x(\d+)x(\d+)")
_ELEMENTS = re.compile(r"elem_type = \((\w+), (\w+), (\w+)\)")
_WIDTH = re.compile(r"[A-Za-z]+(\d+)")
_BLOCKS = re.compile(r"num_cta = (\d+)")


def matrix_instruction(atom: str) -> MatrixInstruction:
    """The instruction of an atom's type, `!cute_nvgpu.sm80.mma<…>`. Raises `LayoutError` for one that is not known."""
    family = atom.removeprefix("!cute_nvgpu.").partition("<")[0]
    size = _SHAPE.search(atom)
    if size is None:
        raise LayoutError("the instruction's shape is not in its type")
    m, n, k = int(size[1]), int(size[2]), int(size[3])
    if family == "atom.universal_fma":
        return MatrixInstruction((m, n, k), 1, *(Fragment(tile, [], []) for tile in ((m, k), (n, k), (m, n))))
    types = _ELEMENTS.search(atom)
    if types is None:
        raise LayoutError("the instruction's element types are not in its type")
    if family in ("sm80.mma", "sm89.mma", "SM120.mma_bs") and (m, n) in ((16, 8), (8, 8)):
        return _of_a_warp(m, n, k, bits_of(types[1]))
    if family == "sm90.mma":
        return _of_a_warp_group(m, n, k, bits_of(types[1]), "frag_kind = rs" in atom)
    if family in ("sm100.mma", "sm100.mma_bs", "sm107.mma", "sm107.mma_bs"):
        blocks = _BLOCKS.search(atom)
        return _of_blocks(m, n, k, int(blocks[1]) if blocks else 1)
    raise LayoutError(f"how threads hold the operands of {family} is not known here")


def bits_of(element: str) -> int:
    """The width of an element type, `f16`, `tf32`, `f8E4M3FN`. Raises `LayoutError`."""
    width = _WIDTH.match(element)
    if width is None:
        raise LayoutError(f"the width of {element} is not known")
    return int(width[1])


def _of_a_warp(m: int, n: int, k: int, bits: int) -> MatrixInstruction:
    """`mma.sync`: 8 groups of 4 threads; registers of 32 bits hold neighbours along K."""
    # Types below 8 bits in the shapes of 8-bit ones lie in a byte each.
    packed = max(1, min(32 // bits, k // 4))
    if bits < 8 and k == 32 and m == 16:
        packed = 4
    depth = k // (4 * packed)
    upper = [(2, 8)] if m == 16 else []
    a = Fragment((m, k), [(4, m * packed), (8, 1)], _trimmed([(packed, m), *upper, (depth, 4 * m * packed)]))
    b = Fragment((n, k), [(4, n * packed), (8, 1)], _trimmed([(packed, n), (depth, 4 * n * packed)]))
    c = Fragment((m, n), [(4, 2 * m), (8, 1)], [(2, m), *upper])
    return MatrixInstruction((m, n, k), 32, a, b, c)


def _of_a_warp_group(m: int, n: int, k: int, bits: int, a_in_registers: bool) -> MatrixInstruction:
    """`wgmma`: four warps, 16 rows each; operands in shared memory belong to all 128 threads."""
    packed = max(1, 32 // bits)
    rows: Modes = [(8, 1), (4, 16)]
    a = Fragment((m, k), [(128, 0)], [(m * k, 1)])
    if a_in_registers:
        depth = k // (4 * packed)
        a = Fragment((m, k), [(4, packed * m), *rows], _trimmed([(packed, m), (2, 8), (depth, 4 * m * packed)]))
    b = Fragment((n, k), [(128, 0)], [(n * k, 1)])
    c = Fragment((m, n), [(4, 2 * m), *rows], _trimmed([(2, m), (2, 8), (n // 8, 8 * m)]))
    return MatrixInstruction((m, n, k), 128, a, b, c)


def _of_blocks(m: int, n: int, k: int, blocks: int) -> MatrixInstruction:
    """`tcgen05.mma`: one or two blocks, whose threads share the operands; a "thread" here is a block."""
    rows, columns = m // blocks, n // blocks
    return MatrixInstruction(
        (m, n, k),
        blocks,
        Fragment((m, k), _trimmed([(blocks, rows)]), _trimmed([(rows, 1), (k, m)])),
        Fragment((n, k), _trimmed([(blocks, columns)]), _trimmed([(columns, 1), (k, n)])),
        Fragment((m, n), _trimmed([(blocks, rows)]), _trimmed([(rows, 1), (n, m)])),
    )


def _trimmed(modes: Modes) -> Modes:
    return [mode for mode in modes if mode[0] != 1]


# Tilings


def tiled_matrix(
    atom: MatrixInstruction, atoms: Layout, permutation: Sequence[Layout | None]
) -> tuple[Fragment, Fragment, Fragment]:
    """What threads hold of A (M, K), B (N, K) and C (M, N) when `atoms` lie over M, N and K.

    A `permutation` says, mode by mode, which tile is covered and in what order. Raises `LayoutError` where threads are
    not numbered without gaps, or sizes do not divide.
    """
    counts = [size_of(atoms[mode].shape) for mode in range(3)]
    orders: list[Layout] = []
    for mode in range(3):
        covered = atom.shape[mode] * counts[mode]
        order = permutation[mode] if mode < len(permutation) else None
        orders.append(order or Layout(covered, 1))
        if size_of(orders[mode].shape) % covered:
            raise LayoutError(f"{counts[mode]} atoms of {atom.shape[mode]} do not divide a tile of {orders[mode]}")

    def fragment(of: Fragment, down: int, across: int) -> Fragment:
        tile = (size_of(orders[down].shape), size_of(orders[across].shape))
        steps = {down: 1, across: tile[0]}

        def along(mode: int, size: int, first: int) -> Layout:
            """Every `first`-th place of the tile along `mode`, in its order, as indices in the tile."""
            if mode not in steps:
                return Layout(size, 0)
            return scaled(composition(orders[mode], Layout(size, first)), steps[mode])

        one = join(along(down, of.tile[0], 1), along(across, of.tile[1], 1))
        # Threads of the atom come first, then those of atoms, in the order of their strides.
        numbered: list[tuple[int, Layout]] = []
        for mode in range(3):
            first = atom.shape[mode]
            for size, stride in flat(atoms[mode]):
                if size > 1:
                    numbered.append((stride, along(mode, size, first)))
                first *= size
        threads, reached = [*through(one, of.threads)], 1
        for stride, layout in sorted(numbered, key=lambda each: each[0]):
            if stride != reached:
                raise LayoutError("its atoms are not numbered without gaps")
            threads += flat(layout)
            reached *= size_of(layout.shape)
        values = through(one, of.values)
        for mode in (down, across):
            covered = atom.shape[mode] * counts[mode]
            values += flat(along(mode, size_of(orders[mode].shape) // covered, covered))
        return Fragment(tile, _trimmed(threads), _trimmed(values))

    return fragment(atom.a, 0, 2), fragment(atom.b, 1, 2), fragment(atom.c, 0, 1)


def tiled_copy(atom: str, layout: Layout) -> tuple[Layout, Layout]:
    """The layouts of the source and of the destination of a tiled copy, whose `layout` is the one of its registers.

    Only matrix loads and stores, `ldsm` and `stsm`, have other threads name an element in shared memory than hold it.
    Raises `LayoutError` when the layout is not one of whole instructions.
    """
    matrices = _MATRICES.match(atom)
    if matrices is None:
        return layout, layout
    shared = _rows_of_matrices(int(matrices[2]))
    registers = _registers_of_matrices(int(matrices[2]), matrices[3] == "t")
    # From a thread and value in shared memory to the index among registers that is the same element.
    same = composition(right_inverse(registers), shared)
    threads, values = layout[0], layout[1]
    if size_of(threads.shape) % 32 or size_of(values.shape) % size_of(registers[1].shape):
        raise LayoutError(f"{layout} is no layout of whole instructions")
    by_atom = zipped_divide(layout, (Layout(32, 1), Layout(size_of(registers[1].shape), 1)))
    moved = composition(by_atom[0], same)
    rest = by_atom[1]
    other = join(join(moved[0], rest[0]), join(moved[1], rest[1]))
    return (other, layout) if matrices[1] == "ldsm" else (layout, other)


_MATRICES = re.compile(r"!cute_nvgpu\.atom\.(ldsm|stsm)<.*num_matrices = (\d), ([nt])>")


def _rows_of_matrices(count: int) -> Layout:
    """Thread and value in shared memory: each thread names a row of 8; those beyond the matrices repeat them."""
    repeats = 4 // count
    return Layout(((8 * count, repeats), 8), ((8, 0), 1)) if repeats > 1 else Layout((32, 8), (8, 1))


def _registers_of_matrices(count: int, transposed: bool) -> Layout:
    """Thread and value in registers: two neighbours of a row, or transposed of a column, from each matrix."""
    threads, pair = ((16, 1), 8) if transposed else ((2, 8), 1)
    return Layout(((4, 8), (2, count)), (threads, (pair, 64)))


def flat(layout: Layout) -> Modes:
    """Sizes and strides of a layout whose numbers are known."""
    return [(int(size), int(stride)) for size, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True)]  # type: ignore[call-overload]


def scaled(layout: Layout, factor: int) -> Layout:
    """`layout` with its offsets times `factor`."""
    return cast(Layout, composition(Layout(layout.cosize, factor), layout))


def through(place: Layout, modes: Modes) -> Modes:
    """`modes` of indices that `place` sends elsewhere."""
    if not modes:
        return []
    shape, stride = zip(*modes, strict=True)
    return flat(cast(Layout, composition(place, Layout(tuple(shape), tuple(stride)))))
