"""Objects that are called without a method in between, which would pack and forward every argument: 0.3 µs of 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable


class _Signature:
    """`__signature__` of objects, not of classes: `inspect.signature` cannot read a slot."""

    def __get__(self, target: object, owner: type[object]) -> inspect.Signature:
        if target is None:
            raise AttributeError("__signature__")
        import inspect

        kinds = {"args": inspect.Parameter.VAR_POSITIONAL, "kwargs": inspect.Parameter.VAR_KEYWORD}
        return inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds.items()])


class DirectCall:
    """The base of a class whose objects each hold what calling them does, in `__call__`.

    Python looks `__call__` up in the class and finds the slot, whose value is then called with the arguments as they
    are: no frame of ours, and of a builtin no frame at all.
    """

    __slots__ = ("__call__",)
    __signature__ = _Signature()

    if TYPE_CHECKING:
        __call__: Callable[..., None]


def set_call(target: DirectCall, call: object) -> None:
    """Make `call` what calling `target` does, also where `target` is frozen."""
    object.__setattr__(target, "__call__", call)
