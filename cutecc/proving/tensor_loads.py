"""Loads of tensor memory that are over because what they load has been used.

A load writes its registers some time later. `tcgen05.wait::ld` waits for that, and so does whoever uses a register: the
machine holds instructions back for their operands. Of a value that goes to memory, the access is such a use, and stays
where it is between barriers. A load whose value nobody uses any more may be late: that makes no difference to anybody.

Of each load two things are found. Where it is over for sure: there it gets a wait of its own. And which uses it may
have that stay where they are: behind one of them nobody can say that it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.proving.arithmetic import bytes_of
from cutecc.proving.kernel import Operation, operations_inside

if TYPE_CHECKING:
    from cutecc.proving.kernel import Block, Kernel

_LOAD, _WAIT = "nvvm.tcgen05.ld", "nvvm.tcgen05.wait"
USE = "nvvm.tcgen05.use"
"""What is put before a use of loads that there may be: of them, its attribute `loads` has the numbers."""
_LOOPS = ("scf.for", "scf.while")
_STORES = (
    *("llvm.store", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.intr.masked.store"),
    *("nvvm.stmatrix", "nvvm.tcgen05.st", "nvvm.atomicrmw", "nvvm.red.", "nvvm.store."),
)
"""Prefixes of what puts values into memory."""
_PURE = (
    *("arith.", "vector.", "math.", "nvgpu.cvt", "llvm.call_intrinsic", "llvm.intr.f", "llvm.bitcast", "llvm.extract"),
    *("llvm.insert", "llvm.getelementptr", "llvm.ptrtoint", "llvm.inttoptr", "scf.yield", "scf.while"),
    *("nvvm.add", "nvvm.sub", "nvvm.mul", "nvvm.fma", "nvvm.f", "nvvm.convert", "nvvm.cvt", "nvvm.ex2", "nvvm.rcp"),
)
"""Prefixes of what takes registers and nothing else, and may be done later than it is written."""
_DECIDES = {"scf.if": 1, "scf.condition": 1, "scf.for": 3}
"""How many of their operands say what is done next."""

Loads = frozenset[Operation]


def add_waits(kernel: Kernel, is_event: Callable[[Operation], bool]) -> None:
    """Put waits where loads are over for sure, and marks where they may be: of loads by their numbers.

    Most loads are over one after the other, and share the number 0.
    """
    places = _Places(kernel.body, is_event)
    flow = _Flow(kernel)
    flow.block(kernel.body)
    over: dict[Operation, set[int]] = {}
    perhaps: dict[Operation, set[int]] = {}
    ends = {each: places.end(each, flow) for each in places.order if each.name.startswith(_LOAD)}
    apart = _apart(ends, places, flow)
    for number, (load, end) in enumerate(ends.items(), 1):
        if load in apart:
            load.attributes["number"] = number
            for use in flow.stays.get(load, ()):
                perhaps.setdefault(places.visible(use, load), set()).add(number)
        if end is not None and end.name != _WAIT:
            over.setdefault(end, set()).add(number if load in apart else 0)
    for use, numbers in perhaps.items():
        places.put(Operation(USE, [], [], {"loads": sorted(numbers)}, [], use.source), use)
    for end, numbers in over.items():
        attributes = {"kind": "#nvvm.tcgen05_wait<load>", "loads": sorted(numbers)}
        # What has no blocks waits itself, or needs nothing of a load.
        places.put(Operation(_WAIT, [], [], attributes, [], end.source), end, is_behind=bool(end.blocks))


def _apart(ends: Mapping[Operation, Operation | None], places: _Places, flow: _Flow) -> set[Operation]:
    """Loads of which others are not over where they are, or which may be over before that is sure."""
    found: set[Operation] = set()
    for load, end in ends.items():
        if end is None or any(places.is_between(load, each, end) for each in flow.stays.get(load, ())):
            found.add(load)
    for load, end in ends.items():
        if load in found or end is None or end.name == _WAIT:
            continue
        if any(places.may_go_on(other, at, end) for other, at in ends.items() if at is not None and other not in found):
            found.add(load)
    return found


@dataclass(slots=True)
class _Span:
    """Where the text of an operation begins and ends."""

    first: int
    last: int = 0


class _Places:
    """Where operations are in the text of a kernel."""

    def __init__(self, body: Block, is_event: Callable[[Operation], bool]) -> None:
        self.order: list[Operation] = []
        self._is_event = is_event
        self._silent: set[Operation] = set()
        """Operations without events inside."""
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
            if not any(map(self._is_event, operations_inside(each))):
                self._silent.add(each)

    def visible(self, use: Operation, load: Operation) -> Operation:
        """A use, or the outermost of the branches and loops around it that are nobody else's concern."""
        around = (each for each in self._outer[use] if each in self._silent and each not in self._outer[load])
        return next(around, use)

    def end(self, load: Operation, flow: _Flow) -> Operation | None:
        """The operation at which a load is over, or makes no difference any more; `None` where that is not known."""
        block = self.blocks[load].operations
        stores = flow.stores_of(load, block[block.index(load) + 1 :])
        for each in block[block.index(load) + 1 :]:
            if each in stores or (each.name == _WAIT and "load" in each.attributes["kind"]):
                return each
        uses = flow.uses.get(load, set())
        if not uses or any(self._is_of_next_turn(each, load) for each in uses):
            return None
        # The innermost block that has the load and all uses, and in it what has the last one.
        paths = [(*self._outer[each], each) for each in (load, *uses)]
        depth = 0
        while all(len(path) > depth + 1 and path[depth] is paths[0][depth] for path in paths) and self._is_shared(
            paths, depth
        ):
            depth += 1
        return max((path[depth] for path in paths[1:]), key=lambda each: self._spans[each].last)

    def _is_of_next_turn(self, use: Operation, load: Operation) -> bool:
        """Whether a use is, or hands on, what the turn before has loaded."""
        outer = self._outer[use]
        hands_on = use.name == "scf.yield" and outer[-1].name in _LOOPS and outer[-1] in self._outer[load]
        return hands_on or self._spans[use].first < self._spans[load].first

    def _is_shared(self, paths: list[tuple[Operation, ...]], depth: int) -> bool:
        """Whether all go on in the same block of the operation that they are in."""
        return len({id(self.blocks[path[depth + 1]]) for path in paths}) == 1

    def may_go_on(self, load: Operation, end: Operation, at: Operation) -> bool:
        """Whether a load with an end may go on behind an operation."""
        loops = [each for each in self._outer[load] if each.name in _LOOPS and each in self._outer[at]]
        if any(each not in self._outer[end] for each in loops):
            return True
        return self._spans[load].first <= self._spans[at].last < self._spans[end].last

    def is_between(self, first: Operation, operation: Operation, last: Operation) -> bool:
        """Whether an operation stands between two others."""
        return self._spans[first].first < self._spans[operation].first < self._spans[last].first

    def put(self, new: Operation, at: Operation, *, is_behind: bool = False) -> None:
        """Put an operation before another one, or behind it."""
        block = self.blocks[at].operations
        # What ends a block does nothing else.
        block.insert(min(block.index(at) + is_behind, len(block) - 1), new)


class _Flow:
    """Which loads may take part in what."""

    def __init__(self, kernel: Kernel) -> None:
        self.uses: dict[Operation, set[Operation]] = {}
        """Operations that a load's value, or what is made of it, may come to."""
        self.stays: dict[Operation, set[Operation]] = {}
        """Those of them that stay where they are between barriers."""
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
            base = self._base(each)
            if each.blocks:
                held.clear()
            elif each.name == "llvm.store" and base is not None:
                is_whole = bytes_of(self._types[each.operands[0]]) == self._sizes.get(base)
                held = held | {base} if each.operands[0] in made and is_whole else held - {base}
            elif each.name == "llvm.load" and base is not None:
                made.update(each.results if base in held else ())
            elif each.name.startswith(_STORES):
                found.update((each,) if made.intersection(each.operands) else ())
            elif made.intersection(each.operands):
                made.update(each.results)
        return found

    def _base(self, operation: Operation) -> int | None:
        """The thread's own memory that an operation has an address of."""
        return next((self._private[each] for each in reversed(operation.operands) if each in self._private), None)

    def _staying(self, operation: Operation) -> list[int]:
        """The operands for which an operation waits where it stands."""
        if operation.name in _DECIDES:
            return operation.operands[: _DECIDES[operation.name]]
        if operation.name.startswith(_PURE) or self._base(operation) is not None:
            return []
        return operation.operands

    def _operation(self, operation: Operation) -> None:
        found = self._of(operation.operands)
        for each in found:
            self.uses.setdefault(each, set()).add(operation)
        for each in self._of(self._staying(operation)):
            self.stays.setdefault(each, set()).add(operation)
        name, results, base = operation.name, operation.results, self._base(operation)
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
