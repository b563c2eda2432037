"""Loops with `prefetch_stages` load ahead: what a turn takes by TMA is asked for turns before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.building import before
from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.ir.names import matcher
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.diagnostics import warning
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.lowering.values.integers import Predicate, compare, computed, constant_of_type
from cutecc.passes.lowering.values.loops import carrying_loop, given_if, write_copies
from cutecc.passes.registry import register

_MARK = "cutlass.pipelining"
_LOAD = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
_WAITS = (
    *("nvvm.mbarrier.test.wait", "nvvm.mbarrier.wait.parity"),
    *("nvvm.mbarrier.try_wait", "nvvm.mbarrier.try_wait.parity"),
)
_ACQUIRES = (*_WAITS, "nvvm.mbarrier.arrive.expect_tx")
"""By which a stage is waited for until it is free, and its barrier told how many bytes are to come."""
_COMPUTES = (
    *("arith.*", "math.*", "vector.*", "ub.*", "scf.if", "scf.for", "scf.yield"),
    *("llvm.getelementptr", "llvm.addrspacecast", "llvm.inttoptr", "llvm.ptrtoint", "llvm.bitcast"),
    *("llvm.extractvalue", "llvm.insertvalue", "llvm.mlir.*", "nvvm.mapa"),
    *("nvvm.elect.sync", "nvvm.shfl.sync", "nvvm.read.ptx.sreg.*"),
)
"""What gives values and does nothing else: it may be done twice, or never."""

_computes = matcher(_COMPUTES)
_acquires = matcher((*_COMPUTES, *_ACQUIRES))
_produces = matcher((*_COMPUTES, *_ACQUIRES, _LOAD))


@register
@dataclass(frozen=True)
class PipelineTmaLoops(ModulePass):
    """Issue the TMA loads of a loop with `prefetch_stages` so many turns ahead, the first of them in a loop before it.

    With the loads goes what they need: waiting for a free stage, the state of the producer. All else stays, in its
    order. A loop that cannot be cut in this way is left as it is written, which a warning says.
    """

    name: ClassVar[str] = "pipeline-tma-loops"

    def run(self, module: ir.Module) -> None:
        for _, function in device_functions(module):
            marked = [loop for loop in walk(function, "scf.for", inside_out=True) if _MARK in loop.attributes]
            for loop in limited(marked):
                turns = ir.IntegerAttr(loop.attributes[_MARK]).value
                del loop.attributes[_MARK]
                if turns > 0:
                    _pipeline(loop, turns)


@dataclass(frozen=True)
class _Part:
    """What one side does in a turn."""

    operations: Sequence[ir.Operation]
    """In their order, of those that stand in the loop's body itself."""
    carried: Sequence[int]
    """The numbers of the values that it has carried from turn to turn."""


def _pipeline(loop: ir.Operation, turns: int) -> None:
    body = _Body(loop)
    producer = body.producer()
    consumer = body.consumer(producer)
    if reason := _obstacle(body, producer, consumer):
        warning(loop, f"prefetch_stages is ignored: {reason}")
        return
    stages = body.stages(producer)
    if stages is not None and turns >= stages:
        # The turn that frees a stage would come after the one that waits for it.
        warning(loop, f"prefetch_stages={turns} is taken for {stages - 1}: of {stages} stages, one is in use")
        turns = stages - 1
    with before(loop):
        editing.replace(loop, _split(body, producer, consumer, turns))


def _obstacle(body: _Body, producer: _Part, consumer: _Part) -> str | None:
    """What keeps the loads from going ahead, if something does."""
    loads = [load for operation in producer.operations for load in walk(operation, _LOAD)]
    if not loads:
        return "nothing in the loop is loaded by TMA"
    if not all(body.taken(load.operands[0]) for load in loads):
        return "every turn loads to the same place"
    waits = [wait for operation in producer.operations for wait in walk(operation, *_WAITS)]
    if not waits:
        return "nothing before the loads waits until their stage is free"
    arrays = {base for load in loads for operand in load.operands for base in body.bases(operand)}
    if any(body.bases(wait.operands[0]) & arrays for wait in waits):
        # As in a loop that loads ahead by itself.
        return "before the loads it waits on the barriers that these complete"
    return _obstacle_in_parts(body, producer, consumer)


def _obstacle_in_parts(body: _Body, producer: _Part, consumer: _Part) -> str | None:
    """The same, of what the two parts of the loop do."""
    for operation in producer.operations:
        if others := [each.name for each in walk(operation) if not _produces(each.name)]:
            return f"what the loads take or stand in has {others[0]} in it, which stays in its turn"
    if any(operation in producer.operations for operation in consumer.operations if not _all(operation, _computes)):
        return "what else is done follows from how a stage was acquired"
    if all(_all(operation, _computes) for operation in consumer.operations):
        return "nothing in the loop uses what is loaded"
    return "there is only one stage" if body.stages(producer) == 1 else None


class _Body:
    """The body of a loop."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        block = loop.regions[0].blocks[0]
        self.counter, *self.arguments = list(block.arguments)
        *self.operations, self.end = [view.operation for view in block.operations]
        self._numbers: dict[ir.Value, int] = {argument: number for number, argument in enumerate(self.arguments)}
        self._positions = {
            editing.address_of(each): position
            for position, operation in enumerate(self.operations)
            for each in walk(operation)
        }

    def producer(self) -> _Part:
        """The loads, the acquiring of their stages, and what both are computed from."""
        loads = [position for position, operation in enumerate(self.operations) if any(walk(operation, _LOAD))]
        counters: set[ir.Value] = {self.counter, *(self.arguments[number] for number in self._part(loads).carried)}
        before = range(max(loads, default=0))
        return self._part([*loads, *(each for each in before if self._is_acquiring(self.operations[each], counters))])

    def consumer(self, producer: _Part) -> _Part:
        """Whatever else does something or is carried from turn to turn, and what it is computed from."""
        acting = [
            position
            for position, operation in enumerate(self.operations)
            if not _all(operation, _computes) and operation not in producer.operations
        ]
        return self._part(acting, set(self._numbers.values()).difference(producer.carried))

    def stages(self, producer: _Part) -> int | None:
        """How many places the turns load to, the fewest of any load; `None` where the body does not show it."""
        found: list[int] = []
        for load in (load for operation in producer.operations for load in walk(operation, _LOAD)):
            place = load.operands[0]
            counted = [self._numbers[each] for each in self.taken(place) if each in self._numbers]
            found += [stages for number in counted for stages in self._begins_again(number)]
            found += [stages for each in self._makers(place) if (stages := _modulus(each))]
        return min(found, default=None)

    def _begins_again(self, number: int) -> list[int]:
        """What the number of a value carried is compared with when it has been counted up by one."""
        next_turn = self._part([], [number]).operations
        return [
            end
            for compared in (each for operation in next_turn for each in walk(operation, "arith.cmpi"))
            if compared.attributes["predicate"].value == Predicate.EQUAL
            and (end := constant_of(compared.operands[1]))
            and self._position(counted := compared.operands[0]) is not None
            and _maker(counted).name == "arith.addi"
            and _maker(counted).operands[0] == self.arguments[number]
            and constant_of(_maker(counted).operands[1]) == 1
        ]

    def taken(self, value: ir.Value) -> set[ir.Value]:
        """What a value of one turn is computed from of what differs between turns: the counter, values carried."""
        return {each for each in self._leaves(value) if each == self.counter or each in self._numbers}

    def bases(self, value: ir.Value) -> set[ir.Value]:
        """The pointers from before the loop that a value is computed from: one stands for all of an array."""
        return {each for each in self._leaves(value) - self.taken(value) if str(each.type).startswith("!llvm.ptr")}

    def _makers(self, value: ir.Value) -> list[ir.Operation]:
        """The operations of the body that a value of one turn is computed by."""
        found: dict[int, ir.Operation] = {}
        pending = [value]
        while pending:
            value = pending.pop()
            if self._position(value) is not None and (address := editing.address_of(_maker(value))) not in found:
                found[address] = _maker(value)
                pending += _read(_maker(value))
        return list(found.values())

    def _leaves(self, value: ir.Value) -> set[ir.Value]:
        """All that no operation of the body makes of what a value of one turn is computed from."""
        read = {each for operation in self._makers(value) for each in _read(operation)} | {value}
        return {each for each in read if self._position(each) is None}

    def _is_acquiring(self, operation: ir.Operation, counters: set[ir.Value]) -> bool:
        """Whether all that an operation does is to wait for, or announce, stages that the loads' `counters` count."""
        stages = [self.taken(each.operands[0]) for each in walk(operation, *_ACQUIRES)]
        return _all(operation, _acquires) and bool(stages) and all(each and each <= counters for each in stages)

    def _part(self, positions: Iterable[int], carried: Iterable[int] = ()) -> _Part:
        """The operations at `positions` and the values carried as `carried`, with all that these are computed from."""
        found, numbers = set(positions), set(carried)
        pending = [value for position in found for value in _read(self.operations[position])]
        pending += [self.end.operands[number] for number in numbers]
        while pending:
            value = pending.pop()
            number, position = self._numbers.get(value), self._position(value)
            if number is not None and number not in numbers:
                numbers.add(number)
                pending.append(self.end.operands[number])
            elif position is not None and position not in found:
                found.add(position)
                pending += _read(self.operations[position])
        return _Part([self.operations[position] for position in sorted(found)], sorted(numbers))

    def _position(self, value: ir.Value) -> int | None:
        """The position of the operation in the body that makes a value, or holds what does."""
        return self._positions.get(editing.address_of(_maker(value)))


def _split(body: _Body, producer: _Part, consumer: _Part, turns: int) -> Sequence[ir.Value]:
    """Write a loop that loads for the first turns, and one that uses and loads ahead; get what the whole results in."""
    begin, end, step, *initial = list(body.loop.operands)
    ahead = _times(step, turns)
    first_end = computed("arith.minsi", computed("arith.addi", begin, ahead), end)

    def load(counter: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        return _write(body, producer, counter, carried)

    first = carrying_loop([begin, first_end, step], [initial[number] for number in producer.carried], load)

    def use_and_load(counter: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        state, own = carried[: len(producer.carried)], carried[len(producer.carried) :]
        # The counter is below the end: their distance has no sign, and no sum overflows.
        more = compare(Predicate.ABOVE, computed("arith.subi", end, counter), ahead)
        state = given_if(more, lambda: load(computed("arith.addi", counter, ahead), state), state)
        return [*state, *_write(body, consumer, counter, own)]

    own = [initial[number] for number in consumer.carried]
    hints = {name: body.loop.attributes[name] for name in body.loop.attributes}
    rest = carrying_loop([begin, end, step], [*first, *own], use_and_load, hints)
    # What both have carried is the same in the end.
    by_number = dict(zip([*producer.carried, *consumer.carried], rest, strict=True))
    return [by_number[number] for number in range(len(initial))]


def _write(body: _Body, part: _Part, counter: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
    """Write one turn of a part; get what it has carried on."""
    new: dict[ir.Value, ir.Value] = {body.counter: counter}
    new |= {body.arguments[number]: each for number, each in zip(part.carried, carried, strict=True)}
    write_copies(part.operations, new)
    ends = [body.end.operands[number] for number in part.carried]
    return [new.get(each, each) for each in ends]


def _modulus(operation: ir.Operation) -> int | None:
    """By what known number the remainder is taken here, if it is."""
    if operation.name in ("arith.remsi", "arith.remui"):
        return constant_of(operation.operands[1])
    if operation.name == "arith.andi" and (mask := constant_of(operation.operands[1])):
        return mask + 1
    return None


def _times(step: ir.Value, turns: int) -> ir.Value:
    """How far the counter goes in so many turns."""
    if (known := constant_of(step)) is not None:
        return constant_of_type(known * turns, step.type)
    return computed("arith.muli", step, constant_of_type(turns, step.type))


def _read(operation: ir.Operation) -> list[ir.Value]:
    """All operands of an operation, and of what is inside."""
    return [operand for each in walk(operation) for operand in each.operands]


def _maker(value: ir.Value) -> ir.Operation:
    """The operation that a value is a result of, or an argument in a region of."""
    return value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation


def _all(operation: ir.Operation, test: Callable[[str], bool]) -> bool:
    """Whether the names of an operation, and of all inside it, pass a test."""
    return all(test(each.name) for each in walk(operation))
