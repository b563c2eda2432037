"""Which values are the same, whichever branch was taken and however many rounds of a loop were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from cutecc.ir.mlir import ir
from cutecc.passes.analysis.loops import end_of

_PURE = ("arith.", "cute.", "builtin.unrealized_conversion_cast")
_WITH_MEMORY = ("cute.memref.", "cute.copy", "cute.gemm", "cute.print", "cute.mma.make_fragment", "cute.make_fragment")
"""What an operation of these makes, or finds, is another thing each time."""
_MOST_DEEP = 100
"""Operations between two values and what both are made of; longer ways are not followed."""


@dataclass(frozen=True)
class _Carried:
    """A value that a loop hands from round to round."""

    inside: ir.Value
    begins: ir.Value
    ends: ir.Value
    """What a round makes of it."""
    after: ir.Value | None
    """What it is behind the loop, where nothing else says so."""


class Equality:
    """Numbers values so that two of one number are the same.

    Operations without an effect make the same of the same. A branch yields what both of its sides do, a loop what it
    began with when no round changes it: the DSL hands the tensors that they write to through branches and loops.
    """

    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self._made: dict[tuple[object, ...], int] = {}
        """By operation and the numbers of its operands."""
        self._next = count()
        self._loops: set[ir.Operation] = set()
        """Those whose carried values have their numbers."""

    def is_passed_on(self, result: ir.Value) -> bool:
        """Whether a branch or loop has the same result whichever side is taken, and however many rounds."""
        operation, place = result.owner.operation, ir.OpResult(result).result_number
        if operation.name == "scf.if":
            return len({self.number(each) for each in yielded(operation, place)}) == 1
        begins = list(operation.operands)[3 * (operation.name == "scf.for") :]
        return place < len(begins) and self.number(result) == self.number(begins[place])

    def origin(self, value: ir.Value) -> ir.Value:
        """What `value` was before branches and loops handed it on; itself, where one of them makes it what it is."""
        while (given := self._given(value)) is not None:
            value = given
        return value

    def _given(self, value: ir.Value) -> ir.Value | None:
        """The same value, one branch or loop before."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            if (loop := _loop_of(value)) is None:
                return None
            place = ir.BlockArgument(value).arg_number
            if loop.name == "scf.while" and owner == loop.regions[1].blocks[0]:
                return _handed(loop, place)
            number = place + 2 if loop.name == "scf.for" else place
            is_counter = loop.name == "scf.for" and place == 0
            given = None if is_counter else loop.operands[number]
        elif owner.operation.name == "scf.while":
            return _handed(owner.operation, ir.OpResult(value).result_number)
        elif owner.operation.name == "scf.if":
            given = next(yielded(owner.operation, ir.OpResult(value).result_number), None)
        elif owner.operation.name == "scf.for":
            given = owner.operation.operands[3 + ir.OpResult(value).result_number]
        else:
            return None
        return given if given is not None and self.number(given) == self.number(value) else None

    def number(self, value: ir.Value) -> int:
        """The number of what `value` is."""
        return self._number(value, 0)

    def _number(self, value: ir.Value, depth: int) -> int:
        loop = _loop_of(value)
        if loop is not None and loop not in self._loops and depth <= _MOST_DEEP:
            self._number_loop(loop, depth + 1)
        if value not in self._numbers:
            self._numbers[value] = next(self._next) if depth > _MOST_DEEP else self._computed(value, depth + 1)
        return self._numbers[value]

    def _computed(self, value: ir.Value, depth: int) -> int:
        owner = value.owner
        if isinstance(owner, ir.Block):
            around, place = owner.owner.operation, ir.BlockArgument(value).arg_number
            # What a `scf.while` goes on with is what its condition hands over.
            is_handed = around.name == "scf.while" and owner == around.regions[1].blocks[0]
            return self._number(_handed(around, place), depth) if is_handed else next(self._next)
        operation, place = owner.operation, ir.OpResult(value).result_number
        if operation.name == "scf.while":
            return self._number(_handed(operation, place), depth)
        if operation.name == "scf.if":
            sides = {self._number(each, depth) for each in yielded(operation, place)}
            return sides.pop() if len(sides) == 1 else next(self._next)
        if not operation.name.startswith(_PURE) or operation.name.startswith(_WITH_MEMORY):
            return next(self._next)
        if (known := self._undone(operation, depth)) is not None:
            return known
        attributes = tuple((name, str(operation.attributes[name])) for name in operation.attributes)
        operands = [self._number(each, depth) for each in operation.operands]
        key = (operation.name, place, str(value.type), attributes, *operands)
        if key not in self._made:
            self._made[key] = next(self._next)
        return self._made[key]

    def _undone(self, operation: ir.Operation, depth: int) -> int | None:
        """Of a view's iterator or layout what it was made of, and of a view made of another's own two that other."""
        operands = list(operation.operands)
        if operation.name in ("cute.get_iter", "cute.get_layout"):
            made = _maker(operands[0], "cute.make_view")
            if made is not None and len(made.operands) == 2:
                return self._number(made.operands[operation.name == "cute.get_layout"], depth)
        if operation.name == "cute.make_view" and len(operands) == 2:
            parts = [_maker(operands[0], "cute.get_iter"), _maker(operands[1], "cute.get_layout")]
            viewed = [part.operands[0] for part in parts if part is not None]
            if len(viewed) == 2 and all(each.type == operation.results[0].type for each in viewed):
                numbers = {self._number(each, depth) for each in viewed}
                return numbers.pop() if len(numbers) == 1 else None
        return None

    def _number_loop(self, loop: ir.Operation, depth: int) -> None:
        """Give what `loop` carries the number that it begins with, where no round makes anything else of it.

        All are taken to stay as they are until a round is found to change one: that is a value of its own then, and
        what was concluded with it is looked at again.
        """
        self._loops.add(loop)
        carried = list(_carried(loop))
        begins = [self._number(each.begins, depth) for each in carried]
        numbers, loops = dict(self._numbers), set(self._loops)
        changing: dict[int, int] = {}
        found = True
        while found:
            self._numbers, self._loops = dict(numbers), set(loops)
            for index, each in enumerate(carried):
                self._numbers[each.inside] = changing.get(index, begins[index])
            staying = [index for index in range(len(carried)) if index not in changing]
            found = [index for index in staying if self._number(carried[index].ends, depth) != begins[index]]
            changing |= {index: next(self._next) for index in found}
        for index, each in enumerate(carried):
            if each.after is not None:
                self._numbers[each.after] = next(self._next) if index in changing else begins[index]


def _loop_of(value: ir.Value) -> ir.Operation | None:
    """The loop that carries `value`, in it or behind it."""
    operation = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation
    return operation if operation.name in ("scf.for", "scf.while") else None


def _carried(loop: ir.Operation) -> Iterator[_Carried]:
    operands, results = list(loop.operands), list(loop.results)
    if loop.name == "scf.for":
        insides = list(loop.regions[0].blocks[0].arguments)[1:]
        for place, (inside, begins) in enumerate(zip(insides, operands[3:], strict=True)):
            yield _Carried(inside, begins, end_of(loop.regions[0]).operands[place], results[place])
    else:
        insides = list(loop.regions[0].blocks[0].arguments)
        for place, (inside, begins) in enumerate(zip(insides, operands, strict=True)):
            yield _Carried(inside, begins, end_of(loop.regions[1]).operands[place], None)


def _handed(loop: ir.Operation, place: int) -> ir.Value:
    """What the condition of a `scf.while` hands over."""
    return end_of(loop.regions[0]).operands[1 + place]


def _maker(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation called `name` that makes `value`."""
    return None if isinstance(value.owner, ir.Block) or value.owner.operation.name != name else value.owner.operation


def yielded(operation: ir.Operation, number: int) -> Iterator[ir.Value]:
    """What the regions of `operation` yield as its result of this number."""
    for region in operation.regions:
        if len(region.blocks):
            yield end_of(region).operands[number]
