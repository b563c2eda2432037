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
    """Forget all analyses but those `preserved`, for `module` has changed; of operations that are gone, all.

    Another operation may get the address of one that is gone.
    """
    known = _known.get()
    if not known:
        return
    kept = {key: value for key, value in known.items() if key[0] in preserved}
    known.clear()
    if not kept:
        return

    from cutecc.ir.editing import address_of
    from cutecc.ir.walking import walk

    present = {address_of(module.operation)}
    if not {address for _, address in kept} <= present:
        present = {address_of(operation) for operation in walk(module)}
    known.update((key, value) for key, value in kept.items() if key[1] in present)
