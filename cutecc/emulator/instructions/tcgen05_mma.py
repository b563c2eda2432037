"""`tcgen05.mma`: a thread has its block, or a pair of blocks, multiply A and B into tensor memory.

A is in shared or tensor memory, B in shared memory. Of a pair each block holds half of A's rows and of B's columns, at
the same places. An instruction takes 32 bytes along K. Sums are made as `wgmma` makes those of 16-bit floats: what
Blackwell's units keep of a sum is not measured here (`numbers.matrix_sums`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer, issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tcgen05_pipe import COPY, blocks_of, issue
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.tensor_memory import CELL, LANES, WARP_LANES, describe, lane_and_column, tensor_memory_of
from cutecc.emulator.numbers import matrix_sums
from cutecc.emulator.numbers.instruction_descriptor import DEPTH_BYTES, SCALE_VECTORS, TYPES, InstructionDescriptor
from cutecc.emulator.numbers.matrix_elements import bits, numbers
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.emulator.numbers.tensor_layouts import Part, parts_of
from cutecc.emulator.numbers.unpacking import unpack
from cutecc.ptx.syntax import Address, Vector

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import Agent

_GROUP: Final = "{cta_group::1,cta_group::2}"
_COLLECTOR: Final = "{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}?"
_ADDRESS: Final = (1 << 30) - 1
"""Of scales: the bits above say which byte of a cell, as the descriptor does."""
_PACKING: Final = {"e2m1": "b4x16_p64", "e2m3": "b6x16_p32", "e3m2": "b6x16_p32"}
"""How elements of less than a byte lie in shared memory where not all are of 4 bits."""


@dataclass(frozen=True, eq=False, slots=True)
class _Issued:
    """One multiplication that was issued, as its operands were then."""

    issuer: Issuer
    blocks: tuple[Block, ...]
    form: InstructionDescriptor
    depth: int
    """K."""
    parts: tuple[Part, ...]
    d: int
    a: int
    b: int
    a_in_tensor_memory: bool
    adds: bool
    scale_d: int
    """What is in D is divided by 2 to this."""
    disabled: tuple[Array, ...]
    """Lanes of each block that are not written, shape `(LANES,)`."""
    scales: tuple[int, int] = (0, 0)
    """Where those of A and B are in tensor memory."""
    vector: int = 0
    """Elements along K that share a scale; 0 without scales."""


_PLAIN: Final = f"{{{','.join('kind::' + kind for kind in TYPES if kind not in SCALE_VECTORS)}}}"
_SCALED: Final = f"{{{','.join('kind::' + kind for kind in SCALE_VECTORS)}}}"
_VECTORS: Final = {"scale_vec::1X": 32, "scale_vec::2X": 32, "scale_vec::4X": 16, "block32": 32, "block16": 16}
"""Elements along K that share a scale, by the modifier."""


@instruction(f"tcgen05.mma.{_GROUP}.{_PLAIN}.ashift?.{_COLLECTOR}")
def multiply(operation: Operation) -> Step:
    """Without scales."""
    form = operation.form
    kind = next(each.removeprefix("kind::") for each in form.modifiers if each.startswith("kind::"))
    d, a, b, descriptor, *rest = operation.operands
    read_d = operation.address(d)
    a_in_tensor_memory = isinstance(a, Address)
    read_a = operation.address(a) if isinstance(a, Address) else operation.reader(a, "b64")
    read_b, read_descriptor = operation.reader(b, "b64"), operation.reader(descriptor, "b32")
    read_disabled = None
    if isinstance(rest[0], Vector):
        words = 8 if form.has("cta_group::2") else 4
        read_disabled = operation.vector_reader(rest.pop(0), "b32", words)
    read_adds = operation.reader(rest[0], "pred")
    scale_d = operation.constant(rest[1]) if len(rest) > 1 else 0

    def step(gang: Gang, lanes: Lanes) -> None:
        values = [
            np.broadcast_to(read(gang), gang.shape) for read in (read_d, read_a, read_b, read_descriptor, read_adds)
        ]
        masks = None if read_disabled is None else [np.broadcast_to(each, gang.shape) for each in read_disabled(gang)]
        for issuer in issuers(operation, gang, lanes):
            at, blocks = issuer.at, blocks_of(issuer)
            if blocks is None:
                continue
            place, left, right, said, adds = (int(each[at]) for each in values)
            found = _decoded(issuer, said, kind, len(blocks))
            if found is None:
                continue
            disabled = _disabled(None if masks is None else [int(each[at]) for each in masks], len(blocks))
            operands = place, left, right, a_in_tensor_memory, bool(adds), scale_d, disabled
            _start(_Issued(issuer, blocks, *found, *operands))

    return step


@instruction(f"tcgen05.mma.{_GROUP}.{_SCALED}.block_scale.{{{','.join(_VECTORS)}}}?.{_COLLECTOR}")
def multiply_scaled(operation: Operation) -> Step:
    """With a scale for each row of A and column of B, and as many elements along K as share it."""
    form = operation.form
    kind = next(each.removeprefix("kind::") for each in form.modifiers if each.startswith("kind::"))
    vector = _VECTORS.get(form.one_of(*_VECTORS), SCALE_VECTORS[kind][0])
    d, a, b, descriptor, scales_a, scales_b, adds = operation.operands
    a_in_tensor_memory = isinstance(a, Address)
    read_a = operation.address(a) if isinstance(a, Address) else operation.reader(a, "b64")
    readers = [
        operation.address(d),
        read_a,
        operation.reader(b, "b64"),
        operation.reader(descriptor, "b32"),
        operation.address(scales_a),
        operation.address(scales_b),
        operation.reader(adds, "pred"),
    ]

    def step(gang: Gang, lanes: Lanes) -> None:
        values = [np.broadcast_to(read(gang), gang.shape) for read in readers]
        for issuer in issuers(operation, gang, lanes):
            blocks = blocks_of(issuer)
            if blocks is None:
                continue
            place, left, right, said, *scales, adds = (int(each[issuer.at]) for each in values)
            found = _decoded(issuer, said, kind, len(blocks))
            if found is None:
                continue
            operands = place, left, right, a_in_tensor_memory, bool(adds), 0, _disabled(None, len(blocks))
            _start(_Issued(issuer, blocks, *found, *operands, (scales[0], scales[1]), vector))

    return step


def _decoded(
    issuer: Issuer, descriptor: int, kind: str, blocks: int
) -> tuple[InstructionDescriptor, int, tuple[Part, ...]] | None:
    """What an instruction descriptor says, K, and where D lies; `None`, and a fault, for what there is not."""
    found = InstructionDescriptor.decode(descriptor, kind)
    parts = None if isinstance(found, str) else parts_of(found.m, found.n, blocks == 2)
    if isinstance(found, str) or parts is None:
        text = found if isinstance(found, str) else f"has {found.m} rows of A and {found.n} columns of B"
        issuer.fault("tensor-memory", f"its instruction descriptor {text}")
        return None
    return found, found.depth, parts


def _disabled(words: list[int] | None, blocks: int) -> tuple[Array, ...]:
    if words is None:
        return (np.zeros(LANES, np.bool_),) * blocks
    lanes = np.array(words, np.uint32)[:, None] >> np.arange(32, dtype=np.uint32) & 1
    return tuple(lanes.astype(np.bool_).reshape(blocks, LANES))


def _start(issued: _Issued) -> None:
    issuer = issued.issuer
    lane, column = lane_and_column(issued.d)
    for part in issued.parts:
        block = issued.blocks[part.block]
        stop = column + part.width
        if not tensor_memory_of(issuer.machine, block).has(block, column, stop):
            text = (
                f"accumulates in columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
            )
            issuer.fault("tensor-memory", text, describe(issued.d))
            return
        if lane + int(part.lanes.max()) >= LANES:
            issuer.fault("tensor-memory", f"accumulates in lanes from {lane} on, beyond the last", describe(issued.d))
            return
    kind = f"{len(issued.blocks)} {issued.form.kind} {issued.form.m} {issued.form.n}"
    issue(issuer, issued.blocks, lambda agent: _happen(issued, agent), kind, after=(kind, COPY))


def _happen(issued: _Issued, agent: Agent) -> None:
    form = issued.form
    half = form.m // len(issued.blocks), form.n // len(issued.blocks)
    left: list[Array] = []
    right: list[Array] = []
    for number, block in enumerate(issued.blocks):
        if issued.a_in_tensor_memory:
            left.append(_from_tensor_memory(issued, agent, number))
        else:
            left.append(_from_shared(issued, agent, block, issued.a, form.a, half[0], form.transpose_a))
        right.append(_from_shared(issued, agent, block, issued.b, form.b, half[1], form.transpose_b))
    a = np.concatenate(left) * (-1.0 if form.negate_a else 1.0)
    b = np.concatenate(right) * (-1.0 if form.negate_b else 1.0)
    if issued.vector:
        a *= _scales_of_a(issued, agent)
        b *= _scales(issued, agent, 0, issued.scales[1], form.n, form.scale_b)
    old = _accumulated(issued, agent) if issued.adds else np.zeros((form.m, form.n))
    total = _sum(form)(a, np.ascontiguousarray(b.T), old)
    _put(issued, agent, bits_of(total, form))


def _scales_of_a(issued: _Issued, agent: Agent) -> Array:
    """Each block has those of its own rows."""
    form, count = issued.form, len(issued.blocks)
    place, rows = issued.scales[0], form.m // count
    return np.concatenate([_scales(issued, agent, number, place, rows, form.scale_a) for number in range(count)])


def _scales(issued: _Issued, agent: Agent, number: int, address: int, rows: int, first: int) -> Array:
    """Those of rows of A or columns of B, for each element, `(rows, K)` (PTX ISA, "Scale factor layout").

    32 rows are in the lanes of a warp, the next ones in the next column; a cell has four scales that follow one another
    along K, from byte `first` on. All four warps' lanes have to have them: those of the first are what counts here.
    """
    issuer, block = issued.issuer, issued.blocks[number]
    memory, (lane, column) = tensor_memory_of(issuer.machine, block), lane_and_column(address & _ADDRESS)
    along = -(-issued.depth // issued.vector)
    wide = -(-(first + along) // CELL)
    stop = column + rows // WARP_LANES * wide
    if not memory.has(block, column, stop):
        text = f"reads scales in columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
        issuer.fault("tensor-memory", text, describe(address))
        return np.ones((rows, issued.depth))
    _tell(issued, agent, "read", number, np.arange(LANES), column, stop)
    assert issued.form.scales is not None
    cells = np.ascontiguousarray(memory.words[lane : lane + WARP_LANES, column:stop])
    found = numbers(cells, issued.form.scales).reshape(WARP_LANES, rows // WARP_LANES, wide * CELL)
    rowwise = found.transpose(1, 0, 2).reshape(rows, -1)[:, first : first + along]
    return np.repeat(rowwise, issued.vector, axis=1)[:, : issued.depth]


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


def _from_shared(
    issued: _Issued, agent: Agent, block: Block, descriptor: int, type_: str, rows: int, transposed: bool
) -> Array:
    """A matrix of a block's shared memory, `(rows, K)`; zeros, after a fault, when it is not all inside."""
    issuer, depth = issued.issuer, issued.depth
    memory, decoded = issuer.machine.memory, MatrixDescriptor.decode_tcgen05(descriptor)
    if decoded is None:
        issuer.fault(
            "tensor-memory", f"its shared memory descriptor names swizzle {descriptor >> 61}, which there is not"
        )
        return np.zeros((rows, depth))
    elements = depth * CHUNK // DEPTH_BYTES
    if transposed:
        start, offsets = decoded.chunks("mn", depth, rows // elements)
    else:
        start, offsets = decoded.chunks("k", rows, depth // elements)
    if start + int(offsets.max()) + CHUNK > memory.shared_bytes:
        message = f"reads a matrix of {rows} by {depth} elements that reaches outside of the block's shared memory"
        issuer.fault("out-of-bounds", message, memory.describe("shared", decoded.start))
        return np.zeros((rows, depth))
    places = start + block.slot * memory.shared_stride + offsets
    if issuer.machine.watch.listens:
        issuer.machine.watch.asynchronous_access(agent, issuer.operation, "read", "shared", places.reshape(-1), CHUNK)
    words = memory.shared.view(np.complex128)[places // CHUNK].view(np.uint32)
    in_bytes = issued.form.in_a_byte == 1
    if in_bytes and type_ in _PACKING:
        words = unpack(words, _PACKING[type_])
    found = numbers(words, type_, in_bytes)
    return found.T if transposed else found


def _from_tensor_memory(issued: _Issued, agent: Agent, number: int) -> Array:
    """A block's rows of A, `(rows, K)`, from tensor memory, where a column has 32 bits along K."""
    issuer, block, form = issued.issuer, issued.blocks[number], issued.form
    memory = tensor_memory_of(issuer.machine, block)
    lane, column = lane_and_column(issued.a)
    stop = column + DEPTH_BYTES // CELL
    rows = form.m // len(issued.blocks)
    if not memory.has(block, column, stop):
        text = f"reads A in columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
        issuer.fault("tensor-memory", text, describe(issued.a))
        return np.zeros((rows, issued.depth))
    lanes = next(part.lanes for part in issued.parts if part.block == number)[:rows] + lane
    _tell(issued, agent, "read", number, lanes, column, stop)
    return numbers(np.ascontiguousarray(memory.words[lanes, column:stop]), form.a, form.in_a_byte == 1)


def _accumulated(issued: _Issued, agent: Agent) -> Array:
    """What is in D, `(M, N)`."""
    form = issued.form
    found = np.empty((form.m, form.n))
    lane, column = lane_and_column(issued.d)
    for part in issued.parts:
        memory = tensor_memory_of(issued.issuer.machine, issued.blocks[part.block])
        _tell(issued, agent, "read", part.block, part.lanes + lane, column, column + part.width)
        words = memory.words[part.lanes + lane, column : column + part.width]
        if form.d == "f16":
            values = words.astype(np.uint16).view(np.float16).astype(np.float64)
        else:
            values = numbers(np.ascontiguousarray(words), form.d)
        found[part.rows, part.columns] = values
    return found / 2.0**issued.scale_d if issued.scale_d else found


def _put(issued: _Issued, agent: Agent, words: Array) -> None:
    lane, column = lane_and_column(issued.d)
    for part in issued.parts:
        memory = tensor_memory_of(issued.issuer.machine, issued.blocks[part.block])
        lanes = part.lanes + lane
        kept = ~issued.disabled[part.block][lanes]
        lanes = lanes[kept]
        _tell(issued, agent, "write", part.block, lanes, column, column + part.width)
        memory.words[lanes, column : column + part.width] = words[part.rows, part.columns][kept]


def _tell(issued: _Issued, agent: Agent, kind: str, number: int, lanes: Array, column: int, stop: int) -> None:
    """Tell the watch of cells that are read or written."""
    issuer = issued.issuer
    watch = issuer.machine.watch
    if watch.listens:
        memory = tensor_memory_of(issuer.machine, issued.blocks[number])
        cells = memory.cells(lanes[:, None], np.arange(column, stop)[None, :])
        does = "read" if kind == "read" else "write"
        watch.asynchronous_access(agent, issuer.operation, does, "tensor", cells, CELL)
