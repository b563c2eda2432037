"""`cutecc repro`: whether a saved failure still happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from cutecc.cli.files import read_input
from cutecc.cli.options import load_option
from cutecc.support.harmless import one_line
from cutecc.workbench.reproduction import Reproduction, reproduce

_EPILOG = """\b
Examples:
  cutecc repro cutecc-out/gemm-sm_90a/reproducer-06-expand-copies.mlir
  cutecc repro reduced.mlir --load my_pass.py

Status 0: it still happens; 1: it happens no more, or fails in another way; 2: the file is no reproducer, or its command
cannot be run.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@load_option
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
@click.pass_context
def repro(context: click.Context, file: Path, as_json: bool) -> None:
    """Run the command in the first line of a reproducer, and say whether it ends as it did.

    The command is data: a subcommand and options from a short list. It can name no file, no program and no code to
    load; passes of yours are known by --load. No shell runs it.
    """
    found = reproduce(read_input(file), str(file))
    if as_json:
        click.echo(json.dumps(_as_dict(found), indent=2))
    else:
        for line in _lines(found):
            click.echo(one_line(line))
    if found.result != "still happens":
        context.exit(1)


def _lines(found: Reproduction) -> list[str]:
    reproducer = found.reproducer
    lines = [f"{found.result}: {found.found or 'nothing fails'}"]
    if found.result != "still happens":
        message = reproducer.message
        if reproducer.pass_name and reproducer.pass_name not in message:
            message = f"pass {reproducer.pass_name}: {message}"
        lines.append(f"before: {message}")
    for name, (then, now) in found.other_versions.items():
        lines.append(f"{name.replace('_', '-')} was {then} then, and is {now} here")
    return lines


def _as_dict(found: Reproduction) -> dict[str, Any]:
    return {
        "ok": found.result == "still happens",
        "result": found.result,
        "found": found.found,
        "expected": {
            "how": found.reproducer.expected,
            "pass": found.reproducer.pass_name,
            "message": found.reproducer.message,
        },
        "command": [found.reproducer.subcommand, found.reproducer.options],
        "versions": {name: {"then": then, "now": now} for name, (then, now) in found.other_versions.items()},
    }
