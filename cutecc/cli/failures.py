"""Errors of commands that print JSON."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import click

from cutecc.errors import Error


@contextmanager
def failures_as_json(wanted: bool) -> Generator[None]:
    """If `wanted`, has an error come on standard output too, as JSON: `{"ok": false, "error": …}`."""
    try:
        yield
    except Error as error:
        if wanted:
            click.echo(json.dumps({"ok": False, "error": error_dict(error)}, indent=2))
        raise


def error_dict(error: Error) -> dict[str, Any]:
    """An error as JSON has it."""
    location = error.location
    return {
        "type": type(error).__name__,
        "message": error.message,
        "file": location and location.file,
        "line": location and location.line,
        "column": location and location.column,
        "notes": error.notes,
        "hints": error.hints,
    }
