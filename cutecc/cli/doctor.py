"""`cutecc doctor`: whether what is installed here fits together, and what to do where it does not."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import click

from cutecc.cli.main import EXIT_FAILED
from cutecc.doctor.checks import examine
from cutecc.doctor.facts import Facts
from cutecc.doctor.finding import Finding, State
from cutecc.doctor.looking import look
from cutecc.support.harmless import one_line

_EPILOG = """\b
Examples:
  cutecc doctor
  cutecc doctor --json > doctor.json
"""
_COLOURS: dict[State, str] = {"ok": "green", "note": "yellow", "fix": "red"}
_STATE = 6
"""Columns of the first word, with a gap."""
_WIDEST = 120
"""Columns of a terminal that are used: longer lines are hard to read."""
_UNBOUNDED = 1 << 16
_VERSION = 1
"""Of the JSON: another where a key means something else."""


@click.command(epilog=_EPILOG)
@click.option("--no-trial", is_flag=True, help="Compile no kernel, which takes some seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print all as JSON, for a bug report.")
@click.pass_context
def doctor(context: click.Context, no_trial: bool, as_json: bool) -> None:
    """Say whether what is installed here fits together, and what to do where it does not.

    Each line is 'ok', a 'note', or something to 'fix'. The exit status is 1 where there is something to fix; a machine
    without a GPU is in order.
    """
    facts = look(trial=not no_trial)
    findings = examine(facts)
    to_fix = [each for each in findings if each.state == "fix"]
    if as_json:
        click.echo(json.dumps(_as_dict(facts, findings), indent=2))
    else:
        for line in _lines(findings):
            click.echo(line, color=False if os.environ.get("NO_COLOR") else None)
    if to_fix:
        context.exit(EXIT_FAILED)


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    width = shutil.get_terminal_size((_UNBOUNDED, 0)).columns
    width = width if width == _UNBOUNDED else min(width, _WIDEST)
    subjects = max(len(each.subject) for each in findings) + 2
    blank = " " * (_STATE + subjects)
    for each in findings:
        state = click.style(
            f"{each.state:<{_STATE}}", fg=_COLOURS[each.state], bold=True if each.state == "fix" else None
        )
        found = _folded(one_line(each.found), width, blank)
        yield f"{state}{each.subject:<{subjects}}{found.removeprefix(blank)}"
        if each.do:
            # In one piece: it is mostly a command to be copied.
            yield f"{'':<{_STATE}}→ {one_line(each.do)}"
    count = sum(each.state == "fix" for each in findings)
    yield ""
    yield "all in order" if not count else f"{count} thing{'' if count == 1 else 's'} to fix"


def _folded(text: str, width: int, blank: str) -> str:
    return textwrap.fill(
        text, width, initial_indent=blank, subsequent_indent=blank, break_long_words=False, break_on_hyphens=False
    )


def _as_dict(facts: Facts, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "ok": all(each.state != "fix" for each in findings),
        "cutecc": facts.cutecc,
        "checks": [
            {"subject": each.subject, "state": each.state, "found": each.found, "do": each.do} for each in findings
        ],
        "packages": dict(facts.packages),
    }
