"""Evaluates what a layout expression is lowered to: straight-line integer arithmetic on structs of leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wheel_oracle import Leaves, Undefined

from cutecc.ir.mlir import ir

# A struct is a list, a missing value `None`, an integer or an address an `int`, kept in the signed range of its width.
_TOKEN = re.compile(r"struct<\(|\)>|i\d+|ptr<\d+>|ptr|[, ]+")


def call(function: ir.Operation, operands: Sequence[str], results: Sequence[str], leaves: Leaves) -> Leaves:
    """The leaves of the results, in the order of their texts, given those of the operands in the order of theirs.

    `operands` and `results` are the types before lowering. Raises `Undefined`.
    """
    block = function.regions[0].blocks[0]
    remaining = iter(leaves)
    arguments = [
        _filled(_shape(str(argument.type)), operand, remaining)
        for argument, operand in zip(block.arguments, operands, strict=True)
    ]
    if next(remaining, None) is not None:
        raise ValueError(f"more leaves than {operands} have: {leaves}")
    names: dict[ir.Value, Any] = dict(zip(block.arguments, arguments, strict=True))
    returned = _run(block, names)
    flat = list(_flat([_in_order_of_text(value, text) for value, text in zip(returned, results, strict=True)]))
    if None in flat:
        raise Undefined("the result has an undefined leaf")
    return tuple(flat)


def _shape(type_: str) -> Any:
    """The lists of a struct's type, with `0` for each leaf."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(type_.replace("!llvm.", "")):
        if token == "struct<(":
            stack.append([])
        elif token == ")>":
            inner = stack.pop()
            stack[-1].append(inner)
        elif token.strip(", "):
            stack[-1].append(0)
    return stack[0][0]


def _filled(shape: Any, text: str, leaves: Iterator[int]) -> Any:
    swapped = _in_order_of_text(shape, text)

    def fill(node: Any) -> Any:
        if not isinstance(node, list):
            try:
                return next(leaves)
            except StopIteration:
                raise ValueError(f"{text} has more leaves than were given") from None
        return [fill(inner) for inner in node]

    return _in_order_of_text(fill(swapped), text)


def _in_order_of_text(value: Any, text: str) -> Any:
    # The struct of a composed layout holds the outer layout, which the text names last, first: its own inverse.
    if not isinstance(value, list):
        return value
    if text.startswith("!cute.composed_layout"):
        return value[::-1]
    if text.startswith("!cute.memref") and " o " in text:
        pointer, layout = value
        return [pointer, layout[::-1]]
    return value


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for inner in value:
            yield from _flat(inner)
    else:
        yield value


def _run(block: ir.Block, names: dict[ir.Value, Any]) -> list[Any]:
    """The operands of the block's terminator."""
    for view in block.operations:
        operation = view.operation
        name = operation.name
        inputs = [names[operand] for operand in operation.operands]
        if name in ("func.return", "scf.yield"):
            return inputs
        if name == "scf.if":
            (condition,) = inputs
            if condition is None:
                raise Undefined("a branch on an undefined value")
            produced = _run(operation.regions[0 if condition else 1].blocks[0], names)
            names.update(zip(operation.results, produced, strict=True))
            continue
        (result,) = operation.results
        names[result] = _value(operation, name, inputs, str(result.type))
    raise AssertionError("a block without a terminator")


def _value(operation: ir.Operation, name: str, inputs: list[Any], type_: str) -> Any:
    if name == "ub.poison":
        return _poison(type_)
    if name == "llvm.extractvalue":
        value = inputs[0]
        for index in _position(operation):
            value = value[index]
        return value
    if name == "llvm.insertvalue":
        return _inserted(inputs[0], inputs[1], _position(operation))
    if name == "arith.constant":
        return _wrapped(int(operation.attributes["value"].value), type_)
    if name == "builtin.unrealized_conversion_cast":
        # Of a static number of which it wants the value, the wheel leaves the cast from a struct without members.
        return inputs[0] if isinstance(inputs[0], list) == type_.startswith("!llvm.struct") else None
    if name == "arith.select":
        condition, first, second = inputs
        return None if condition is None else first if condition else second
    if None in inputs:
        return None
    if name == "arith.cmpi":
        left, right = inputs
        return _compared(int(operation.attributes["predicate"].value), left, right, str(operation.operands[0].type))
    if name == "llvm.getelementptr":
        return _address(operation, inputs)
    if name in ("arith.extui", "arith.index_castui"):
        return _wrapped(_unsigned(inputs[0], str(operation.operands[0].type)), type_)
    rule = _RULES.get(name)
    if rule is None:
        raise NotImplementedError(f"{name} after lowering")
    exact = rule(*inputs)
    value = _wrapped(exact, type_)
    if (
        value != exact
        and "overflowFlags" in operation.attributes
        and "nsw" in str(operation.attributes["overflowFlags"])
    ):
        raise Undefined(f"{name} of {inputs} overflows {type_}")
    return value


def _position(operation: ir.Operation) -> list[int]:
    return list(operation.attributes["position"])


def _poison(type_: str) -> Any:
    def emptied(node: Any) -> Any:
        return [emptied(inner) for inner in node] if isinstance(node, list) else None

    return emptied(_shape(type_))


def _inserted(whole: Any, part: Any, position: Sequence[int]) -> Any:
    if not position:
        return part
    copy = list(whole)
    copy[position[0]] = _inserted(copy[position[0]], part, position[1:])
    return copy


def _width(type_: str) -> int:
    return 64 if type_ == "index" or not type_.startswith("i") else int(type_[1:])


def _wrapped(value: int, type_: str) -> int:
    width = _width(type_)
    if width == 1:
        return value & 1
    return (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def _unsigned(value: int, type_: str) -> int:
    return value % (1 << _width(type_))


def _address(operation: ir.Operation, inputs: list[int]) -> int:
    element = re.search(r"-> !llvm\.ptr(?:<\d+>)?, !?(?:llvm\.)?[a-z]+(\d+)", str(operation))
    fixed = list(operation.attributes["rawConstantIndices"])
    if element is None or len(fixed) != 1:
        raise NotImplementedError(f"{operation} after lowering")
    index = inputs[1] if len(inputs) > 1 else fixed[0]
    return inputs[0] + index * (int(element[1]) // 8)


def _compared(predicate: int, left: int, right: int, type_: str) -> int:
    if predicate >= 6:
        left, right, predicate = _unsigned(left, type_), _unsigned(right, type_), predicate - 4
    return int((left == right, left != right, left < right, left <= right, left > right, left >= right)[predicate])


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise Undefined(f"{left} is divided by zero")
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


_RULES: dict[str, Callable[..., int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divsi": _quotient,
    "arith.remsi": lambda left, right: left - _quotient(left, right) * right,
    "arith.ceildivsi": lambda left, right: -_floor(-left, right),
    "arith.floordivsi": lambda left, right: _floor(left, right),
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": lambda left, right: left & right,
    "arith.ori": lambda left, right: left | right,
    "arith.xori": lambda left, right: left ^ right,
    "arith.shli": lambda left, right: left << right,
    "arith.shrsi": lambda left, right: left >> right,
    # Of addresses and offsets, which are not negative.
    "arith.shrui": lambda left, right: left >> right,
    "arith.extsi": lambda value: value,
    "arith.trunci": lambda value: value,
    "arith.index_cast": lambda value: value,
    "math.absi": lambda value: abs(value),
    "llvm.ptrtoint": lambda value: value,
    "llvm.inttoptr": lambda value: value,
}


def _floor(left: int, right: int) -> int:
    if right == 0:
        raise Undefined(f"{left} is divided by zero")
    return left // right
