"""What MLIR and passes say about places in the input: errors, warnings, remarks, notes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from cutecc.errors import SourceLocation
from cutecc.ir.locations import nearest_location

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True)
class Diagnostic:
    """One message, and where it belongs."""

    severity: Severity
    message: str
    location: SourceLocation | None = None
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class SourceText:
    """A text that modules are parsed from, under the name that messages give it."""

    name: str
    text: str

    def shown(self, location: SourceLocation | None) -> SourceLocation | None:
        """`location` with its line, when it is one of this text."""
        if location is None or location.file != self.name or location.line is None:
            return location
        lines = self.text.split("\n")
        return replace(location, text=lines[location.line - 1]) if 1 <= location.line <= len(lines) else location


@contextlib.contextmanager
def hearing_diagnostics(
    context: ir.Context, source: SourceText, hear: Callable[[Diagnostic], None], *, errors: bool
) -> Generator[None]:
    """Inside, `hear` gets what MLIR says in `context`: warnings, remarks and notes, with `errors` also errors.

    An error that goes to `hear` is not in the `MLIRError` that the bindings raise for it.
    """

    def handle(info: ir.DiagnosticInfo) -> bool:
        hear(_diagnostic(info, source))
        return True

    context.emit_error_diagnostics = errors
    handler = context.attach_diagnostic_handler(handle)
    try:
        yield
    finally:
        handler.detach()
        context.emit_error_diagnostics = False


def _diagnostic(info: ir.DiagnosticInfo, source: SourceText) -> Diagnostic:
    severity = cast(Severity, info.severity.name.lower())
    location = nearest_location(info.location)
    # While it parses, MLIR calls the text "-".
    if location and location.file == "-":
        location = replace(location, file=source.name)
    notes = tuple(_diagnostic(note, source) for note in info.notes)
    return Diagnostic(severity, info.message.strip(), source.shown(location), notes)
