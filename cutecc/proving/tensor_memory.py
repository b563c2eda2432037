"""Which cells of tensor memory, and which bytes of shared memory, operations of the tensor cores access.

A cell has a lane, of 128, and a column, of 512, in a block's tensor memory. In the prover's address space lanes go by
sixteens, as no operation that is modelled has less, and columns are what bytes are elsewhere. The order of cells in
products, copies, loads and stores is the emulator's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cutecc.emulator.numbers.instruction_descriptor import InstructionDescriptor
from cutecc.emulator.numbers.scale_factors import count_of_scales, scale_places
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.emulator.numbers.tensor_fragments import SHAPES, tensor_fragment
from cutecc.emulator.numbers.tensor_layouts import Part, TensorLayout, layout_of
from cutecc.proving.footprints import merged
from cutecc.proving.memory import TENSOR, Range

COLUMNS = 512
"""Of a block's tensor memory."""
_BLOCK, _ROWS = 24, 12
"""A block's number is in the bits from here on, that of sixteen lanes in those from here on."""
_SIXTEENS = range(8)
_LANES = 16
_WORD = 4
_SCALE_ADDRESS = (1 << 30) - 1
_DESCRIPTOR = (1 << 64) - 1
_REGISTERS = {"16x128b": 2, "16x256b": 4}
"""That a shape fills once, where that is more than one."""
_ROWS_OF_COPIES = {"128x256b": 128, "128x128b": 128, "64x128b": 64, "32x128b": 32}


class Unmodelled(Exception):
    """There is no such operation, or it is not modelled."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an operation accesses, of all blocks that it is of, by the addresses that those of block 0 have."""

    reads: tuple[Range, ...] = ()
    """Of shared memory."""
    loads: tuple[Range, ...] = ()
    """Of tensor memory."""
    writes: tuple[Range, ...] = ()
    """Of tensor memory."""
    alike: str = ""
    """Products of one kind, shape and accumulator are in order by themselves."""


def cells(block: int, sixteens: Iterable[int], columns: Sequence[int]) -> list[Range]:
    """Columns, of so many sixteens of lanes."""
    runs = merged((each, each + 1) for each in columns)
    bases = [TENSOR | block << _BLOCK | each << _ROWS for each in sixteens]
    return [(base + first, base + end) for base in bases for first, end in runs]


def all_lanes(block: int, first: int, count: int) -> list[Range]:
    """Columns, in all lanes."""
    return cells(block, _SIXTEENS, range(first, first + count))


def lane_and_column(address: int) -> tuple[int, int]:
    """Of an address of tensor memory."""
    return address >> 16 & 0xFFFF, address & 0xFFFF


@functools.lru_cache(maxsize=4096)
def transfer(shape: str, registers: int, *, is_packed: bool, split: int, address: int, block: int) -> tuple[Range, ...]:
    """What a load or store of a warp accesses."""
    if shape not in SHAPES:
        raise Unmodelled(f"transfers of tensor memory by {shape} are not modelled")
    fragment = tensor_fragment(shape, registers // _REGISTERS.get(shape, 1), is_packed, split)
    lanes, columns = fragment.cells(*lane_and_column(address))
    return tuple(cells(block, _sixteens(lanes), [int(each) for each in set(columns.tolist())]))


def _sixteens(lanes: Any) -> list[int]:
    found = sorted({int(each) // _LANES for each in lanes.tolist()})
    if found and found[-1] not in _SIXTEENS:
        raise Unmodelled("there are not so many lanes of tensor memory")
    return found


@dataclass(frozen=True, slots=True)
class Multiplication:
    """What a `tcgen05.mma` was given."""

    kind: str
    descriptor: int
    accumulator: int
    left: int
    """A matrix descriptor, or an address of tensor memory."""
    right: int
    is_left_in_tensor_memory: bool
    blocks: tuple[int, ...]
    """One, or a pair."""
    scales: tuple[int, int] | None = None
    """Their addresses."""
    vector: str = ""
    """How many elements share a scale."""


@functools.lru_cache(maxsize=4096)
def product(given: Multiplication) -> Footprint:
    """What a product accesses. Raises `Unmodelled`."""
    form = InstructionDescriptor.decode(given.descriptor & 0xFFFFFFFF, given.kind)
    if isinstance(form, str) or form.sparse:
        raise Unmodelled("the product's instruction descriptor is none of a dense product")
    layout = layout_of(form.m, form.n, pair=len(given.blocks) == 2, stationary=False, sparse=False)
    if layout is None:
        raise Unmodelled(f"there is no product of {form.m} rows")
    lane, column = lane_and_column(given.accumulator)
    writes = [
        each
        for part in layout.parts
        for each in _part(given.blocks[part.block], part, lane, range(column, column + part.width))
    ]
    reads, loads = _left(given, form, layout)
    rows = form.n // len(given.blocks)
    for block in given.blocks:
        reads += _matrix(block, given.right, form, rows, transposed=form.transpose_b)
    loads += _scales(given, form, layout)
    alike = f"{form.kind} {form.m}x{form.n}x{form.depth} at {given.accumulator:#x}"
    return Footprint(tuple(merged(reads)), tuple(merged(loads)), tuple(merged(writes)), alike)


def _part(block: int, part: Part, lane: int, columns: range) -> list[Range]:
    return cells(block, _sixteens(part.lanes + lane), columns)


def _left(given: Multiplication, form: InstructionDescriptor, layout: TensorLayout) -> tuple[list[Range], list[Range]]:
    """What is read of A, in shared and in tensor memory."""
    reads: list[Range] = []
    loads: list[Range] = []
    for part in layout.parts:
        block = given.blocks[part.block]
        if given.is_left_in_tensor_memory:
            lane, column = lane_and_column(given.left)
            loads += _part(block, part, lane, range(column, column + form.stored_depth // form.in_a_word))
        else:
            reads += _matrix(block, given.left, form, part.rows.stop - part.rows.start, transposed=form.transpose_a)
    return reads, loads


def _scales(given: Multiplication, form: InstructionDescriptor, layout: TensorLayout) -> list[Range]:
    if given.scales is None:
        return []
    count = count_of_scales(form.kind, given.vector, form.deep)
    if count is None:
        raise Unmodelled("there are no such scales")
    halves = 2 if layout.name == "B" else 1
    found: list[Range] = []
    sizes = ((form.m // len(given.blocks), form.scale_a), (form.n // halves, form.scale_b))
    for address, (rows, first) in zip(given.scales, sizes, strict=True):
        column = lane_and_column(address & _SCALE_ADDRESS)[1]
        columns = {int(each) + column for each in scale_places(rows, first, count).columns.reshape(-1).tolist()}
        found += [each for block in given.blocks for each in cells(block, _SIXTEENS, sorted(columns))]
    return found


def _matrix(block: int, bits: int, form: InstructionDescriptor, rows: int, *, transposed: bool) -> list[Range]:
    elements = CHUNK // _WORD * form.in_a_word
    if transposed:
        return _chunks(block, bits, "mn", form.stored_depth, -(-rows // elements))
    return _chunks(block, bits, "k", rows, form.stored_depth // elements)


def _chunks(block: int, bits: int, major: Any, outer: int, inner: int) -> list[Range]:
    found = MatrixDescriptor.decode_tcgen05(bits & _DESCRIPTOR)
    if isinstance(found, str):
        raise Unmodelled("a matrix descriptor is none of tcgen05")
    start, offsets = found.chunks(major, outer, inner)
    base = start + (block << _BLOCK)
    return merged((base + each, base + each + CHUNK) for each in offsets.reshape(-1).tolist())


@functools.lru_cache(maxsize=4096)
def copy(shape: str, address: int, descriptor: int, blocks: tuple[int, ...]) -> Footprint:
    """What a `tcgen05.cp` accesses. Raises `Unmodelled`."""
    rows = _ROWS_OF_COPIES.get(shape)
    lane, column = lane_and_column(address)
    if rows is None or lane:
        raise Unmodelled(f"copies of {shape} into tensor memory are not modelled")
    chunks = 2 if shape.endswith("x256b") else 1
    reads = [each for block in blocks for each in _chunks(block, descriptor, "k", rows, chunks)]
    writes = [each for block in blocks for each in all_lanes(block, column, chunks * CHUNK // _WORD)]
    return Footprint(tuple(merged(reads)), (), tuple(merged(writes)))


def named(attribute: Any) -> str:
    """What an attribute of an enumeration says: of `#nvvm.cta_group<cta_1>`, `cta_1`."""
    found = re.search(r"<(\w+)>", str(attribute))
    return found[1] if found else ""
