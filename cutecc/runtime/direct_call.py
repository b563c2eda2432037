"""Objects that are called without a method in between, which would pack and forward every argument: 0.3 µs of 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class DirectCall:
    """The base of a class whose objects each hold what calling them does, in `__call__`.

    Python looks `__call__` up in the class and finds the slot, whose value is then called with the arguments as they
    are: no frame of ours, and of a builtin no frame at all.
    """

    __slots__ = ("__call__",)

    if TYPE_CHECKING:
        __call__: Callable[..., None]


def set_call(target: DirectCall, call: object) -> None:
    """Make `call` what calling `target` does, also where `target` is frozen."""
    object.__setattr__(target, "__call__", call)
