"""Operations of a module as edits see them, and values that stand for those that edits take away.

Where a value goes that others use, a cast without an operand stands for it, `builtin.unrealized_conversion_cast to
TYPE`, at the start of the function: no pass knows what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from cutecc.ir.building import at_start
from cutecc.ir.editing import address_of
from cutecc.ir.mlir import builtin, ir

CAST = "builtin.unrealized_conversion_cast"
PLACEHOLDER = f"{CAST} to "
"""Begins what is printed for one, behind its name."""
HOLDERS = ("builtin.module", "gpu.module")
"""Operations whose body is a list without a terminator."""


@dataclass(frozen=True)
class Kind:
    """A kind of edit."""

    name: str
    """What the user is told: `operations`."""
    sites: Callable[[ir.Module], list[Any]]
    """What it could be done to."""
    apply: Callable[[ir.Module, list[Any], Collection[int]], None]
    """Does it to some of the sites."""
    incomplete: bool = False
    """Whether it leaves operations on which the bindings abort, until a parser has put defaults into them."""


def operations_of(module: ir.Module) -> list[ir.Operation]:
    """All operations but the module, in the order of the text."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:]


def is_placeholder(operation: ir.Operation) -> bool:
    """Whether it only stands for a value."""
    return operation.name == CAST and not len(operation.operands)


def is_used(value: ir.Value) -> bool:
    """Whether some operation has it as an operand."""
    return any(True for _ in value.uses)


def function_of(operation: ir.Operation) -> ir.Operation:
    """The outermost operation around `operation`, itself included, that is no list of others."""
    while (parent := operation.parent) is not None and parent.name not in HOLDERS:
        operation = parent
    return operation


class Placeholders:
    """Values that stand for those that are taken away, one of each type in a function."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ir.Type], ir.Value] = {}

    def instead_of(self, value: ir.Value, at: ir.Operation) -> None:
        """Have users of `value`, which is of the function that `at` is in, use a placeholder."""
        if is_used(value):
            value.replace_all_uses_with(self._of(value.type, at))

    def erase(self, operation: ir.Operation) -> None:
        """Take `operation` out, with all that is inside it."""
        for result in operation.results:
            self.instead_of(result, operation)
        operation.erase()

    def _of(self, type: ir.Type, at: ir.Operation) -> ir.Value:
        function = function_of(at)
        key = (address_of(function), type)
        if key not in self._known:
            entry = function.regions[0].blocks[0]
            for each in entry.operations:
                inner = each.operation
                if not is_placeholder(inner):
                    break
                if inner.results[0].type == type:
                    self._known[key] = inner.results[0]
                    return self._known[key]
            with at_start(entry):
                self._known[key] = builtin.unrealized_conversion_cast([type], [])
        return self._known[key]


def sweep(module: ir.Module) -> None:
    """Take out placeholders that nobody uses."""
    for operation in reversed(operations_of(module)):
        if is_placeholder(operation) and not is_used(operation.results[0]):
            operation.erase()
