"""Keeps the DSL from searching a function's position table anew for every operation that it traces.

For an operation's column, the DSL reads the caller's position table from its start up to the current instruction. In a
large unrolled kernel that is most of the time of a trace: 3.1 of 3.9 seconds for 26,000 operations.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import types
from collections.abc import Generator, Iterable, Iterator
from typing import Any


class _Table:
    """The positions of a function's instructions."""

    def __init__(self, code: types.CodeType) -> None:
        self.positions = list(code.co_positions())


@contextlib.contextmanager
def fast_positions() -> Generator[None]:
    """Lets the DSL look positions up in a table that is made once per function, and puts everything back."""
    module: Any = importlib.import_module("cutlass._mlir_helpers.op")
    if getattr(module, "_CO_POSITIONS", None) is None or getattr(module, "itertools", None) is not itertools:
        yield  # another version of the DSL, which looks positions up in its own way
        return
    before = module._CO_POSITIONS
    module._CO_POSITIONS = functools.cache(_Table)
    module.itertools = types.SimpleNamespace(**vars(itertools) | {"islice": _islice})
    try:
        yield
    finally:
        module._CO_POSITIONS = before
        module.itertools = itertools


def _islice(iterable: _Table | Iterable[Any], start: int, *rest: int | None) -> Iterator[Any]:
    if isinstance(iterable, _Table):
        return iter(iterable.positions[start : start + 1])
    return itertools.islice(iterable, start, *rest)
