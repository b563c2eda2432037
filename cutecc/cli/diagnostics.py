"""Diagnostics on a terminal: where, how bad, what; then the source line with a caret."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from cutecc.ir.diagnostics import Diagnostic
from cutecc.record import Remark
from cutecc.support.harmless import harmless, message_text, one_line

_COLOURS = {"error": "red", "warning": "magenta", "remark": "blue", "note": "cyan"}


def show(diagnostic: Diagnostic) -> None:
    """Print a diagnostic and its notes to standard error."""
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    place = f"{one_line(str(diagnostic.location))}: " if diagnostic.location else ""
    severity = click.style(f"{diagnostic.severity}: ", fg=_COLOURS[diagnostic.severity], bold=True)
    click.echo(f"{place}{severity}{message_text(diagnostic.message)}", err=True, color=colour)
    if diagnostic.location and (excerpt := diagnostic.location.excerpt()):
        click.echo(harmless(excerpt, coloured=False), err=True, color=colour)
    for note in diagnostic.notes:
        show(note)


def show_warnings(warnings: Iterable[Remark], source: str | None) -> None:
    """Print what a compilation of the file `source` warned of, a line for each."""
    from cutecc.frontend.files import as_given

    for remark in warnings:
        place = f"{one_line(as_given(remark.location, source))}: " if remark.location else ""
        click.echo(f"{place}warning: {message_text(remark.message)}", err=True)
