"""The observers of one call of the library: who watches passes in this process, and who hears events of any."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutecc.errors import UsageError
from cutecc.events import Event, Failed, Finished
from cutecc.passes.manager import Observer
from cutecc.record import Compilation

_WITH_PASSES = ("started", "before", "after", "remarked", "failed")
"""Methods of an observer that get passes and modules, which do not cross to another process."""
_METHODS = (*_WITH_PASSES, "event")


@dataclass(frozen=True)
class Listeners:
    """Observers by what they want to hear: the methods that they override."""

    of_passes: tuple[Observer, ...]
    of_events: tuple[Observer, ...]

    @classmethod
    def of(cls, observers: Sequence[Observer], isolation: str) -> Listeners:
        """Sort `observers`. Raises `UsageError` for one of passes that run in a worker."""
        if isolation not in ("none", "worker"):
            raise UsageError(f"isolation is 'none' or 'worker', not {isolation!r}")
        of_passes: list[Observer] = []
        of_events: list[Observer] = []
        for observer in observers:
            wanted = [name for name in _WITH_PASSES if _overrides(observer, name)]
            if wanted and isolation == "worker":
                raise UsageError(
                    f"{type(observer).__name__}.{wanted[0]} watches passes in this process: "
                    "modules and passes do not leave a worker",
                    hints=["events do: override `event` instead", 'or leave out isolation="worker"'],
                )
            if wanted:
                of_passes.append(observer)
            if _overrides(observer, "event"):
                of_events.append(observer)
        return cls(tuple(of_passes), tuple(of_events))

    @property
    def emit(self) -> Callable[[Event], None] | None:
        """What takes events; `None` when nobody wants them."""
        return self._tell if self.of_events else None

    def told(self, compile: Callable[[], Compilation]) -> Compilation:
        """What `compile` gives; listeners hear how it ended."""
        try:
            compilation = compile()
        except BaseException as error:
            self._tell(Failed(error))
            raise
        self._tell(Finished(compilation))
        return compilation

    def raised(self, failure: BaseException) -> bool:
        """Whether `failure` came out of one of them."""
        observers = (*self.of_passes, *self.of_events)
        methods = [getattr(observer, name) for observer in observers for name in _METHODS if _overrides(observer, name)]
        codes = [getattr(method, "__code__", None) for method in methods]
        # To look at a frame's variables would keep them, with the module and its context, until garbage is collected.
        return any(frame.f_code in codes for frame, _ in traceback.walk_tb(failure.__traceback__))

    def _tell(self, event: Event) -> None:
        for observer in self.of_events:
            observer.event(event)


def _overrides(observer: Observer, name: str) -> bool:
    base = getattr(Observer, name)
    method = getattr(observer, name, base)
    return getattr(method, "__func__", method) is not base
