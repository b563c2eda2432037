"""Ends a trace that would go on without end.

Tensors have `__getitem__` and no `__iter__`, so Python would ask for one element after the other until there is an
`IndexError`, which never comes: `for v in tensor`, `sum(tensor)` and `a, b = tensor` would trace for ever.

Whether a value that only the GPU knows ends a recursion is not known while it is traced. It is ended while there is
stack left to say so: Python's own limit may be hit in code that the bindings call from C++, which ends the process.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

from cutecc.frontend.installed import is_installed, is_library

_CLASSES = (("cutlass.cute.typing", "Tensor"), ("cutlass.cute.tensor", "TensorSSA"))
_MOST_CALLS = 20
"""Of one function of the user's in each other. What recurses over a layout's modes stays far below."""


@contextlib.contextmanager
def no_iteration() -> Generator[None]:
    """Iterating over a tensor, or over the values that are loaded from one, is a `TypeError`; puts everything back."""
    classes: list[Any] = [getattr(importlib.import_module(module), name) for module, name in _CLASSES]
    classes = [each for each in classes if not hasattr(each, "__iter__")]
    for each in classes:
        # With a method instead, they would pass for sequences.
        each.__iter__ = None
    try:
        yield
    finally:
        for each in classes:
            del each.__iter__


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
