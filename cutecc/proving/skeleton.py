"""What is left of a kernel: operations that synchronise or access shared memory, and what these depend on."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cutecc.proving.kernel import Block, Kernel, Operation
from cutecc.proving.tensor_loads import USE, add_waits

_ASSEMBLY = re.compile(
    r"wgmma\.|mbarrier\.|\bbar(?:rier)?\.|cp\.(?:reduce\.)?async|tcgen05\.|fence|clusterlaunchcontrol"
    r"|(?:ld|st|red|atom)[.:\w]*\.(?:async|shared)|(?:ld|st)matrix|\bexit\b"
)
"""In the text of assembly, what synchronises or accesses shared memory: it is modelled, or nothing is known."""
_READS = re.compile(r"ld\.(?:volatile|acquire|relaxed)|atom\.")
LOOPS = ("scf.for", "scf.while")
STRUCTURED = ("scf.if", *LOOPS)
_SHARED = ("!llvm.ptr<3>", "!llvm.ptr<7>")
_GLOBAL = "!llvm.ptr<1>"
_SILENT = (
    *("nvvm.fence", "nvvm.setmaxregister", "nvvm.prefetch", "nvvm.bar.warp.sync", "nvvm.wgmma.fence.aligned"),
    *("nvvm.cp.async.bulk.prefetch", "nvvm.cp.async.bulk.tensor.prefetch", "nvvm.redux"),
    *(
        "nvvm.tcgen05.fence",
        "nvvm.tensormap.replace",
        "nvvm.griddepcontrol",
        "nvvm.nanosleep",
        "nvvm.breakpoint",
        "nvvm.exit",
    ),
)
"""Prefixes of operations by which nobody waits and nothing of shared memory is accessed.

That fences between proxies are there is for the checks to see.
"""
_EVENTS = (
    *("nvvm.mbarrier.", "nvvm.barrier", "nvvm.cluster.", "nvvm.cp.async.", "nvvm.wgmma.", "nvvm.tcgen05."),
    *("nvvm.stmatrix", "nvvm.ldmatrix", "nvvm.store.async", "nvvm.clusterlaunchcontrol", "nvvm.red"),
)
_VALUES = ("nvvm.tcgen05.mma_smem_desc", "nvvm.clusterlaunchcontrol.query")
_ACCESSES = (
    *("llvm.load", "llvm.store", "llvm.atomicrmw", "nvvm.atomicrmw", "llvm.cmpxchg", "llvm.intr.mem"),
    *("llvm.intr.masked", "nvvm.load.ext", "nvvm.store.ext", "nvvm.st.bulk", "nvvm.wmma.load", "nvvm.wmma.store"),
    "llvm.call",
)
"""Prefixes of operations that access the memory of their pointers, of whatever kind that is."""
_PLAIN = (
    *("llvm.load", "llvm.store", "nvvm.load.ext", "nvvm.store.ext", "nvvm.stmatrix", "nvvm.ldmatrix"),
    "nvvm.cp.async.shared.global",
)


@dataclass(eq=False)
class Skeleton:
    """The operations that matter of a kernel, and the values that are needed for them."""

    kernel: Kernel
    kept: set[Operation] = field(default_factory=set[Operation])
    needed: set[int] = field(default_factory=set[int])
    spins: set[Operation] = field(default_factory=set[Operation])
    """Loops that look again and again for what another thread writes in memory."""
    deciding: set[int] = field(default_factory=set[int])
    """Of the needed values, those that are taken by events, conditions and loops, not by arithmetic."""


def is_event(kernel: Kernel, operation: Operation) -> bool:
    """Whether an operation synchronises, or accesses shared or tensor memory."""
    name = operation.name
    if name.startswith(_ACCESSES):
        return any(kernel.types[value] in _SHARED for value in operation.operands)
    if name == "llvm.inline_asm":
        return bool(_ASSEMBLY.search(operation.attributes["asm_string"]))
    return name.startswith(_EVENTS) and not name.startswith((*_SILENT, *_VALUES))


def is_plain_access(operation: Operation) -> bool:
    """Whether an event does nothing but read or write shared memory, or use registers: nobody waits for it alone."""
    return operation.name in _PLAIN or operation.name == USE


def skeleton_of(kernel: Kernel) -> Skeleton:
    """What matters of a kernel, in which loads of tensor memory get waits where they are over."""
    add_waits(kernel, functools.partial(is_event, kernel))
    return _Slicing(kernel).skeleton


@dataclass(frozen=True, eq=False, slots=True)
class _Definition:
    operation: Operation
    index: int
    block: int | None
    """The number of the operation's block that it is an argument of; `None` for a result."""


class _Slicing:
    def __init__(self, kernel: Kernel) -> None:
        self.skeleton = Skeleton(kernel)
        self._definitions: dict[int, _Definition] = {}
        self._parents: dict[Operation, Operation | None] = {}
        self._due: list[int] = []
        events = list(self._look_at(kernel.body, None))
        for event in events:
            self._keep(event)
            self._decide(*operands_of(kernel, event))
        while self._due:
            self._follow(self._due.pop())

    def _look_at(self, block: Block, parent: Operation | None) -> Iterator[Operation]:
        for operation in block.operations:
            self._parents[operation] = parent
            for index, result in enumerate(operation.results):
                self._definitions[result] = _Definition(operation, index, None)
            for number, inner in enumerate(operation.blocks):
                for index, argument in enumerate(inner.arguments):
                    self._definitions[argument] = _Definition(operation, index, number)
                yield from self._look_at(inner, operation)
            if is_event(self.skeleton.kernel, operation):
                yield operation
            elif operation.name == "scf.while" and self._spins(operation):
                self.skeleton.spins.add(operation)
                self._keep(operation)

    def _spins(self, loop: Operation) -> bool:
        """Whether a loop ends by what it reads in memory, in an order with others' accesses."""
        waiting = [loop.blocks[0].operations[-1].operands[0]]
        seen = set(waiting)
        while waiting:
            found = self._definitions.get(waiting.pop())
            if found is None or not self._is_inside(found.operation, loop):
                continue
            if _is_ordered_read(found.operation):
                return True
            sources = _sources(found)
            waiting += sources - seen
            seen |= sources
        return False

    def _is_inside(self, operation: Operation, loop: Operation) -> bool:
        inside: Operation | None = operation
        while inside is not None and inside is not loop:
            inside = self._parents[inside]
        return inside is loop

    def _decide(self, *values: int) -> None:
        self.skeleton.deciding.update(values)
        self._need(*values)

    def _need(self, *values: int) -> None:
        for value in values:
            if value not in self.skeleton.needed:
                self.skeleton.needed.add(value)
                self._due.append(value)

    def _keep(self, operation: Operation | None) -> None:
        """Have an operation, and whatever it is inside of."""
        while operation is not None and operation not in self.skeleton.kept:
            self.skeleton.kept.add(operation)
            match operation.name:
                case "scf.for":
                    self._decide(*operation.operands[:3])
                case "scf.if":
                    self._decide(operation.operands[0])
                case "scf.while":
                    self._decide(operation.blocks[0].operations[-1].operands[0])
                case _:
                    pass
            operation = self._parents[operation]

    def _follow(self, value: int) -> None:
        found = self._definitions.get(value)
        if found is None:
            return
        operation, index = found.operation, found.index
        self._keep(operation)
        if found.block is not None:
            self._decide(*_carried_from(operation, index, found.block))
        elif operation.name == "scf.for":
            self._need(operation.blocks[0].arguments[1 + index])
        elif operation.name == "scf.while":
            self._decide(operation.blocks[0].operations[-1].operands[1 + index])
        elif operation.name == "scf.if":
            self._need(*(block.operations[-1].operands[index] for block in operation.blocks))
        elif not is_event(self.skeleton.kernel, operation) and not operation.blocks:
            self._need(*operation.operands)


def _is_ordered_read(operation: Operation) -> bool:
    name = operation.name
    if name == "llvm.inline_asm":
        return bool(_READS.search(operation.attributes["asm_string"]))
    if name in ("llvm.load", "nvvm.load.ext"):
        return is_ordered(operation)
    return "atomicrmw" in name or "cmpxchg" in name


def is_ordered(operation: Operation) -> bool:
    """Whether a load or store is volatile or atomic: two such do not race."""
    attributes = operation.attributes
    return "volatile_" in attributes or "order" in attributes or attributes.get("ordering", 0) != 0


def _sources(found: _Definition) -> set[int]:
    """The values that one is made of."""
    operation = found.operation
    if found.block is not None:
        return {*_carried_from(operation, found.index, found.block)}
    if operation.name not in STRUCTURED:
        return {*operation.operands}
    ends = {value for block in operation.blocks for value in block.operations[-1].operands}
    return ends | {*operation.operands}


def _carried_from(loop: Operation, index: int, block: int) -> Iterator[int]:
    """What an argument of a loop's block is: before the first turn, and after each."""
    if loop.name == "scf.for":
        if index:
            yield loop.operands[2 + index]
            yield loop.blocks[0].operations[-1].operands[index - 1]
    elif block == 0:
        yield loop.operands[index]
        yield loop.blocks[1].operations[-1].operands[index]
    else:
        yield loop.blocks[0].operations[-1].operands[1 + index]


_ADDRESS_ALONE = (
    *("nvvm.stmatrix", "nvvm.ldmatrix", "llvm.atomicrmw", "nvvm.atomicrmw", "llvm.cmpxchg"),
    "nvvm.cp.async.shared.global",
)


def operands_of(kernel: Kernel, event: Operation) -> list[int]:
    """Of an event: addresses, counts and descriptors, not data."""
    name, operands = event.name, event.operands
    # Where global memory is accessed makes no difference.
    integers = [value for value in operands if value in kernel.widths and kernel.types[value] != _GLOBAL]
    if name in _ADDRESS_ALONE:
        return operands[:1]
    if name.startswith("nvvm.cp.async.bulk.tensor"):
        return [value for value in integers if kernel.types[value] != "i32"]
    if name.startswith("nvvm.tcgen05.mma"):
        return operands
    match name:
        case "llvm.store" | "nvvm.store.ext":
            return operands[1:2]
        case "llvm.inline_asm":
            return [value for value in integers if kernel.widths[value] == 64] + integers[-5:]
        case "nvvm.store.async":
            return [operands[0], operands[2]]
        case "nvvm.tcgen05.st":
            return [operands[0], *operands[2:]]
        case _:
            return integers
