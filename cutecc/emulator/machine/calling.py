"""How calls hand over arguments and results: by registers, or by variables in the thread's local memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.layout import size_of
from cutecc.ptx.syntax import Arguments, Function, Operand, Register, Symbol, Variable

if TYPE_CHECKING:
    from cutecc.emulator.instructions.calls import Provided
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes
    from cutecc.emulator.machine.stack import Frame

Move = Callable[["Gang", "Lanes"], None]
_Read = Callable[["Gang", "Lanes"], list["Array"]]
_Write = Callable[["Gang", "Lanes", list["Array"]], None]


def external_call(operation: Operation, function: Provided, declaration: Function) -> Move:
    """The step of a call of a function that the emulator provides."""
    results, arguments = _lists(operation, declaration)
    read = [_argument(operation, *each) for each in zip(arguments, declaration.parameters, strict=True)]
    take = [_result(operation, *each) for each in zip(results, declaration.results, strict=True)]

    def step(gang: Gang, lanes: Lanes) -> None:
        result = function(operation, gang, lanes, [each(gang, lanes)[0] for each in read])
        if result is not None:
            for each in take:
                each(gang, lanes, [result])

    return step


def moves(operation: Operation, inner: Operation, function: Function, frame: Frame | None) -> tuple[Move, Move]:
    """Copies of arguments to a function of the program, before it runs, and of its results behind that.

    `inner` is the call as the function would see it, with its names; `frame` is what the call keeps of a function that
    may be active already.
    """
    results, arguments = _lists(operation, function)
    there = [
        (_argument(operation, actual, formal), _result(inner, _symbol(formal), formal))
        for actual, formal in zip(arguments, function.parameters, strict=True)
    ]
    back = [
        (_argument(inner, _symbol(formal), formal), _result(operation, actual, formal))
        for actual, formal in zip(results, function.results, strict=True)
    ]
    if frame is None:
        return _all(there), _all(back)
    return (
        _all(there, lambda gang, lanes: frame.enter(operation, gang, lanes.mask)),
        _all(back, lambda gang, lanes: frame.leave(gang, lanes.mask)),
    )


def fits(operation: Operation, function: Function) -> bool:
    """Whether a call has as many results and arguments as a function."""
    results, arguments = _given(operation)
    return (len(results), len(arguments)) == (len(function.results), len(function.parameters))


def _all(pairs: Sequence[tuple[_Read, _Write]], between: Move | None = None) -> Move:
    """Reads all, does something, and then writes all."""

    def move(gang: Gang, lanes: Lanes) -> None:
        values = [read(gang, lanes) for read, _ in pairs]
        if between is not None:
            between(gang, lanes)
        for (_, write), value in zip(pairs, values, strict=True):
            write(gang, lanes, value)

    return move


def _lists(operation: Operation, function: Function) -> tuple[Sequence[Operand], Sequence[Operand]]:
    """What a call gives back and what it takes, as the function is declared."""
    if not fits(operation, function):
        raise operation.error(f"the call does not fit the declaration of '{function.name}'")
    return _given(operation)


def _given(operation: Operation) -> tuple[Sequence[Operand], Sequence[Operand]]:
    """The results and the arguments of a call."""
    lists = [each.items for each in operation.operands if isinstance(each, Arguments)]
    if len(lists) == 1:
        lists = [lists[0], ()] if isinstance(operation.operands[0], Arguments) else [(), lists[0]]
    results, arguments = lists if len(lists) == 2 else [(), ()]
    return results, arguments


def _argument(operation: Operation, actual: Operand, formal: Variable) -> _Read:
    """Reads what is passed for a parameter, in pieces."""
    if isinstance(actual, Symbol) and operation.symbol(actual.name)[0] == "local":
        size, count = _pieces(formal)
        address = operation.reader(actual, "u64")
        return lambda gang, lanes: [
            gang.machine.memory.load(operation, gang, lanes, "local", place, size)[0]
            for place in _places(gang, address(gang), size, count)
        ]
    read = operation.reader(actual, formal.type)
    return lambda gang, lanes: [_everywhere(gang, read(gang))]


def _result(operation: Operation, actual: Operand, formal: Variable) -> _Write:
    """Puts what is returned where it is wanted, from pieces."""
    if isinstance(actual, Symbol):
        address, size = operation.reader(actual, "u64"), _pieces(formal)[0]

        def store(gang: Gang, lanes: Lanes, values: list[Array]) -> None:
            for place, value in zip(_places(gang, address(gang), size, len(values)), values, strict=True):
                gang.machine.memory.store(operation, gang, lanes, "local", place, [value])

        return store
    write = operation.writer(actual, formal.type)
    return lambda gang, lanes, values: write(gang, lanes, values[0])


def _pieces(variable: Variable) -> tuple[int, int]:
    """Size and number of the pieces in which a parameter is copied."""
    size, total = min(variable.align, 8), size_of(variable)
    while total % size:
        size //= 2
    return size, total // size


def _symbol(variable: Variable) -> Symbol | Register:
    return Register(variable.name) if variable.space == "reg" else Symbol(variable.name)


def _places(gang: Gang, address: Array, size: int, count: int) -> list[Array]:
    """Where the pieces at an address are."""
    return [_everywhere(gang, address + np.uint64(size * number)) for number in range(count)]


def _everywhere(gang: Gang, value: Array) -> Array:
    return value if value.shape else np.broadcast_to(value, gang.shape)
