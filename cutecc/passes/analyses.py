"""Analyses: what passes find out about a module, computed once and shared until a pass changes the module.

An analysis is a class whose constructor takes an operation. `analyse(Uses, module)` gives its instance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from cutecc.ir.pass_context import PassState

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Analysis = TypeVar("Analysis")

_known = PassState[dict[tuple[Any, int], Any]]()


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
    """Inside, analyses are kept. A block inside a block begins and leaves with none, for it may be amid changes."""
    try:
        with _known.having({}):
            yield
    finally:
        if outer := _known.get():
            outer.clear()


def forget_analyses(preserved: tuple[type, ...], module: ir.Module) -> None:
    """As `keep_analyses`, at the end of a pass over `module`, when those of operations that are gone are forgotten too.

    Another operation may get the address of one that is gone.
    """
    keep_analyses(preserved)
    if not (known := _known.get()):
        return

    from cutecc.ir.editing import address_of
    from cutecc.ir.walking import walk

    present = {address_of(module.operation)}
    if not {address for _, address in known} <= present:
        present = {address_of(operation) for operation in walk(module)}
    _drop(known, [key for key in known if key[1] not in present])


def keep_analyses(preserved: tuple[type, ...]) -> None:
    """Forget all analyses but those `preserved`, or that derive from them, for the module has changed."""
    if known := _known.get():
        _drop(known, [key for key in known if not (isinstance(key[0], type) and issubclass(key[0], preserved))])


def _drop(known: dict[tuple[Any, int], Any], keys: list[tuple[Any, int]]) -> None:
    for key in keys:
        del known[key]
