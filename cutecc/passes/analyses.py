"""Analyses: what passes find out about a module, computed once and shared until a pass changes the module.

An analysis is a class whose constructor takes an operation. `analyse(Uses, module)` gives its instance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Analysis = TypeVar("Analysis")

_known: ContextVar[dict[tuple[Any, int], Any] | None] = ContextVar("known", default=None)


def analyse(kind: Callable[[ir.Operation], Analysis], of: ir.Module | ir.Operation | ir.OpView) -> Analysis:
    """`kind(of)`, the same object until a pass has run that does not say it `preserves` that class.

    A pass that has changed what the analysis looked at, and needs it again, calls the class itself.
    """
    from cutecc.ir.editing import address_of

    known = _known.get()
    if known is None:
        return kind(of.operation)
    key = (kind, address_of(of.operation))
    if key not in known:
        known[key] = kind(of.operation)
    return known[key]


@contextlib.contextmanager
def sharing_analyses() -> Generator[None]:
    """Inside, analyses are kept; a block inside a block shares them with it."""
    if _known.get() is not None:
        yield
        return
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def forget_analyses(preserved: tuple[type, ...]) -> None:
    """Forget all analyses but those `preserved`, for the module has changed."""
    known = _known.get()
    for key in [key for key in known or () if key[0] not in preserved]:
        assert known is not None
        del known[key]
