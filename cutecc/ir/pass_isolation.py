"""Compiling something else while a pass runs: what the pass has set up for itself does not hold there."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import copy_context

STATE = "cutecc.pass "
"""What the names of the context variables begin with that belong to the pass that runs; `None` is none of it."""


@contextlib.contextmanager
def apart() -> Generator[None]:
    """Inside, no pass runs: its listeners, analyses, limits and erased operations are not those of another module.

    Afterwards nothing is remembered of what was compiled inside.
    """
    tokens = [(variable, variable.set(None)) for variable in copy_context() if variable.name.startswith(STATE)]
    try:
        yield
    finally:
        for variable in copy_context():
            if variable.name.startswith(STATE):
                # Set inside for good: what is remembered of a module keeps its memory.
                variable.set(None)
        for variable, token in tokens:
            variable.reset(token)
