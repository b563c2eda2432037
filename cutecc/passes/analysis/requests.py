"""What the requests of a kernel's warps take, access by access."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

from cutecc.ir.mlir import ir
from cutecc.memory_rules.banks import count_wavefronts
from cutecc.memory_rules.sectors import count_sectors
from cutecc.memory_rules.transfers import count_past_l1, count_through_l1
from cutecc.memory_rules.warps import WARP, Array, Mask
from cutecc.passes.analysis.evaluation import Machine
from cutecc.passes.analysis.operations import PER_THREAD, SEMANTICS, Known
from cutecc.passes.analysis.program import Access, KernelProgram, Kind, bytes_of
from cutecc.passes.analysis.sample import Sample, sample_of
from cutecc.passes.analysis.shared_rows import KeptRows, SharedRows

Space = Literal["global", "shared"]

_LINE = 128
"""Bytes, of L1 and of all banks together: where in its line an address is, is all that counts."""
NOBODY = -1
"""Stands for the address of a thread that accesses nothing."""
_SHARED_ADDRESS = 2**32 - 1


class Rules(TypedDict):
    """Of `count_wavefronts`."""

    atomic: bool
    merge: bool


@dataclass
class Requests:
    """What an access asks of one kind of memory, as far as it was looked at."""

    requests: int = 0
    """Executions by a warp."""
    taken: int = 0
    """Sectors of 32 bytes of global memory, wavefronts of shared memory."""
    ideal: int = 0
    """As many as the bytes need."""
    worst: int = 0
    """The most that one request takes."""
    worst_addresses: Array | None = None
    """Of that request: where each thread's bytes are, in bytes from the start of a line; -1 for no thread."""

    @property
    def each(self) -> float:
        """What a request takes."""
        return self.taken / self.requests

    @property
    def ideal_each(self) -> float:
        return self.ideal / self.requests


@dataclass
class AccessRequests:
    """What is known of an access."""

    operation: ir.Operation
    kind: Kind
    size: int
    """Bytes that a thread accesses at a time."""
    past_l1: bool = False
    """Of a copy: it moves sectors, and not through L1."""
    is_increment: bool = False
    """An atomic addition of 1 that nothing reads the result of."""
    element: int = 0
    """Bytes of the numbers that are loaded or stored; 0 where they are not known."""
    is_permuted: bool = False
    """Its address in shared memory has been through an exclusive or, as a swizzle's."""
    rows: SharedRows | None = None
    """Its requests of shared memory; `None` where they were too many to keep."""
    spaces: dict[Space, Requests] = field(default_factory=dict[Space, Requests])
    """Empty when its addresses are not known, or nobody executes it."""
    assumed: dict[Space, dict[str, int]] = field(default_factory=dict[Space, dict[str, int]])
    """Numbers of a launch that decide how far threads are from each other, and what was taken for them."""


@dataclass
class KernelRequests:
    """The accesses of a kernel, in the order of the program."""

    kernel: ir.Operation
    accesses: list[AccessRequests]
    unreadable: list[ir.Operation]
    """Accesses that are in assembly, or not in structured control flow."""

    def understood(self, space: Space) -> tuple[int, int]:
        """Of how many accesses of the space the addresses are known, and how many there are."""
        of_space = [each for each in self.accesses if space in each.spaces or space in _spaces(each)]
        unreadable = sum(space in _text_of(each) for each in self.unreadable)
        return sum(space in each.spaces for each in of_space), len(of_space) + unreadable


class WarpRequests:
    """All kernels of a module; an analysis for `cutecc.passes.analyses.analyse`."""

    def __init__(self, module: ir.Operation) -> None:
        self.kernels: list[KernelRequests] = []
        for kernel in kernels_of(module):
            program = KernelProgram(kernel, SEMANTICS)
            sample = sample_of(kernel, module)
            self.kernels.append(requests_of(program, sample))


def kernels_of(module: ir.Operation) -> list[ir.Operation]:
    """The kernels of a module that has been lowered."""
    return [
        inner.operation
        for outer in _inside(module)
        if outer.operation.name == "gpu.module"
        for inner in _inside(outer.operation)
        if "nvvm.reqntid" in inner.operation.attributes or inner.operation.name == "cuda.kernel"
    ]


def requests_of(program: KernelProgram, sample: Sample | None) -> KernelRequests:
    """What the blocks of a sample ask of memory; without one, nothing is known of any access."""
    counting = _Counting(sample)
    if sample is not None:
        Machine(program, sample, counting).run()
    accesses = [counting.finished(each, program) for each in program.accesses]
    return KernelRequests(program.kernel, accesses, program.unreadable)


class _Counting:
    """Collects the addresses of requests: those of many are the same but for where their lines are."""

    def __init__(self, sample: Sample | None) -> None:
        self._sample = sample
        self._rows: dict[int, dict[Space, Counter[bytes]]] = {}
        self._kept = KeptRows()
        self._unknown: set[int] = set()
        self._depends: dict[tuple[int, Space], int] = {}

    def __call__(self, access: Access, source: Known, target: Known, amount: Known, mask: Mask) -> None:
        key = id(access)
        if access.kind == "copy":
            if source[0] is None or target[0] is None:
                self._unknown.add(key)
                return
            reading = mask if amount[0] is None else mask & np.broadcast_to(np.asarray(amount[0]) != 0, mask.shape)
            both = [placed(source[0], reading), placed(target[0], mask, _SHARED_ADDRESS)]
            self._add(access, "global", np.concatenate(both, axis=1))
            self._kept.add(id(access), np.concatenate([both[0], _whole(target[0], mask)], axis=1))
        else:
            space: Space = "global" if access.source is not None else "shared"
            address = source[0] if space == "global" else target[0]
            if address is None:
                self._unknown.add(key)
                return
            if access.rows < WARP:
                mask = mask & (np.arange(WARP) < access.rows)
            for piece in range(access.pieces):
                limit = _SHARED_ADDRESS if space == "shared" else None
                self._add(access, space, placed(address + piece * access.size, mask, limit))
                if space == "shared":
                    self._kept.add(id(access), _whole(address + piece * access.size, mask))
        self._depends[key, "global"] = self._depends.get((key, "global"), 0) | source[1]
        self._depends[key, "shared"] = self._depends.get((key, "shared"), 0) | target[1]

    def _add(self, access: Access, space: Space, rows: Array) -> None:
        found = self._rows.setdefault(id(access), {}).setdefault(space, Counter())
        if (rows == rows[0]).all():
            found[rows[0].tobytes()] += len(rows)
        else:
            found.update(row.tobytes() for row in rows)

    def finished(self, access: Access, program: KernelProgram) -> AccessRequests:
        found = AccessRequests(
            *(access.node.operation, access.kind, access.size, access.past_l1, access.is_increment),
            element=_element_of(access),
        )
        if id(access) in self._unknown or self._sample is None:
            return found
        for space, rows in self._rows.get(id(access), {}).items():
            for row, count in rows.items():
                addresses = np.frombuffer(row, np.int64)[None, :]
                for each, numbers in taken(found, space, addresses):
                    _tally(found.spaces.setdefault(each, Requests()), *numbers, count, addresses, each == "shared")
        found.spaces = {space: requests for space, requests in found.spaces.items() if requests.requests}
        if "shared" in found.spaces and access.target is not None:
            found.rows = self._kept.of(id(access))
            found.is_permuted = program.depends_on(access.target, "arith.xori")
        found.assumed = {space: self._assumed(self._sample, id(access), space) for space in found.spaces}
        return found

    def _assumed(self, sample: Sample, access: int, space: Space) -> dict[str, int]:
        depends = self._depends.get((access, space), 0) >> PER_THREAD
        names = [what for bit, what in enumerate(sample.assumed) if depends >> bit & 1]
        return {name: sample.numbers[name] for name in names if name in sample.numbers}


def _element_of(access: Access) -> int:
    """Bytes of the numbers that a load or a store is of, 0 for other accesses."""
    operation = access.node.operation
    if access.kind not in ("load", "store"):
        return 0
    type_ = operation.results[0].type if access.kind == "load" else operation.operands[0].type
    return bytes_of(type_.element_type if isinstance(type_, ir.VectorType) else type_)


def placed(address: Array | int, mask: Mask, bits: int | None = None) -> Array:
    """The addresses of each warp from the start of the first line that it accesses."""
    wide = np.broadcast_to(np.asarray(address, np.int64), mask.shape)
    if bits is not None:
        wide = wide & bits
    start = np.where(mask, wide, np.iinfo(np.int64).max).min(axis=1, keepdims=True) & -_LINE
    return np.where(mask, wide - start, NOBODY)


def _whole(address: Array | int, mask: Mask) -> Array:
    """Addresses of shared memory, as they are."""
    return np.where(mask, np.asarray(address, np.int64) & _SHARED_ADDRESS, NOBODY)


def taken(access: AccessRequests, space: Space, addresses: Array) -> list[tuple[Space, tuple[int, int, int]]]:
    """Requests, what they take, and their ideal, of warps: an address a thread, those of a copy's source first."""
    if access.kind == "copy":
        source, target = addresses[:, :WARP], addresses[:, WARP:]
        reading, mask = source != NOBODY, target != NOBODY
        if access.past_l1:
            sectors, wavefronts = count_past_l1(source, reading, target, mask)
        else:
            sectors, wavefronts = count_through_l1(source, reading, target, mask, access.size)
        return [("global", sectors), ("shared", wavefronts)]
    mask = addresses != NOBODY
    if space == "global":
        return [(space, count_sectors(addresses, mask, access.size))]
    return [(space, count_wavefronts(addresses, mask, access.size, **rules_of(access)))]


def rules_of(access: AccessRequests) -> Rules:
    """How an access of shared memory is served, as `count_wavefronts` takes it."""
    is_matrix = access.kind in ("matrix load", "matrix store")
    return {"atomic": access.kind == "atomic" and not access.is_increment, "merge": not is_matrix}


def _tally(
    found: Requests, requests: int, taken: int, ideal: int, count: int, addresses: Array, is_second: bool
) -> None:
    found.requests += requests * count
    found.taken += taken * count
    found.ideal += ideal * count
    if taken > found.worst:
        found.worst = taken
        found.worst_addresses = addresses[0, -WARP:] if is_second else addresses[0, :WARP]


def _spaces(access: AccessRequests) -> tuple[Space, ...]:
    if access.kind == "copy":
        return "global", "shared"
    pointers = " ".join(str(each.type) for each in access.operation.operands)
    return ("shared",) if "!llvm.ptr<3>" in pointers else ("global",)


def _text_of(operation: ir.Operation) -> str:
    if "asm_string" in operation.attributes:
        return operation.attributes["asm_string"].value
    pointers = " ".join(str(each.type) for each in operation.operands)
    return ("global " if "!llvm.ptr<1>" in pointers else "") + ("shared" if "!llvm.ptr<3>" in pointers else "")


def _inside(operation: ir.Operation) -> list[ir.OpView]:
    return [each for region in operation.regions for block in region.blocks for each in block.operations]
