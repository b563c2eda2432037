"""A language of one expression: `relu(a * X + Y)`. Capital letters are vectors, small ones numbers; all is f32."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

FUNCTIONS: dict[str, Any] = {
    "abs": np.abs,
    "exp": np.exp,
    "max": np.maximum,
    "min": np.minimum,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "sqrt": np.sqrt,
}
"""What can be called, as numpy has it."""
_ARITY = {"max": 2, "min": 2}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


@dataclass(frozen=True)
class Expression:
    """An expression that holds nothing else than the language has."""

    text: str
    tree: ast.expr
    numbers: tuple[str, ...]
    """Its numbers, in alphabetical order."""
    vectors: tuple[str, ...]
    """Its vectors, in alphabetical order; at least one."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """What a kernel for it takes: the numbers, the vectors, and `out`, which it writes."""
        return (*self.numbers, *self.vectors, "out")

    def evaluate(self, values: dict[str, Any]) -> Any:
        """Its value by numpy, in f32."""
        return eval(compile(ast.Expression(self.tree), self.text, "eval"), {"__builtins__": {}}, FUNCTIONS | values)


def parse(text: str) -> Expression:
    """The expression that `text` spells. Raises `SyntaxError` for what is none."""
    tree = ast.parse(text, mode="eval").body
    names: set[str] = set()
    _check(tree, names)
    vectors = tuple(sorted(name for name in names if name[0].isupper()))
    if not vectors:
        raise SyntaxError("an expression without a vector; these begin with a capital letter")
    if "out" in names:
        raise SyntaxError("'out' is what the kernel writes")
    return Expression(text, tree, tuple(sorted(names - {*vectors})), vectors)


def _check(node: ast.expr, names: set[str]) -> None:
    match node:
        case ast.Name(name):
            names.add(name)
        case ast.Constant(int() | float()):
            pass
        case ast.BinOp(left, operator, right) if isinstance(operator, _OPERATORS):
            _check(left, names)
            _check(right, names)
        case ast.UnaryOp(ast.USub(), operand):
            _check(operand, names)
        case ast.Call(ast.Name(function), arguments, []) if len(arguments) == _ARITY.get(function, 1):
            if function not in FUNCTIONS:
                raise SyntaxError(f"no function is called '{function}'; there are {', '.join(FUNCTIONS)}")
            for argument in arguments:
                _check(argument, names)
        case _:
            raise SyntaxError(f"'{ast.unparse(node)}' is not in the language")
