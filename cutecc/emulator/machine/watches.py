"""Several watches as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from cutecc.emulator.machine.watch import Watch

_EVENTS = [name for name, each in vars(Watch).items() if inspect.isfunction(each)]


class Watches(Watch):
    """Tells each of several watches. At most one of them numbers asynchronous operations: the first."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self.listens = any(watch.listens for watch in watches)
        self.counts = any(watch.counts for watch in watches)
        for event in _EVENTS:
            setattr(self, event, _by_each([getattr(watch, event) for watch in watches]))


def _by_each(methods: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Calls each; gives what the first one does."""

    def call(*arguments: Any) -> Any:
        first, *_ = [method(*arguments) for method in methods]
        return first

    return call
