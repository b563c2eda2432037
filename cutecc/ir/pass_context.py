"""The context of the pass that runs: who hears its remarks, its analyses, erased operations, how much it may rewrite.

Each of these is a `PassState`, declared beside the code that needs it. A module that is compiled while a pass runs gets
a context of its own (`isolated`): what the pass has set up for its module does not hold there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Context:
    states: Mapping[PassState[Any], Any] = field(default_factory=dict["PassState[Any]", Any])
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any])


# Tasks of `asyncio` begin with the context that is current where they are made, threads with none.
_current: ContextVar[_Context | None] = ContextVar("cutecc pass", default=None)


class PassState(Generic[T]):
    """One thing that holds while a pass runs. States are told apart by identity."""

    def get(self) -> T | None:
        """What holds here; `None` where nothing has been set."""
        context = _current.get()
        # Asked for each operation of a module: even `cast` would be a call.
        return None if context is None else context.states.get(self)

    @contextlib.contextmanager
    def having(self, value: T) -> Generator[T]:
        """Inside, `value` holds; afterwards again what held before."""
        context = _current.get() or _Context()
        token = _current.set(_Context({**context.states, self: value}, context.memo))
        try:
            yield value
        finally:
            _current.reset(token)


def memo() -> dict[Any, Any]:
    """What is remembered of modules until the compilation ends; outside of any, as long as this thread lives. It may
    keep their memory."""
    context = _current.get()
    if context is None:
        _current.set(context := _Context())
    return context.memo


def memo_of(context: Any, kind: Any) -> dict[Any, Any]:
    """The same of one kind, of an MLIR context. What lives in a context keeps it alive: only of the latest one it is
    remembered."""
    remembered = memo()
    known: tuple[Any, dict[Any, Any]] | None = remembered.get(kind)
    if known is not None and known[0] is context:
        return known[1]
    found: dict[Any, Any] = {}
    remembered[kind] = (context, found)
    return found


@contextlib.contextmanager
def isolated() -> Generator[None]:
    """Inside, no pass runs; afterwards nothing is remembered of what was compiled inside."""
    context = _Context()
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
        context.memo.clear()
