"""Arithmetic over named sizes, as the header keys `bytes` and `flops` hold it. Read through `ast`, never evaluated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping

from cutecc.errors import SourceLocation, UsageError
from cutecc.support.spelling import did_you_mean

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], object]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Pow: lambda left, right: left**right,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS: dict[str, Callable[[list[Number]], Number]] = {"min": min, "max": max}
_LARGEST = 1 << 256
_DEEPEST = 200
"""Levels of one operation in another, as the brackets that Python reads."""
_HINT = "arithmetic is made of numbers, named sizes, + - * / // **, parentheses, min and max"


def check(text: str, names: Collection[str]) -> None:
    """Raise `UsageError`, with a column into `text`, unless it is arithmetic over sizes of these names."""
    _check(_parse(text), names, text)


def evaluate(text: str, sizes: Mapping[str, int]) -> Number:
    """The value of `text`, such as `2 * M * N * K`, for these sizes.

    Raises `UsageError` as `check` does, also for a size without a value, a division by zero, or a value beyond 2**256.
    """
    tree = _parse(text)
    _check(tree, None, text)
    return _evaluate(tree, sizes, text)


def _parse(text: str) -> ast.expr:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = (error.offset if isinstance(error, SyntaxError) else None) or 1
        location = SourceLocation("arithmetic", text=text, column=column)
        raise UsageError(f"'{text}' is not arithmetic", location, hints=[_HINT]) from None
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise _error(f"more than {_DEEPEST} operations one in another", tree, text)
    return tree


def _check(node: ast.expr, names: Collection[str] | None, text: str) -> None:
    """`names` of `None` allows every name."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            pass
        case ast.Name(id=name):
            if names is not None and name not in names:
                close = did_you_mean(name, names)
                known = f"named sizes: {', '.join(names)}" if names else "no spec names a size, as f32[?N] does"
                raise _error(f"unknown size '{name}'", node, text, [*close, known])
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            _check(operand, names, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, names, text)
            _check(right, names, text)
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if name in _FUNCTIONS:
            for argument in arguments:
                _check(argument, names, text)
        case _:
            raise _error(f"'{ast.unparse(node)}' is not arithmetic", node, text, [_HINT])


def _evaluate(node: ast.expr, sizes: Mapping[str, int], text: str) -> Number:
    """The value of a tree that `_check` has passed."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in sizes:
                raise _error(f"size '{name}' has no value", node, text, [f"give it one in a spec: ?{name}=1024"])
            return sizes[name]
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_evaluate(operand, sizes, text))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name]([_evaluate(argument, sizes, text) for argument in arguments])
        case ast.BinOp(left=left, op=op, right=right):
            return _apply(type(op), _evaluate(left, sizes, text), _evaluate(right, sizes, text), node, text)
        case _:
            raise AssertionError(node)


def _apply(kind: type[ast.operator], left: Number, right: Number, node: ast.expr, text: str) -> Number:
    # A power can take forever before it turns out to be too large.
    if kind is ast.Pow and (abs(right) > 256 or abs(left) >= _LARGEST):
        raise _error("too large", node, text)
    try:
        value = _BINARY[kind](left, right)
    except ZeroDivisionError:
        raise _error("division by zero", node, text) from None
    except OverflowError:
        value = None
    if not isinstance(value, int | float) or not -_LARGEST < value < _LARGEST:
        raise _error("too large, or not a real number", node, text)
    return value


def _error(message: str, node: ast.expr, text: str, hints: list[str] | None = None) -> UsageError:
    start = len(text) - len(text.lstrip()) + node.col_offset
    length = (node.end_col_offset or node.col_offset + 1) - node.col_offset
    location = SourceLocation("arithmetic", text=text, column=start + 1, length=length)
    return UsageError(message, location, hints=hints or [])
