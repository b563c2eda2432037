"""Loads of tensor memory that are over because what they load has been used.

A load writes its registers some time later. `tcgen05.wait::ld` waits for that, and so does whoever uses a register: the
machine holds instructions back for their operands. Of a value that goes to memory, the access is such a use, and stays
where it is between barriers. A load whose value nobody uses any more may be late: that makes no difference to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.proving.arithmetic import bytes_of
from cutecc.proving.kernel import Operation

if TYPE_CHECKING:
    from cutecc.proving.kernel import Block, Kernel

_LOAD, _WAIT = "nvvm.tcgen05.ld", "nvvm.tcgen05.wait"
_LOOPS = ("scf.for", "scf.while")
_STORES = (
    *("llvm.store", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.intr.masked.store"),
    *("nvvm.stmatrix", "nvvm.tcgen05.st", "nvvm.atomicrmw", "nvvm.red.", "nvvm.store."),
)
"""Prefixes of what puts values into memory."""

Loads = frozenset[Operation]


def add_waits(kernel: Kernel) -> None:
    """Put a wait behind uses after which no load goes on."""
    places = _Places(kernel.body)
    flow = _Flow(kernel)
    flow.block(kernel.body)
    loads = [each for each in places.order if each.name.startswith(_LOAD)]
    ends = {each: places.end(each, flow) for each in loads}
    for last in dict.fromkeys(each for each in ends.values() if each is not None):
        if not any(places.may_go_on(each, ends[each], last) for each in loads):
            block = places.blocks[last]
            wait = Operation(_WAIT, [], [], {"kind": "#nvvm.tcgen05_wait<load>"}, [], last.source)
            # What ends a block does nothing else.
            block.operations.insert(min(block.operations.index(last) + 1, len(block.operations) - 1), wait)


@dataclass(slots=True)
class _Span:
    """Where the text of an operation begins and ends."""

    first: int
    last: int = 0


class _Places:
    """Where operations are in the text of a kernel."""

    def __init__(self, body: Block) -> None:
        self.order: list[Operation] = []
        self.blocks: dict[Operation, Block] = {}
        self._outer: dict[Operation, tuple[Operation, ...]] = {}
        """The operations that each is in, the outermost first."""
        self._spans: dict[Operation, _Span] = {}
        self._block(body, ())

    def _block(self, block: Block, outer: tuple[Operation, ...]) -> None:
        for each in block.operations:
            self.order.append(each)
            self.blocks[each], self._outer[each] = block, outer
            span = self._spans[each] = _Span(len(self.order))
            for inner in each.blocks:
                self._block(inner, (*outer, each))
            span.last = len(self.order)

    def end(self, load: Operation, flow: _Flow) -> Operation | None:
        """The operation behind which a load is over, or makes no difference; `None` where that is not known."""
        block = self.blocks[load].operations
        stores = flow.stores_of(load, block[block.index(load) + 1 :])
        for each in block[block.index(load) + 1 :]:
            if each in stores or (each.name == _WAIT and "load" in each.attributes["kind"]):
                return each
        uses = flow.uses.get(load, set())
        if not uses or any(self._spans[each].first < self._spans[load].first for each in uses):
            return None
        # The innermost block that has the load and all uses, and in it what has the last one.
        paths = [(*self._outer[each], each) for each in (load, *uses)]
        depth = 0
        while all(len(path) > depth + 1 and path[depth] is paths[0][depth] for path in paths) and self._is_shared(
            paths, depth
        ):
            depth += 1
        return max((path[depth] for path in paths[1:]), key=lambda each: self._spans[each].last)

    def _is_shared(self, paths: list[tuple[Operation, ...]], depth: int) -> bool:
        """Whether all go on in the same block of the operation that they are in."""
        return len({id(self.blocks[path[depth + 1]]) for path in paths}) == 1

    def may_go_on(self, load: Operation, end: Operation | None, at: Operation) -> bool:
        """Whether a load may go on behind an operation."""
        behind = self._spans[at].last
        loops = [each for each in self._outer[load] if each.name in _LOOPS and each in self._outer[at]]
        if end is None:
            return bool(loops) or self._spans[load].first <= behind
        if any(each not in self._outer[end] for each in loops):
            return True
        return self._spans[load].first <= behind < self._spans[end].last


class _Flow:
    """Which loads may take part in what."""

    def __init__(self, kernel: Kernel) -> None:
        self.uses: dict[Operation, set[Operation]] = {}
        """Operations that a load's value, or what is made of it, may come to."""
        self._types = kernel.types
        self._made_of: dict[int, Loads] = {}
        """Of values."""
        self._held: dict[int, Loads] = {}
        """Of a thread's own memory, by where it begins."""
        self._private: dict[int, int] = {}
        """Addresses in that."""
        self._sizes: dict[int, int] = {}
        """Bytes of it, where they are known."""
        self._constants: dict[int, int] = {}

    def block(self, block: Block) -> None:
        """Go through a block."""
        for operation in block.operations:
            self._operation(operation)

    def stores_of(self, load: Operation, behind: Sequence[Operation]) -> set[Operation]:
        """Of a block's operations behind a load, those that surely put into memory what has been made of it."""
        made, held, found = set(load.results), set[int](), set[Operation]()
        for each in behind:
            base = next((self._private[value] for value in each.operands if value in self._private), None)
            if each.blocks:
                held.clear()
            elif each.name == "llvm.store" and (base := self._private.get(each.operands[1])) is not None:
                is_whole = bytes_of(self._types[each.operands[0]]) == self._sizes.get(base)
                held = held | {base} if each.operands[0] in made and is_whole else held - {base}
            elif each.name == "llvm.load" and base is not None:
                made.update(each.results if base in held else ())
            elif each.name.startswith(_STORES):
                found.update((each,) if made.intersection(each.operands) else ())
            elif made.intersection(each.operands):
                made.update(each.results)
        return found

    def _operation(self, operation: Operation) -> None:
        found = self._of(operation.operands)
        for each in found:
            self.uses.setdefault(each, set()).add(operation)
        name, results = operation.name, operation.results
        base = next((self._private[each] for each in reversed(operation.operands) if each in self._private), None)
        if name.startswith(_LOAD):
            found = frozenset((operation,))
        elif operation.blocks:
            found |= self._inside(operation, found)
        elif name.endswith(".constant") and type(operation.attributes.get("value")) is int:
            self._constants[results[0]] = operation.attributes["value"]
        elif name == "llvm.alloca":
            self._private[results[0]] = results[0]
            count = self._constants.get(operation.operands[0])
            if count is not None:
                self._sizes[results[0]] = count * bytes_of(operation.attributes["elem_type"])
        elif name == "llvm.getelementptr" and base is not None:
            self._private[results[0]] = base
        elif base is not None:
            found |= self._access(operation, base, found)
        for each in results:
            self._made_of[each] = self._made_of.get(each, frozenset()) | found

    def _access(self, operation: Operation, base: int, stored: Loads) -> Loads:
        """What a thread's own memory may hold: anything that was put there."""
        held = self._held.get(base, frozenset())
        self._held[base] = held | stored
        for each in held if operation.name != "llvm.store" else ():
            self.uses.setdefault(each, set()).add(operation)
        return held

    def _inside(self, operation: Operation, given: Loads) -> Loads:
        """What a branch or loop makes, of what it is given."""
        found = given
        # What goes around a loop is there the second time.
        for block in operation.blocks * (2 if operation.name in _LOOPS else 1):
            for each in block.arguments:
                self._made_of[each] = self._made_of.get(each, frozenset()) | found
            self.block(block)
            found |= self._of(block.operations[-1].operands)
        return found

    def _of(self, values: list[int]) -> Loads:
        return frozenset[Operation]().union(*(self._made_of.get(each, frozenset()) for each in values))
