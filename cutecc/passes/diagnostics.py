"""What a pass has to say about a place in the user's program: remarks, warnings, notes and errors.

A remark made while a pass runs reaches the observers of that run (`Observer.remarked`), and with them the record, the
command line and whoever follows a worker. So do the warnings and remarks of the wheel's own passes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from cutecc.errors import PassError, SourceLocation
from cutecc.ir.locations import nearest_location
from cutecc.ir.pass_context import PassState
from cutecc.record import Remark

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir
    from cutecc.record.warp_request import RequestPicture

    Place = ir.Operation | ir.OpView | ir.Value | ir.Location | None
    """What a message is about; an operation or value stands for its location."""

    Numbers = Mapping[str, int | float | str]
    """What a message is based on, by what it is, with units in the names: `sectors`, `ideal sectors`, `bits`."""

_listener = PassState["Callable[[Remark], None]"]()


def remark(at: Place, message: str, numbers: Numbers | None = None, *, picture: RequestPicture | None = None) -> None:
    """Say something about `at` that the user may want to know, such as what was optimised or why not."""
    _say("remark", at, message, numbers, picture)


def warning(at: Place, message: str, numbers: Numbers | None = None) -> None:
    """Say that something at `at` is probably not what the user wants."""
    _say("warning", at, message, numbers)


def note(at: Place, message: str) -> None:
    """Add to the remark or warning before, at a place of its own."""
    _say("note", at, message)


def error(at: Place, message: str, *, notes: Iterable[str] = (), hints: Iterable[str] = ()) -> PassError:
    """The error to raise when a pass cannot go on because of `at`: `raise error(op, "…", hints=["…"])`."""
    return PassError(message, _location(at), list(notes), list(hints))


@contextlib.contextmanager
def hearing_remarks(listener: Callable[[Remark], None], context: ir.Context) -> Generator[None]:
    """Inside, remarks go to `listener`, and after it to whoever listened before; so do MLIR's own in `context`.

    MLIR's come when the block ends, for nothing may be raised through its native code.
    """
    outer = _listener.get()

    def tell(remark: Remark) -> None:
        listener(remark)
        if outer:
            outer(remark)

    native: list[Remark] = []

    def take(diagnostic: ir.DiagnosticInfo) -> bool:
        if diagnostic.severity.name == "ERROR":
            # The bindings raise those, or whoever asked for them takes them.
            return False
        native.extend(_remarks(diagnostic))
        return True

    handler = context.attach_diagnostic_handler(take)
    try:
        with _listener.having(tell):
            yield
    finally:
        handler.detach()
        for each in native:
            tell(each)


def _say(
    severity: Literal["remark", "warning", "note"],
    at: Place,
    message: str,
    numbers: Numbers | None = None,
    picture: RequestPicture | None = None,
) -> None:
    if listener := _listener.get():
        place = str(found) if (found := _location(at)) else None
        listener(Remark(severity, message, place, numbers=dict(numbers or {}), picture=picture))


def _remarks(diagnostic: ir.DiagnosticInfo) -> list[Remark]:
    place = _location(diagnostic.location)
    first = Remark(diagnostic.severity.name.lower(), diagnostic.message.strip(), str(place) if place else None)
    return [first, *(remark for note in diagnostic.notes for remark in _remarks(note))]


def _location(at: Place) -> SourceLocation | None:
    return nearest_location(getattr(at, "location", at))
