"""The observers of one call of the library: who watches passes in this process, and who hears events of any."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutecc.compilation.events import Event, Failed, Finished, Said
from cutecc.errors import PassError, UsageError
from cutecc.ir import interrupts
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, Remark

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_WITH_PASSES = ("started", "before", "after", "remarked", "failed")
"""Methods of an observer that get passes and modules, which do not cross to another process."""


@dataclass(frozen=True)
class Listeners:
    """Observers by what they want to hear: the methods that they override."""

    of_passes: tuple[Observer, ...]
    of_events: tuple[Observer, ...]
    _raised: set[int] = field(default_factory=set[int])
    """What came out of one of them, by address: to keep an error would keep its frames, with the module."""

    @classmethod
    def of(cls, observers: Sequence[Observer], isolation: str) -> Listeners:
        """Sort `observers`. Raises `UsageError` for one of passes that run in a worker."""
        if isolation not in ("none", "worker"):
            raise UsageError(f"isolation is 'none' or 'worker', not {isolation!r}")
        if not isinstance(observers, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"observers are a list, not {observers!r}")
        of_passes: list[Observer] = []
        of_events: list[Observer] = []
        raised: set[int] = set()
        for observer in observers:
            if isinstance(observer, type) or not any(hasattr(observer, name) for name in (*_WITH_PASSES, "event")):
                raise UsageError(f"an observer is an object with methods of cutecc.Observer, not {observer!r}")
            heard = _Heard(observer, raised)
            wanted = [name for name in _WITH_PASSES if _overrides(observer, name)]
            if wanted and isolation == "worker":
                raise UsageError(
                    f"{type(observer).__name__}.{wanted[0]} watches passes in this process: "
                    "modules and passes do not leave a worker",
                    hints=["events do: override `event` instead", 'or leave out isolation="worker"'],
                )
            if wanted:
                of_passes.append(heard)
            if _overrides(observer, "event"):
                of_events.append(heard)
        return cls(tuple(of_passes), tuple(of_events), raised)

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
        """Whether `failure`, which is on its way, came out of one of them."""
        return id(failure) in self._raised

    def _tell(self, event: Event) -> None:
        for observer in self.of_events:
            observer.event(event)


class _Heard(Observer):
    """An observer, of which it is known what it raises."""

    def __init__(self, observer: Observer, raised: set[int]) -> None:
        self._observer = observer
        self._raised = raised

    def event(self, event: Event) -> None:
        # What a pass says may come out of native code; everything else comes between passes.
        with contextlib.nullcontext() if isinstance(event, Said) else interrupts.let_through(), self._noting():
            self._observer.event(event)

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        with interrupts.let_through(), self._noting():
            self._observer.started(pipeline, module)

    def before(self, position: Position, module: ir.Module) -> None:
        with interrupts.let_through(), self._noting():
            self._observer.before(position, module)

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        with interrupts.let_through(), self._noting():
            self._observer.after(position, module, seconds)

    def remarked(self, position: Position, remark: Remark) -> None:
        with self._noting():
            self._observer.remarked(position, remark)

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        with interrupts.let_through(), self._noting():
            self._observer.failed(position, error, seconds)

    @contextlib.contextmanager
    def _noting(self) -> Generator[None]:
        try:
            yield
        except BaseException as error:
            self._raised.add(id(error))
            raise


def _overrides(observer: Observer, name: str) -> bool:
    base = getattr(Observer, name)
    method = getattr(observer, name, base)
    return getattr(method, "__func__", method) is not base
