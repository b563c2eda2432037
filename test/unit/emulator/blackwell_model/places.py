"""The operands of a `tcgen05.mma`, and the bits of its blocks' memories that each element of them has.

PTX ISA, 9.7.16.10.9 "tcgen05.mma instructions" with the sections that the other modules name, which are put together
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from blackwell_model.cells import LANES, LANES_OF_A_WARP, Bits, Cell
from blackwell_model.column_mask import ColumnMask
from blackwell_model.data_path import (
    Layout,
    bits_of_a,
    bits_of_d,
    layout_of,
    place_of_d,
    places_of_a_row,
    shifted_row,
)
from blackwell_model.instruction_descriptor import OPERAND_TYPES, RESULT_TYPES, InstructionDescriptor, Kind
from blackwell_model.loads_and_stores import Words
from blackwell_model.matrix_shapes import Variant
from blackwell_model.scales import ScaleVectors, place_of_b_scale_in_halves, place_of_scale, vectors_of
from blackwell_model.shared_descriptor import Major, SharedDescriptor, Storage
from blackwell_model.sparsity import place_of_code

Bytes = npt.NDArray[np.uint8]
_FIRST_CELL = Cell(0, 0)
_NO_MASK = ColumnMask()


@dataclass(frozen=True)
class SharedBits:
    """Some bits of shared memory: of the byte with this address, and of the next ones."""

    address: int
    first: int
    count: int


@dataclass(frozen=True)
class Block:
    """What a block has: bytes of shared memory from address 0 on, and `[lane, column]` of tensor memory."""

    shared: Bytes
    tensor: Words

    def read(self, place: Bits | SharedBits) -> int:
        return self._word(place) >> place.first & (1 << place.count) - 1

    def write(self, place: Bits | SharedBits, code: int) -> None:
        mask = (1 << place.count) - 1 << place.first
        word = self._word(place) & ~mask | code << place.first & mask
        if isinstance(place, Bits):
            self.tensor[place.cell.lane, place.cell.column] = word
        else:
            self.shared[place.address : place.address + 4] = list(word.to_bytes(4, "little"))

    def _word(self, place: Bits | SharedBits) -> int:
        if isinstance(place, Bits):
            return int(self.tensor[place.cell.lane, place.cell.column])
        return int.from_bytes(self.shared[place.address : place.address + 4].tobytes(), "little")


@dataclass(frozen=True)
class Scales:
    """Addresses, and `scale_vec::2X`, `block16` and so on, if the instruction has one."""

    a: Cell
    b: Cell
    qualifier: str | None = None


Located = tuple[int, Bits | SharedBits]
"""The block of the pair, and where in its memories."""


@dataclass(frozen=True)
class Product:
    """An instruction; A is in tensor memory where its operand is a cell."""

    variant: Variant
    descriptor: InstructionDescriptor
    d: Cell
    a: SharedDescriptor | Cell
    b: SharedDescriptor
    enable_input_d: bool = False
    scale_input_d: int = 0
    metadata: Cell = _FIRST_CELL
    scales: Scales | None = None
    column_mask: ColumnMask = _NO_MASK
    disable_output_lane: Sequence[int] = (0,) * 8
    shifts_a: bool = False

    @cached_property
    def kind(self) -> Kind:
        return self.variant.kind

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.variant, self.descriptor.m)

    @cached_property
    def k(self) -> int:
        return self.descriptor.k(self.kind)

    @cached_property
    def stored_k(self) -> int:
        """Of A."""
        return self.k // 2 if self.variant.sparse else self.k

    @cached_property
    def a_type(self) -> str:
        return _name(OPERAND_TYPES[self.kind], self.descriptor.a_type)

    @cached_property
    def b_type(self) -> str:
        return _name(OPERAND_TYPES[self.kind], self.descriptor.b_type)

    @cached_property
    def d_type(self) -> str:
        return _name(RESULT_TYPES[self.kind], self.descriptor.d_type) if self.kind in RESULT_TYPES else "f32"

    @property
    def vectors(self) -> ScaleVectors:
        if self.scales is None:
            raise ValueError(f"{self.kind.value} has no scales")
        return vectors_of(self.kind, self.scales.qualifier, self.k)


def a_element(product: Product, row: int, k: int, part: int = 0) -> Located:
    """As it is stored; in tensor memory once for each part of N."""
    if isinstance(product.a, SharedDescriptor):
        block, inside = divmod(row, product.layout.rows_of_a_block)
        major = Major(product.descriptor.transpose_a)
        return block, _shared(product.a, major, product.kind, product.a_type, inside, k)
    place = places_of_a_row(product.layout, product.a, row)[part]
    column, first, count = bits_of_a(product.kind, product.a_type, k)
    return place.block, Bits(place.cell.moved(columns=column), first, count)


def used_row(product: Product, row: int) -> int:
    """Of which row of A a row of D is the product."""
    if not product.shifts_a:
        return row
    rows = product.layout.rows_of_a_block
    inside = row % rows
    return row - inside + min(shifted_row(inside), rows - 1)


def b_element(product: Product, k: int, column: int) -> Located:
    """`column` counts in memory, before `column_mask` shifts."""
    block, inside = divmod(column, product.descriptor.n // product.variant.cta_group)
    if product.variant.cta_group == 1:
        # There a shift may go beyond the last column.
        block, inside = 0, column
    major = Major(product.descriptor.transpose_b)
    return block, _shared(product.b, major, product.kind, product.b_type, inside, k)


def d_element(product: Product, row: int, column: int) -> tuple[int, Bits]:
    place = place_of_d(product.layout, product.d, row, column, product.descriptor.n)
    return place.block, bits_of_d(place.cell, product.d_type)


def metadata_code(product: Product, row: int, chunk: int, part: int = 0) -> Located:
    """Of a chunk of K, for one part of N."""
    block, inside = divmod(row, product.layout.rows_of_a_block)
    first = product.metadata.moved(part * LANES // product.layout.parts)
    selector = product.descriptor.sparsity_selector
    return block, place_of_code(product.kind, product.layout, first, inside, chunk, selector)


def a_scale(product: Product, scales: Scales, row: int, index: int, partition: int = 0) -> Located:
    """As one partition of 32 lanes has it."""
    rows = product.layout.rows_of_a_block
    block, inside = divmod(row, rows)
    return block, place_of_scale(scales.a, rows, inside, product.descriptor.a_scale_id, index, partition)


def b_scale(product: Product, scales: Scales, column: int, index: int, partition: int = 0) -> Bits:
    """Of a column; each block of a pair has it. In layout B only two partitions have the same column."""
    place_of = place_of_b_scale_in_halves if product.layout is Layout.B else place_of_scale
    return place_of(scales.b, product.descriptor.n, column, product.descriptor.b_scale_id, index, partition)


def partitions_of_b_scale(layout: Layout) -> range:
    return range(LANES // LANES_OF_A_WARP // (2 if layout is Layout.B else 1))


def storage(kind: Kind, dtype: str) -> Storage:
    """How elements are packed in shared memory."""
    if kind.is_4_bit:
        return Storage.BITS4
    width = bits_of_a(kind, dtype, 0)[2]
    return {
        4: Storage.BITS4_PADDED,
        6: Storage.BITS6_PADDED,
        8: Storage.BITS8,
        16: Storage.BITS16,
        32: Storage.BITS32,
    }[width]


def _shared(descriptor: SharedDescriptor, major: Major, kind: Kind, dtype: str, mn: int, k: int) -> SharedBits:
    packing = storage(kind, dtype)
    address, first = descriptor.element(major, packing, mn, k)
    return SharedBits(address, first, packing.bits)


def _name(codes: dict[str, int], code: int) -> str:
    return {number: name for name, number in codes.items()}[code]
