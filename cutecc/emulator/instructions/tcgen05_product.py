"""What a `tcgen05.mma` does: it reads A, B, their scales and metadata, and D, and writes D.

Sums are made as `wgmma` makes those of 16-bit floats: what Blackwell's units keep of a sum is not measured here
(`numbers.matrix_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer
from cutecc.emulator.instructions.tcgen05_shared import read_chunks
from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.tensor_memory import (
    CELL,
    LANES,
    WARP_LANES,
    TensorMemory,
    describe,
    lane_and_column,
    tensor_memory_of,
)
from cutecc.emulator.numbers import matrix_sums
from cutecc.emulator.numbers.column_mask import ColumnMask
from cutecc.emulator.numbers.instruction_descriptor import InstructionDescriptor
from cutecc.emulator.numbers.matrix_elements import bits, numbers
from cutecc.emulator.numbers.scale_factors import ScalePlaces, scale_places
from cutecc.emulator.numbers.sparse_metadata import codes, expanded, meaningless, metadata_columns
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.emulator.numbers.tensor_layouts import Part, TensorLayout
from cutecc.emulator.numbers.unpacking import unpack

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.watch import Agent

_PACKING: Final = {"e2m1": "b4x16_p64", "e2m3": "b6x16_p32", "e3m2": "b6x16_p32"}
"""How elements of less than a byte lie in shared memory where not all are of 4 bits."""


@dataclass(frozen=True, slots=True)
class Scales:
    """Addresses in tensor memory, and how many there are along K."""

    a: int
    b: int
    count: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """An address in tensor memory, and which column from there on it is.

    Software keeps the lowest bit of the selector in the address as well.
    """

    address: int
    selector: int

    @property
    def column(self) -> int:
        return (lane_and_column(self.address)[1] & ~1) + self.selector if self.selector else self.address & 0xFFFF


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Product:
    """One multiplication, as its operands were when it was issued."""

    issuer: Issuer
    blocks: tuple[Block, ...]
    form: InstructionDescriptor
    layout: TensorLayout
    d: int
    left: MatrixDescriptor | int
    """A, in shared memory or at an address of tensor memory."""
    right: MatrixDescriptor
    adds: bool
    scale_d: int
    """What is in D is divided by 2 to this."""
    disabled: tuple[Array, ...]
    """Lanes of each block that are not written, shape `(LANES,)`."""
    metadata: Metadata | None
    scales: Scales | None
    mask: ColumnMask
    shifts_a: bool
    """Whether each row of A is multiplied at the place of the one before it; the last one at its own as well."""

    def places(self) -> Iterator[tuple[str, int, int, bool]]:
        """What it accesses in the tensor memory of each block: words for it, an address, columns, and whether it has
        to have the lanes of D."""
        form = self.form
        yield "accumulates in", self.d, self.layout.parts[0].width, True
        if isinstance(self.left, int):
            yield "reads A in", self.left, form.stored_depth // form.in_a_word, True
        if self.metadata is not None:
            address = self.metadata.address & ~0xFFFF | self.metadata.column
            yield "reads metadata in", address, metadata_columns(form.kind), True
        if self.scales is not None:
            rows, columns = form.m // len(self.blocks), form.n // self._halves_of_b
            width = scale_places(rows, form.scale_a, self.scales.count).width
            yield "reads scales of A in", self.scales.a, width, False
            width = scale_places(columns, form.scale_b, self.scales.count).width
            yield "reads scales of B in", self.scales.b, width, False

    def happen(self, agent: Agent) -> None:
        form, sums = self.form, _sum(self.form)
        right = self._right(agent)
        stored: dict[int, Array] = {}
        for part in self.layout.parts:
            if isinstance(self.left, int) or part.block not in stored:
                stored[part.block] = self._stored(agent, part)
            left, columns = self._left(agent, part, stored[part.block]), right[part.columns]
            if self.scales is not None:
                columns = columns * self._scales_of_b(agent, part)
            old = self._old(agent, part) if self.adds else np.zeros((len(part.lanes), part.width))
            total = sums(left, np.ascontiguousarray(columns.T), old)
            self._put(agent, part, bits_of(total, form))

    # The factors.

    def _stored(self, agent: Agent, part: Part) -> Array:
        """A as it is in memory: in shared memory the same for all parts of N."""
        form = self.form
        if isinstance(self.left, int):
            lane, column = lane_and_column(self.left)
            words = self._cells(agent, part, lane, column, form.stored_depth // form.in_a_word)
            return numbers(words, form.a, form.in_a_byte == 1)
        shape = part.rows.stop - part.rows.start, form.stored_depth
        return self._from_shared(agent, self.blocks[part.block], self.left, form.a, shape, form.transpose_a)

    def _left(self, agent: Agent, part: Part, found: Array) -> Array:
        """A as the part multiplies with it, `(rows, K)`: without compression, with its sign and scales."""
        form = self.form
        if self.metadata is not None:
            found = self._expanded(agent, part, found, self.metadata)
        if self.shifts_a:
            found = np.concatenate([found[1:], found[-1:]])
        if form.negate_a:
            found = -found
        if self.scales is not None:
            places = scale_places(len(found), form.scale_a, self.scales.count)
            found = found * self._scales(agent, part.block, self.scales.a, places, range(0, LANES, WARP_LANES))
        return found

    def _expanded(self, agent: Agent, part: Part, stored: Array, metadata: Metadata) -> Array:
        form, lane = self.form, lane_and_column(metadata.address)[0]
        words = self._cells(agent, part, lane, metadata.column, metadata_columns(form.kind))
        found = codes(words, form.kind)
        wrong = meaningless(found, form.kind)
        if wrong is not None:
            text = f"reads metadata {wrong:#06b} of a sparse A, which has no meaning with kind::{form.kind}\n"
            text += (
                "look at its address and selector, and at what was stored there: the lower index of a pair comes first"
            )
            self.issuer.fault("tensor-memory", text, describe(metadata.address))
            return np.zeros((len(stored), form.depth))
        return expanded(stored, found, form.kind, form.depth)

    def _right(self, agent: Agent) -> Array:
        """B with its sign and zero columns, `(N, K)`, of all blocks."""
        form, mask = self.form, self.mask
        rows = form.n // len(self.blocks)
        shape = rows + mask.shift, form.depth
        found = np.concatenate(
            [self._from_shared(agent, block, self.right, form.b, shape, form.transpose_b) for block in self.blocks]
        )
        found = found[mask.shift :]
        if mask.is_any:
            found = np.where(mask.is_zero(form.n, self.layout.shares)[:, None], 0.0, found)
        return -found if form.negate_b else found

    def _from_shared(
        self,
        agent: Agent,
        block: Block,
        descriptor: MatrixDescriptor,
        type_: str,
        shape: tuple[int, int],
        transposed: bool,
    ) -> Array:
        """A matrix of a block's shared memory, its shape `(rows, K)`."""
        rows, depth = shape
        elements, in_bytes = CHUNK // CELL * self.form.in_a_word, self.form.in_a_byte == 1
        chunks: tuple[Literal["k", "mn"], int, int]
        chunks = ("mn", depth, -(-rows // elements)) if transposed else ("k", rows, depth // elements)
        words = read_chunks(self.issuer, agent, block, descriptor, chunks)
        if in_bytes and type_ in _PACKING:
            words = unpack(words, _PACKING[type_])
        found = numbers(words, type_, in_bytes)
        return found.T[:rows] if transposed else found

    # Their scales.

    @property
    def _halves_of_b(self) -> int:
        """Scales of B lie as its columns do in layout B, one half in each half of the lanes."""
        return 2 if self.layout.name == "B" else 1

    def _scales_of_b(self, agent: Agent, part: Part) -> Array:
        """Those of the part's columns, for each element, `(columns, K)`. Each block has those of all columns."""
        assert self.scales is not None
        form, halves = self.form, self._halves_of_b
        places = scale_places(form.n // halves, form.scale_b, self.scales.count)
        first = LANES // halves * (part.number if halves == 2 else 0)
        copies = range(first, first + LANES // halves, WARP_LANES)
        return self._scales(agent, part.block, self.scales.b, places, copies)

    def _scales(self, agent: Agent, number: int, address: int, places: ScalePlaces, copies: range) -> Array:
        """Those of some rows, for each element, `(rows, K)`, of a block.

        All of the `copies`, lanes from the address on, have to have them: those of the first are what counts here.
        """
        assert self.scales is not None and self.form.scales is not None
        memory = self._memory(number)
        lane, column = lane_and_column(address)
        for copy in copies:
            self.issuer.machine.watch.layout(agent, "scales")
            self._tell(agent, "read", memory, places.lanes + lane + copy, places.columns + column)
        found = numbers(places.gather(memory.words, lane + copies.start, column), self.form.scales)
        return np.repeat(found, self.form.depth // self.scales.count, axis=1)

    # D.

    def _old(self, agent: Agent, part: Part) -> Array:
        """What is in D."""
        lane, column = lane_and_column(self.d)
        words = self._cells(agent, part, lane, column, part.width)
        if self.form.d == "f16":
            found = words.astype(np.uint16).view(np.float16).astype(np.float64)
        else:
            found = numbers(words, self.form.d)
        return found / 2.0**self.scale_d if self.scale_d else found

    def _put(self, agent: Agent, part: Part, words: Array) -> None:
        memory = self._memory(part.block)
        lane, column = lane_and_column(self.d)
        lanes = part.lanes + lane
        kept = ~self.disabled[part.block][lanes]
        lanes = lanes[kept]
        self._tell(agent, "write", memory, lanes[:, None], np.arange(column, column + part.width)[None, :])
        memory.words[lanes, column : column + part.width] = words[kept]

    # Tensor memory.

    def _memory(self, number: int) -> TensorMemory:
        """That of a block."""
        return tensor_memory_of(self.issuer.machine, self.blocks[number])

    def _cells(self, agent: Agent, part: Part, lane: int, column: int, width: int) -> Array:
        """Words in the lanes of a part, `(rows, width)`."""
        memory, lanes = self._memory(part.block), part.lanes + lane
        self._tell(agent, "read", memory, lanes[:, None], np.arange(column, column + width)[None, :])
        return memory.words[lanes, column : column + width]

    def _tell(
        self, agent: Agent, does: Literal["read", "write"], memory: TensorMemory, lanes: Array, columns: Array
    ) -> None:
        """Tell the watch of cells that are read or written; the arrays broadcast."""
        watch = self.issuer.machine.watch
        if watch.listens:
            watch.asynchronous_access(agent, self.issuer.operation, does, "tensor", memory.cells(lanes, columns), CELL)


def bits_of(total: Array, form: InstructionDescriptor) -> Array:
    """D as it lies in tensor memory, one element a column."""
    if form.d == "f16":
        return bits(total, "f16").view(np.uint16).astype(np.uint32).reshape(total.shape)
    return bits(total, form.d, form.saturate)


def _sum(form: InstructionDescriptor) -> matrix_sums.Sum:
    if form.d == "s32":
        return matrix_sums.whole
    if form.scales is not None:
        return lambda left, right, added: np.matmul(left, right) + added
    result = "f16" if form.d == "f16" else "f32"
    return matrix_sums.aligned_to_largest(matrix_sums.WIDE, (result, form.a, form.b, result))
