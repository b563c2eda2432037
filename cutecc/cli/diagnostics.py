"""Diagnostics on a terminal: where, how bad, what; then the source line with a caret."""

from __future__ import annotations

import os

import click

from cutecc.ir.diagnostics import Diagnostic

_COLOURS = {"error": "red", "warning": "magenta", "remark": "blue", "note": "cyan"}


def show(diagnostic: Diagnostic) -> None:
    """Print a diagnostic and its notes to standard error."""
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    place = f"{diagnostic.location}: " if diagnostic.location else ""
    severity = click.style(f"{diagnostic.severity}: ", fg=_COLOURS[diagnostic.severity], bold=True)
    click.echo(f"{place}{severity}{diagnostic.message}", err=True, color=colour)
    if diagnostic.location and (excerpt := diagnostic.location.excerpt()):
        click.echo(excerpt, err=True, color=colour)
    for note in diagnostic.notes:
        show(note)
