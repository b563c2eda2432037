"""Has the trace know which line of the user's an operation of an epilogue was written in.

A kernel works through an epilogue's steps itself; the function that described them has long returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import TypeVar

from cutecc.support.locations import Frame

_Result = TypeVar("_Result")


def called_from(place: Frame | None, function: str, compute: Callable[[], _Result]) -> _Result:
    """What `compute` gives when the user's `function` calls it at `place`, as far as a trace can see."""
    if place is None or place.line < 1:
        return compute()
    return eval(_call(place, function or "<epilogue>"), {"__name__": function, "compute": compute})


@cache
def _call(place: Frame, function: str) -> CodeType:
    """The call of `compute` at that place. A trace knows code by its identity: it is made once."""
    tree = ast.parse("compute()", mode="eval")
    column = max(place.column - 1, 0)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.lineno = node.end_lineno = place.line
            node.col_offset = node.end_col_offset = column
    return compile(tree, place.file, "eval").replace(co_name=function, co_qualname=function)
