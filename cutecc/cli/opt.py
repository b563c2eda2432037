"""`cutecc opt`: a module in, passes, a module out."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cutecc.cli.inputs import read_input
from cutecc.config import Settings
from cutecc.contained import rewrite_in_worker
from cutecc.target import Target

_EPILOG = """\b
Examples:
  cutecc opt kernel.mlir --pipeline='canonicalize,cse'
  cutecc opt kernel.mlir --pipeline='gpu.module(convert-fastmath-ops)' | filecheck kernel.mlir
"""


@click.command(epilog=_EPILOG)
@click.argument("file", default="-")
@click.option("--pipeline", default="", metavar="NAME|TEXT|FILE", help="The passes to run; none by default.")
@click.option("--target", metavar="NAME", help="The target that a named pipeline is for.")
@click.option("--verify-each", is_flag=True, help="Have MLIR verify the module after each pass.")
@click.option("--locations", is_flag=True, help="Print source locations.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the module here instead.")
def opt(file: str, pipeline: str, target: str | None, verify_each: bool, locations: bool, output: Path | None) -> None:
    """Run a pipeline on the module in FILE (text or bytecode; - is standard input) and print the result."""
    data = sys.stdin.buffer.read() if file == "-" else read_input(Path(file))
    chosen = Target.parse(target or Settings.from_environment().target or "sm_90a")
    text = rewrite_in_worker(data, file, pipeline, chosen, verify_each=verify_each, locations=locations)
    if output:
        output.write_text(text)
    else:
        sys.stdout.write(text)
