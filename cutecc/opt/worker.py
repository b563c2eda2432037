"""Rewriting in a worker process: an abort there is an error of the module that caused it."""

from __future__ import annotations

from collections.abc import Callable

from cutecc.errors import Error, InternalError, ParseError, PassError
from cutecc.opt.request import (
    ChunkFinished,
    ChunkStarted,
    Event,
    Parsed,
    PassesFinished,
    PassStarted,
    RewriteRequest,
    Told,
)
from cutecc.record.reproducer import Expected
from cutecc.support import isolation
from cutecc.support.isolation import ProcessDied


def rewrite_in_worker(request: RewriteRequest, tell: Callable[[Told], None]) -> None:
    """`rewrite` in a process of its own, in which passes may abort; in a new one for the modules after such a one.

    `tell` gets what is for the user, a `ChunkFinished` for each module among it. Raises as `rewrite` does.
    """
    follower = _Follower(tell)
    first: int | None = 0
    while first is not None:
        try:
            isolation.call("cutecc.opt.rewrite:rewrite", request, first, on_event=follower, fork=True, replay=True)
            first = None
        except InternalError as error:
            _save(request, follower.chunk, error, "failed")
            raise
        except ProcessDied as death:
            error = follower.error(request.source, death)
            _save(request, follower.chunk, error, "aborted")
            if not request.split or follower.chunk < first:
                raise error from None
            tell(ChunkFinished(b"", failed=True, error=error))
            first = follower.chunk + 1


def _save(request: RewriteRequest, chunk: int, error: Error, expected: Expected) -> None:
    """Save the module that an abort, or a mistake of cutecc's own, came with."""
    from cutecc.opt.rewrite import chunks  # loads the bindings
    from cutecc.opt.saving import save

    save(request, chunks(request)[max(chunk, 0)], error, expected)


class _Follower:
    """Follows a worker's events, so that this side knows how far it came."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell
        self.chunk = -1
        self._parsed = False
        self._running: str | None = None
        self._passes_done = False

    def __call__(self, event: Event) -> None:
        match event:
            case ChunkStarted():
                self.chunk = event.index
                self._parsed, self._running, self._passes_done = False, None, False
            case Parsed():
                self._parsed = True
            case PassStarted():
                self._running = event.name
            case PassesFinished():
                self._running, self._passes_done = None, True
            case _:
                self._tell(event)

    def error(self, source: str, death: ProcessDied) -> Error:
        """What the death of the worker means."""
        if self._running:
            name = self._running
            return PassError(f"pass {name} aborted: {death.message}", notes=death.notes, pass_name=name)
        if not self._parsed:
            return ParseError(f"{source}: reading the module aborted: {death.message}", notes=death.notes)
        stage = "writing the module" if self._passes_done else "choosing the passes"
        return Error(f"{stage} aborted: {death.message}", notes=death.notes)
