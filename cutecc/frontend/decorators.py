"""Lets a host function stand below `@cutecc.jit`: the DSL takes every decorator called `jit` for its own."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Generator, Mapping
from typing import Any

from cutecc.ir.mlir import ir

_OURS = "cutecc.jit_function"
"""The module that defines the decorator."""
_context: Any = ir.Context
_insertion_point: Any = ir.InsertionPoint


@contextlib.contextmanager
def own_decorators(namespace: Mapping[str, Any]) -> Generator[None]:
    """Has the DSL look past `@cutecc.jit`, or take it for `@cute.jit` where that is missing; puts everything back.

    `namespace` is that of the function's module, by which the decorators are recognized.
    """
    preprocessor: Any = importlib.import_module("cutlass.base_dsl.ast_preprocessor").DSLPreprocessor
    original = getattr(preprocessor, "get_dsl_decorator_index", None)
    if original is None:
        yield  # another version of the DSL, which has its own way
        return

    def index(self: Any, decorators: list[ast.expr]) -> Any:
        theirs = [place for place, each in enumerate(decorators) if not _is_ours(each, namespace)]
        found = original(self, [decorators[place] for place in theirs])
        if found is None and len(theirs) < len(decorators):
            return len(decorators) - 1
        return theirs[found] if type(found) is int else found

    preprocessor.get_dsl_decorator_index = index
    try:
        yield
    finally:
        preprocessor.get_dsl_decorator_index = original


def is_tracing() -> bool:
    """Whether a trace of the DSL's, or a pass that builds operations, is what calls in this thread."""
    # Asked first, as the answer takes 60 ns and no exception.
    if _context.current is None:
        return False
    try:
        return _insertion_point.current is not None
    except ValueError:
        return False


def _is_ours(decorator: ast.expr, namespace: Mapping[str, Any]) -> bool:
    expression = decorator.func if isinstance(decorator, ast.Call) else decorator
    names: list[str] = []
    while isinstance(expression, ast.Attribute):
        names.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return False
    value = namespace.get(expression.id)
    for name in reversed(names):
        value = getattr(value, name, None)
    return getattr(value, "__module__", None) == _OURS
