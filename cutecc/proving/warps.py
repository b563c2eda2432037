"""A warp that goes through a kernel, from one event to the next."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod

from cutecc.errors import SourceLocation
from cutecc.proving.arithmetic import Code, compiled, is_of_launch, shared_base
from cutecc.proving.demands import carried_values
from cutecc.proving.kernel import Block, Kernel, Operation, all_operations, number_of, operations_inside
from cutecc.proving.loops import Loops, loops_of
from cutecc.proving.numbers import Numbers
from cutecc.proving.polls import Polls, polls_of
from cutecc.proving.skeleton import STRUCTURED, Skeleton, is_event, is_plain_access
from cutecc.proving.symbols import symbols_of
from cutecc.proving.values import UNKNOWN, WARP, Lanes, Linear, Symbol, Value, add, compare, select

ALL = (1 << WARP) - 1
"""The mask of a whole warp."""


class NotKnown(Exception):
    """Something decides that is not known: whether it comes to an event, or at which address."""

    def __init__(self, what: str, operation: Operation | None, location: SourceLocation | None = None) -> None:
        super().__init__(what)
        self.location = location if operation is None else operation.location

    def __reduce__(self) -> tuple[object, ...]:
        return NotKnown, (str(self), None, self.location)


@dataclass(eq=False, slots=True)
class Step:
    """Arithmetic, and the operation behind it: an event, a branch, a loop, or the end of a block."""

    code: Code | None
    operation: Operation
    blocks: list[list[Step]]
    moves: list[tuple[int, ...]]
    """Of a branch: its results with what each block hands on."""
    has_events: bool
    synchronises: bool
    """Whether there are events inside that are more than accesses of memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """What all warps go through."""

    kernel: Kernel
    skeleton: Skeleton
    steps: list[Step]
    symbols: dict[int, Symbol]
    constants: dict[int, Value]
    loops: Loops
    values: int
    """How many there are."""
    polls: Polls


def program_of(skeleton: Skeleton) -> Program:
    """The skeleton, ready to be gone through."""
    kernel = skeleton.kernel
    symbols = {value: symbol for value, symbol in symbols_of(skeleton).items() if value in skeleton.needed}
    compiling = _Compiling(skeleton, symbols)
    steps = compiling.block(kernel.body)
    compiling.constants.update(kernel.constants)
    polls = polls_of(kernel, functools.partial(is_event, kernel))
    loops = loops_of(skeleton, symbols)
    return Program(kernel, skeleton, steps, symbols, compiling.constants, loops, len(kernel.types), polls)


class _Compiling:
    def __init__(self, skeleton: Skeleton, symbols: dict[int, Symbol]) -> None:
        self._skeleton = skeleton
        self._symbols = symbols
        self._carried = carried_values(skeleton)
        self._of_place = _of_place(skeleton.kernel, symbols)
        self.constants: dict[int, Value] = {}

    def block(self, block: Block) -> list[Step]:
        skeleton, kernel = self._skeleton, self._skeleton.kernel
        steps: list[Step] = []
        waiting: list[Operation] = []
        # What a warp is comes first: so is known which branches it will not take.
        for operation in sorted(block.operations, key=lambda each: each not in self._of_place):
            is_step = operation in skeleton.kept and (operation.name in STRUCTURED or is_event(kernel, operation))
            if not is_step and operation is not block.operations[-1]:
                if not self._is_settled(operation):
                    waiting.append(operation)
                continue
            inner = [self.block(each) for each in operation.blocks] if is_step else []
            code = compiled(waiting, kernel, self._carried) if waiting else None
            events = [each for each in operations_inside(operation) if is_event(kernel, each)] if is_step else []
            synchronises = not all(map(is_plain_access, events))
            steps.append(Step(code, operation, inner, self._moves(operation), bool(events), synchronises))
            waiting = []
        return steps

    def _is_settled(self, operation: Operation) -> bool:
        """Whether there is nothing to do: nobody needs it, or it is the same throughout."""
        results = [each for each in operation.results if each in self._skeleton.needed]
        if operation.name == "arith.constant" and results:
            value = number_of(operation.attributes["value"], self._skeleton.kernel.types[results[0]])
            if value is not UNKNOWN:
                self.constants[results[0]] = value
            return value is not UNKNOWN
        return not results or all(each in self._symbols for each in results)

    def _moves(self, operation: Operation) -> list[tuple[int, ...]]:
        if operation.name != "scf.if":
            return []
        ends = [block.operations[-1].operands for block in operation.blocks]
        moves = zip(operation.results, *ends, strict=True) if operation.results else ()
        return [move for move in moves if move[0] in self._skeleton.needed]


def _of_place(kernel: Kernel, symbols: Collection[int]) -> set[Operation]:
    """Arithmetic on constants, and on which warp of the cluster it is."""
    found: set[Operation] = set()
    known: set[int] = set()
    for each in all_operations(kernel.body):
        is_given = each.blocks or is_event(kernel, each) or is_of_launch(each, kernel)
        is_result = bool(each.results) and not any(value in symbols for value in each.results)
        if is_result and not is_given and known.issuperset(each.operands):
            found.add(each)
            known.update(each.results)
    return found


@dataclass(eq=False, slots=True)
class Frame:
    """A block that a warp is in."""

    steps: Sequence[Step]
    step: Step | None
    """The branch or loop whose block it is; `None` for the kernel's own."""
    outer: int
    """The mask outside."""
    at: int = 0
    which: int = 0
    """The number of the block."""
    condition: Value = 0
    """Of a branch."""
    counter: Value = 0
    """Of `scf.for`."""
    is_head: bool = False
    """Whether the next turn of the loop has not begun."""

    @property
    def is_branch(self) -> bool:
        """Whether it is a block of `scf.if`."""
        return self.step is not None and self.step.operation.name == "scf.if"

    @property
    def goes_on(self) -> bool:
        """Whether other blocks of the branch or loop, or this one once more, may come behind it."""
        if not self.is_branch:
            return self.step is not None
        return self.which == 0 and type(self.condition) is not int

    def copy(self) -> Frame:
        return Frame(
            self.steps, self.step, self.outer, self.at, self.which, self.condition, self.counter, self.is_head
        )  # fmt: skip


@dataclass(eq=False)
class Warp:
    """Where a warp is, and its values."""

    program: Program
    numbers: Numbers
    block: int
    """Its block's number in the cluster."""
    number: int
    """Its own in the block."""
    values: list[Value]
    mask: int = ALL
    frames: list[Frame] = field(default_factory=list[Frame])
    event: Operation | None = None
    """What it comes to next; a loop stands for its next turn. `None` when it has exited."""
    is_between: bool = False
    """Whether it is on the way to its next event."""
    tile: int | None = None
    """Of a loop over tiles, which one it is at."""
    next_tile: int | None = None
    """The last one of which it has asked whether it is there."""
    looks: frozenset[tuple[int, int, int]] = frozenset()
    """Looks ahead of waits: mbarriers, parities, and how many phases are complete for who finds the phase over."""

    @property
    def kernel(self) -> Kernel:
        return self.program.kernel

    @property
    def shared_base(self) -> int:
        return shared_base(self.block)

    @property
    def place(self) -> tuple[tuple[int, int, bool], ...]:
        """Where in the program it is."""
        return tuple((frame.at, frame.which, frame.is_head) for frame in self.frames)

    @property
    def is_in_doubt(self) -> bool:
        """Whether it is in a branch of which is not known whether it is taken."""
        return any(frame.condition is UNKNOWN for frame in self.frames)

    @property
    def active(self) -> int:
        """How many lanes take part in the event."""
        return self.mask.bit_count()

    def copy(self, numbers: Numbers) -> Warp:
        """The same place and values, in another run with these numbers."""
        frames = [frame.copy() for frame in self.frames]
        return Warp(
            self.program, numbers, self.block, self.number, [*self.values], self.mask, frames, self.event,
            self.is_between, self.tile, self.next_tile, self.looks,
        )  # fmt: skip

    def begin(self) -> None:
        """Go to the first event."""
        self.frames = [Frame(self.program.steps, None, ALL)]
        self.is_between = True

    def proceed(self) -> None:
        """Go from the event, which has happened, to the next. What raises `Undecided` can be called again."""
        numbers = self.numbers
        numbers.tile, numbers.asked_tile, numbers.asker = self.tile, None, (self.block, self.number)
        if not self.is_between:
            frame = self.frames[-1]
            if frame.is_head:
                self._turn(frame)
            else:
                frame.at += 1
            self.is_between = True
        self._go()
        self.is_between = False
        if numbers.asked_tile is not None:
            self.next_tile = numbers.asked_tile

    def given(self, index: int) -> Value:
        """An operand of the event."""
        assert self.event is not None
        return self.values[self.event.operands[index]]

    def _go(self) -> None:
        while self.frames:
            frame = self.frames[-1]
            step = frame.steps[frame.at]
            if step.code is not None:
                step.code(self.values, self)
            if frame.at == len(frame.steps) - 1:
                self._end(frame)
            elif step.operation.name == "scf.if":
                self._branch(step)
            elif step.operation in self.program.skeleton.spins:
                raise NotKnown("a loop waits for what another thread writes in memory", step.operation)
            elif step.operation.name in STRUCTURED:
                self._enter(step)
            else:
                self.event = step.operation
                return
            if self.frames and self.frames[-1].is_head:
                owner = self.frames[-1].step
                assert owner is not None
                self.event = owner.operation
                return
        self.event = None

    def _end(self, frame: Frame) -> None:
        """A block has been gone through."""
        step = frame.step
        if step is None:
            self.frames.pop()
        elif step.operation.name == "scf.if":
            self._leave_branch(frame, step)
        elif step.operation.name == "scf.for":
            self._carry(frame.steps[-1].operation.operands, step.operation.blocks[0].arguments[1:])
            frame.counter = add(frame.counter, self.values[step.operation.operands[2]])
            frame.is_head = True
        elif frame.which == 0:
            condition, *handed = frame.steps[-1].operation.operands
            if self.numbers.asked_tile is not None:
                self.next_tile = self.numbers.asked_tile
            if self._decided(self.values[condition], step.operation):
                self.tile = self.next_tile
                self._carry(handed, step.operation.blocks[1].arguments)
                frame.steps, frame.at, frame.which = step.blocks[1], 0, 1
            else:
                self.tile = None
                self._leave(handed, step)
        else:
            self._carry(frame.steps[-1].operation.operands, step.operation.blocks[0].arguments)
            frame.steps, frame.at, frame.which, frame.is_head = step.blocks[0], 0, 0, True

    def _carry(self, given: Sequence[int], to: Sequence[int]) -> None:
        found = [self.values[each] for each in given]
        for target, value in zip(to, found, strict=True):
            self.values[target] = value

    def _leave(self, handed: Sequence[int], step: Step) -> None:
        """Go on behind a loop."""
        self._carry(handed, step.operation.results)
        self.frames.pop()
        self.frames[-1].at += 1

    def _decided(self, condition: Value, operation: Operation) -> int:
        if isinstance(condition, Lanes):
            raise NotKnown("lanes of a warp take different numbers of turns", operation)
        if type(condition) is not int:
            raise NotKnown("how many turns the loop takes is not known", operation)
        return condition

    def _enter(self, step: Step) -> None:
        operation = step.operation
        frame = Frame(step.blocks[0], step, self.mask, is_head=True)
        if operation.name == "scf.for":
            frame.counter = self.values[operation.operands[0]]
            self._carry(operation.operands[3:], operation.blocks[0].arguments[1:])
        else:
            self._carry(operation.operands, operation.blocks[0].arguments)
        self.frames.append(frame)

    def _turn(self, frame: Frame) -> None:
        """The next turn of a loop, or its end."""
        step = frame.step
        assert step is not None
        goes_on = 1
        if step.operation.name == "scf.for":
            (body,) = step.operation.blocks
            end = self.values[step.operation.operands[1]]
            # Of a loop over the grid that asks which tile comes next.
            self.numbers.asked_tile, asked = None, self.numbers.asked_tile
            self.numbers.is_own = True
            try:
                goes_on = self._decided(compare("slt", frame.counter, end, self.numbers), step.operation)
            finally:
                self.numbers.is_own = False
            if self.numbers.asked_tile is not None:
                self.next_tile = self.numbers.asked_tile
                self.tile = self.numbers.tile = self.next_tile if goes_on else None
            self.numbers.asked_tile = self.numbers.asked_tile if self.numbers.asked_tile is not None else asked
            if goes_on:
                self.values[body.arguments[0]] = frame.counter
            else:
                self._leave(body.arguments[1:], step)
        frame.at, frame.is_head = 0, False

    def _branch(self, step: Step) -> None:
        condition = self.values[step.operation.operands[0]]
        if not isinstance(condition, (int, Lanes)):
            # All lanes go through both blocks. What they access there they may access: who is ordered behind these
            # places is ordered behind the accesses, whether they are made or not, since nobody waits for them alone.
            # A collision with one says nothing, and is not told as a race.
            condition = UNKNOWN
            if step.synchronises:
                raise NotKnown("whether the branch is taken is not known", step.operation)
        frame = Frame(step.blocks[0], step, self.mask, condition=condition)
        self.frames.append(frame)
        self.mask = frame.outer & self._holds(condition)
        if not self.mask:
            self._other(frame, step)

    def _other(self, frame: Frame, step: Step) -> None:
        """The other block of a branch, for who takes it."""
        fails = ALL if frame.condition is UNKNOWN else ~self._holds(frame.condition)
        self.mask = frame.outer & fails
        if len(step.blocks) > 1 and self.mask:
            frame.steps, frame.at, frame.which = step.blocks[1], 0, 1
        else:
            self._join(frame, step)

    def _leave_branch(self, frame: Frame, step: Step) -> None:
        if frame.which == 0:
            self._other(frame, step)
        else:
            self._join(frame, step)

    def _join(self, frame: Frame, step: Step) -> None:
        """All lanes go on together."""
        holds = frame.outer & self._holds(frame.condition)
        for result, *ends in step.moves:
            if frame.condition is not UNKNOWN and holds in (0, frame.outer):
                self.values[result] = self.values[ends[0 if holds else 1]]
            else:
                self.values[result] = select(frame.condition, *(self.values[end] for end in ends))
        self.mask = frame.outer
        self.frames.pop()
        self.frames[-1].at += 1

    @staticmethod
    def _holds(condition: Value) -> int:
        """The lanes for which a condition holds; all where it is not known."""
        if isinstance(condition, Lanes):
            return sum(1 << lane for lane, each in enumerate(condition) if each)
        return ALL if condition is UNKNOWN or condition else 0


def tensor_map(argument: int) -> Symbol:
    """The address of the tensor map that this argument holds."""
    return Symbol(f"tensor map {argument}")


def make_warps(program: Program, numbers: Numbers) -> list[Warp]:
    """The warps of a cluster's blocks, each before its first event."""
    kernel = program.kernel
    values: list[Value] = [UNKNOWN] * program.values
    for number, constant in program.constants.items():
        values[number] = constant
    for number, symbol in program.symbols.items():
        values[number] = Linear(((symbol, 1),))
    for number in kernel.boxes.keys() - program.constants.keys():
        # Which tensor map a copy takes is told by its address.
        values[number] = Linear(((tensor_map(number), 1),))
    blocks = prod(kernel.cluster)
    return [
        Warp(program, numbers, block, number, [*values])
        for block in range(blocks)
        for number in range(-(-prod(kernel.block) // WARP))
    ]
