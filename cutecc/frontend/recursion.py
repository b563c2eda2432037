"""Ends a trace that calls itself without end, while there is stack left to say so.

Whether a value that only the GPU knows ends a recursion is not known while it is traced. Python's own limit may be hit
in code that the bindings call from C++, which ends the process.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

from cutecc.frontend.installed import is_installed, is_library

_MOST_CALLS = 20
"""Of one function of the user's in each other. What recurses over a layout's modes stays far below."""


@contextlib.contextmanager
def bounded_recursion() -> Generator[None]:
    """Has the DSL raise `RecursionError` from the user's code at half of Python's limit, and puts everything back."""
    ir: Any = importlib.import_module("cutlass._mlir.ir")
    build = ir.OpView.__init__
    depth = sys.getrecursionlimit() // 2

    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
        except ValueError:
            pass
        else:
            _check_stack()
        build(self, *args, **kwargs)

    ir.OpView.__init__ = checked
    try:
        yield
    finally:
        ir.OpView.__init__ = build


def _check_stack() -> None:
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    calls: Counter[Any] = Counter()
    while frame is not None:
        calls[frame.f_code] += 1
        frame = frame.f_back
    for code, count in calls.items():
        if count > _MOST_CALLS and not is_library(code.co_filename) and not is_installed(code.co_filename):
            raise RecursionError(f"{code.co_name} calls itself {count} times and more")
