"""`wgmma`: multiplications of warpgroups that happen some time between their start and `wgmma.wait_group`.

Each warp's quarter, 16 rows of A and D, is read from shared memory (and A from registers), multiplied and written to
the accumulators when it happens. What reads them before gets the old values. Multiplications into the same accumulators
happen in order. Sums are those of an H200, bit for bit; see `numbers.matrix_sums`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from cutecc.emulator.instructions import warpgroup
from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.mma import sparse_expansion
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.numbers import fragments, matrix_sums
from cutecc.emulator.numbers.matrix_elements import SUMS, bits, kind_of, numbers
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.ptx.syntax import Operand, Register, Vector
from cutecc.ptx.types import TYPE_BITS

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import Agent

_FORM: Final = re.compile(
    r"mma_async\.(?P<sparse>sp\.)?sync\.aligned\.m64n(?P<n>\d+)k(?P<k>\d+)(?P<satfinite>\.satfinite)?"
    r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)(?P<satfinite_last>\.satfinite)?(?P<combine>\.and\.popc)?"
)
"""ptxas takes `.satfinite` in both places; CuTe DSL writes the first, CUTLASS the last."""
_KINDS: Final = ("f16", "bf16", "tf32", "fp8", "int8", "b1")
"""Of elements that are multiplied."""
_DEPTH_BYTES: Final = 32
"""K of dense A and B, stored K of sparse A."""
_ROWS: Final = 16
"""Of A and D that a warp has."""


@dataclass(frozen=True, slots=True)
class WarpgroupMultiplication:
    """What a form of `wgmma.mma_async` says."""

    n: int
    k: int
    d: str
    a: str
    b: str
    sparse: bool
    saturate: bool

    @classmethod
    def parse(cls, form: Form) -> WarpgroupMultiplication | None:
        """`None` when the emulator does not know it."""
        match = _FORM.fullmatch(".".join(form.modifiers))
        if match is None:
            return None
        n, k, d, a, b = int(match["n"]), int(match["k"]), match["d"], match["a"], match["b"]
        is_sparse = match["sparse"] is not None
        kind = kind_of(a)
        if kind not in _KINDS or kind != kind_of(b) or d not in SUMS[kind] or n % 8 or not 8 <= n <= 256:
            return None
        if (kind == "b1") != (match["combine"] is not None) or (kind == "b1" and is_sparse):
            return None
        if k * TYPE_BITS[a] != 8 * _DEPTH_BYTES * (2 if is_sparse else 1):
            return None
        return cls(n, k, d, a, b, is_sparse, bool(match["satfinite"] or match["satfinite_last"]))


@dataclass(frozen=True, slots=True)
class Source:
    """A matrix in shared memory, of `rows` of M or N."""

    type: str
    rows: int
    depth: int
    """Stored elements along K."""
    transposed: bool
    """MN-major."""
    scale: float

    @property
    def layout(self) -> tuple[Literal["k", "mn"], int, int]:
        """Major, and the shape of its chunks."""
        elements = 8 * CHUNK // TYPE_BITS[self.type]
        if self.transposed:
            return "mn", self.depth, self.rows // elements
        return "k", self.rows, self.depth // elements

    def read(self, chunks: Array) -> Array:
        """The numbers, `(rows, depth)`, in chunks of 16 bytes of the shape of `layout`."""
        found = numbers(chunks.view(np.uint32), self.type)
        found = found.T if self.transposed else found
        return found if self.scale == 1 else found * self.scale


@instruction("wgmma.mma_async.**")
def multiply(operation: Operation) -> Step:
    """Starts a multiplication of the warpgroup."""
    form = WarpgroupMultiplication.parse(operation.form)
    if form is None:
        raise operation.unmodelled()
    return aligned(operation, _Multiply(operation, form).start)


class _Multiply:
    """One instruction `wgmma.mma_async`."""

    def __init__(self, operation: Operation, form: WarpgroupMultiplication) -> None:
        self._operation, self._form = operation, form
        d, a, b, *rest = operation.operands
        self._accumulators = _slots(operation, d, form.n // (4 if form.d == "f16" else 2))
        stored = form.k // 2 if form.sparse else form.k
        left = fragments.fragment_a(_ROWS, stored, 32 // TYPE_BITS[form.a])
        sources: tuple[int, ...] = ()
        self._a_slots: tuple[int, ...] | None = None
        if isinstance(a, Vector):
            self._a_slots = sources = _slots(operation, a, left.registers)
        else:
            self._read_a = operation.reader(a, "b64")
        self._read_b = operation.reader(b, "b64")
        self._metadata: int | None = None
        if form.sparse:
            words, selector, *rest = rest
            (self._metadata,) = _slots(operation, words, 1)
            sources += (self._metadata,)
            self._expand = sparse_expansion(TYPE_BITS[form.a], form.k, operation.constant(selector))
        scale_d, *rest = rest
        self._read_scale_d = operation.reader(scale_d, "pred")
        self._sources = sources
        constants = [operation.constant(each) for each in rest]
        scale_a, scale_b = constants[:2] or (1, 1)
        transposes = [bool(each) for each in constants[2:]]
        transpose_b = transposes[-1] if transposes else False
        transpose_a = transposes[0] if len(transposes) == 2 else False
        self._a = Source(form.a, 64, stored, transpose_a, float(scale_a))
        self._b = Source(form.b, form.n, form.k, transpose_b, float(scale_b))
        self._sum = _sum(form)
        self._a_holders = left.holders

    def start(self, gang: Gang, lanes: Lanes) -> None:
        machine, operation = gang.machine, self._operation
        rows = lanes.rows
        first = lanes.mask.argmax(axis=1)[rows]
        b = _first(self._read_b(gang), rows, first)
        a = None if self._a_slots is not None else _first(self._read_a(gang), rows, first)
        adds = [bool(each) for each in _first(self._read_scale_d(gang), rows, first)]
        started = warpgroup.start(gang, rows, operation, self._accumulators, self._sources)
        agents: list[Agent] = []
        if machine.watch.listens:
            alone = [lanes.only((np.arange(gang.warps) == row)[:, None]) for row in rows]
            agents = [machine.watch.spawn(gang, each, operation) for each in alone]
            for row, each in zip(rows, alone, strict=True):
                key = warpgroup.start_key(gang, row, int(started.groups[row]))
                machine.watch.release(gang, each, operation, key)
        before = [each for each in gang.in_flight[:-1] if each.shares_accumulators(started)]

        def happen() -> None:
            for each in before:
                if each.pending is not None and not each.pending.done:
                    machine.finish(each.pending)
            # Else each would keep the one before it, and so on.
            before.clear()
            self._happen(gang, rows, a, b, adds, agents)
            for row, agent in zip(rows, agents, strict=False):
                machine.watch.finish(agent, warpgroup.group_key(gang, row, int(started.groups[row])))

        started.pending = machine.post(
            happen, lambda: f"the {operation.form} of PTX line {operation.instruction.line}", gang.cluster
        )
        machine.changed(gang.cluster)

    def _happen(
        self, gang: Gang, rows: list[int], a: list[int] | None, b: list[int], adds: list[bool], agents: list[Agent]
    ) -> None:
        left = self._left_from_registers(gang, rows) if a is None else np.empty((len(rows), _ROWS, self._a.depth))
        tiles: dict[tuple[int, int], Array] = {}
        quarters: dict[tuple[int, int], Array] = {}
        for number, row in enumerate(rows):
            agent = agents[number] if agents else None
            slot, warp = gang.blocks[row].slot, int(gang.warp_numbers[row, 0]) % warpgroup.WARPS
            if a is not None:
                key = slot, a[number]
                if key not in quarters:
                    quarters[key] = self._tile(gang, row, self._a, a[number]).reshape(warpgroup.WARPS, _ROWS, -1)
                left[number] = quarters[key][warp]
            if (slot, b[number]) not in tiles:
                tiles[slot, b[number]] = np.ascontiguousarray(self._tile(gang, row, self._b, b[number]).T)
            if agent is not None:
                self._tell(gang, row, agent, None if a is None else a[number], b[number])
        if self._metadata is not None:
            left = self._expand(left, gang.registers[self._metadata][rows])
        added = self._accumulated(gang, rows, adds)
        keys = [(gang.blocks[row].slot, b[number]) for number, row in enumerate(rows)]
        for key, tile in tiles.items():
            chosen = [number for number, each in enumerate(keys) if each == key]
            total = self._sum(left[chosen].reshape(-1, self._form.k), tile, added[chosen].reshape(-1, self._form.n))
            added[chosen] = total.reshape(-1, _ROWS, self._form.n)
        self._put(gang, rows, added)

    def _left_from_registers(self, gang: Gang, rows: list[int]) -> Array:
        assert self._a_slots is not None
        words = np.concatenate([gang.registers[slot][rows] for slot in self._a_slots], axis=1)
        found = numbers(words, self._form.a).take(self._a_holders, axis=1).reshape(len(rows), _ROWS, -1)
        return found if self._a.scale == 1 else found * self._a.scale

    def _tile(self, gang: Gang, row: int, source: Source, descriptor: int) -> Array:
        """A matrix from shared memory; zeros, after a fault, when it is not all inside."""
        memory = gang.machine.memory
        start, offsets = MatrixDescriptor.decode(descriptor).chunks(*source.layout)
        if start + int(offsets.max()) + CHUNK > memory.shared_bytes:
            size = f"{source.rows} by {source.depth} elements"
            message = f"reads a matrix of {size} that reaches outside of the block's shared memory"
            where = memory.describe("shared", MatrixDescriptor.decode(descriptor).start)
            gang.machine.fault("out-of-bounds", message, self._operation, gang, gang.mask(row, gang.alive[row]), where)
            return np.zeros((source.rows, source.depth))
        index = (start + gang.blocks[row].slot * memory.shared_stride + offsets) // CHUNK
        return source.read(memory.shared.view(np.complex128)[index])

    def _tell(self, gang: Gang, row: int, agent: Agent, a: int | None, b: int) -> None:
        """The chunks of shared memory that a warp's quarter reads: its rows of A, and all of B."""
        memory, watch = gang.machine.memory, gang.machine.watch
        window = gang.blocks[row].slot * memory.shared_stride
        warp = int(gang.warp_numbers[row, 0]) % warpgroup.WARPS
        for source, descriptor, quarter in ((self._a, a, warp), (self._b, b, None)):
            if descriptor is None:
                continue
            start, offsets = MatrixDescriptor.decode(descriptor).chunks(*source.layout)
            if quarter is not None:
                axis = 1 if source.transposed else 0
                offsets = np.split(offsets, warpgroup.WARPS, axis=axis)[quarter]
            if start + int(offsets.max()) + CHUNK <= memory.shared_bytes:
                addresses = (offsets + (window + start)).reshape(-1)
                watch.asynchronous_access(agent, self._operation, "read", "shared", addresses, CHUNK)

    def _accumulated(self, gang: Gang, rows: list[int], adds: list[bool]) -> Array:
        """What is in the accumulators, `(warps, 16, N)`; zeros for warps that do not add."""
        form, warps = self._form, len(rows)
        if not any(adds):
            return np.zeros((warps, _ROWS, form.n))
        old = np.array([gang.registers[slot] for slot in self._accumulators])
        found = numbers(old if warps == gang.warps else old[:, rows], form.d)
        # Axes: N by 8, upper or lower half, (for f32: column of two), warp, group, thread of the quad, (else: column).
        if form.d == "f16":
            split = found.reshape(-1, 2, warps, 8, 4, 2).transpose(2, 1, 3, 0, 4, 5)
        else:
            split = found.reshape(-1, 2, 2, warps, 8, 4).transpose(3, 1, 4, 0, 5, 2)
        matrices = split.reshape(warps, _ROWS, form.n)
        return matrices if all(adds) else np.where(np.array(adds)[:, None, None], matrices, 0.0)

    def _put(self, gang: Gang, rows: list[int], total: Array) -> None:
        """Puts `total`, `(warps, 16, N)`, into the accumulators."""
        form, warps = self._form, len(rows)
        # Axes: warp, upper or lower half, group, N by 8, thread of the quad, one of two columns.
        split = total.reshape(warps, 2, 8, -1, 4, 2)
        if form.d == "f16":
            values = split.transpose(3, 1, 0, 2, 4, 5).reshape(-1, warps, 2 * WARP)
        else:
            values = split.transpose(3, 1, 5, 0, 2, 4).reshape(-1, warps, WARP)
        words = bits(values, form.d, form.saturate)
        for number, slot in enumerate(self._accumulators):
            if warps == gang.warps:
                gang.registers[slot] = words[number]
            else:
                changed = gang.registers[slot].copy()
                changed[rows] = words[number]
                gang.registers[slot] = changed


def _sum(form: WarpgroupMultiplication) -> matrix_sums.Sum:
    if form.d == "s32":
        return matrix_sums.whole
    result = "f16" if form.d == "f16" else "f32"
    fraction = matrix_sums.NARROW if kind_of(form.a) == "fp8" else matrix_sums.WIDE
    return matrix_sums.aligned_to_largest(fraction, (result, form.a, form.b, result))


@instruction("wgmma.fence.sync.aligned")
def fence(operation: Operation) -> Step:
    """Orders what threads did with registers before multiplications that use them; here they are in order anyway."""
    return aligned(operation, lambda gang, lanes: gang.machine.watch.fence(gang, lanes, operation))


@instruction("wgmma.commit_group.sync.aligned")
def commit_group(operation: Operation) -> Step:
    """What a warp has started since the last one becomes a group."""

    def execute(gang: Gang, lanes: Lanes) -> None:
        for row in lanes.rows:
            warpgroup.counts(gang.blocks[row]).committed[int(gang.warp_numbers[row, 0])] += 1

    return aligned(operation, execute)


@instruction("wgmma.wait_group.sync.aligned")
def wait_group(operation: Operation) -> Step:
    """Waits until all but the latest N groups of each warp have happened."""
    latest = operation.constant(operation.operands[0])

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        rows = lanes.rows
        limit = np.zeros(gang.warps, np.int64)
        for row in rows:
            count = warpgroup.counts(gang.blocks[row])
            limit[row] = count.committed[int(gang.warp_numbers[row, 0])] - latest
        over = [(each, each.warps & (each.groups < limit)) for each in gang.in_flight]
        over = [(each, warps) for each, warps in over if warps.any()]
        missing: dict[int, list[int]] = {}
        for each, warps in over:
            for row in np.flatnonzero(warps):
                if others := warpgroup.absent(gang, int(row), int(each.numbers[row])):
                    missing.setdefault(int(row), others)
        groups: set[tuple[int, int]] = set()
        for each, warps in over:
            warps[list(missing)] = False
            if not warps.any():
                continue
            assert each.pending is not None
            gang.machine.finish(each.pending)
            each.warps = each.warps & ~warps
            groups |= {(int(row), int(each.groups[row])) for row in np.flatnonzero(warps)}
        gang.in_flight = [each for each in gang.in_flight if each.warps.any()]
        if gang.machine.watch.listens:
            for row, group in sorted(groups):
                alone = lanes.only((np.arange(gang.warps) == row)[:, None])
                for key in (warpgroup.group_key(gang, row, group), warpgroup.start_key(gang, row, group)):
                    gang.machine.watch.acquire(gang, alone, operation, key)
        if not missing:
            return None
        rows = list(missing)

        def what(row: int) -> str:
            names = ", ".join(str(warp) for warp in missing[row])
            warps = -(-gang.blocks[row].threads // WARP)
            but = "" if missing[row][-1] < warps else f"; the block has {warps} warps, which are no whole warpgroups"
            return f"warps {names}, of its warpgroup, to start the same wgmma.mma_async{but}"

        return Waiting(gang.mask(rows, lanes.mask[rows]), what)

    return aligned(operation, execute)


def _slots(operation: Operation, operand: Operand, count: int) -> tuple[int, ...]:
    """Of so many registers of 32 bits in braces."""
    found: list[int] = []
    for item in operation.in_braces(operand, count):
        if not isinstance(item, Register) or operation.scope.width(item.name).itemsize != 4:
            raise operation.error(f"'{operation.form}' needs registers of 32 bits here")
        found.append(operation.scope.slot(item.name))
    return tuple(found)


def _first(value: Array, rows: list[int], lanes: Array) -> list[int]:
    """What the first thread of each warp has: the same as all others, as the ISA asks."""
    return [int(each) for each in value[rows, lanes]] if value.shape else [int(value)] * len(rows)
