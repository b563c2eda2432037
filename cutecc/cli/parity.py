"""`cutecc parity`: the `nvidia` pipeline against the wheel's single run."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict

import click

from cutecc.cli.console import progress_bar
from cutecc.target import Target
from cutecc.workbench.parity import RESULTS, ParityRow, ParityTask, compare_all, find_modules, target_of


@click.command(epilog="Example: cutecc parity traced-modules/ -j 2")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--target", help="The target of modules whose file name does not say one.")
@click.option(
    "--line-info", type=click.Choice(["both", "off", "on"]), default="both", show_default=True, help="Compare with it?"
)
@click.option("-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Worker processes.")
@click.option("--json", "as_json", is_flag=True, help="Print totals and a row for each module as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print the totals only.")
@click.pass_context
def parity(
    context: click.Context,
    paths: tuple[str, ...],
    target: str | None,
    line_info: str,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare the nvidia pipeline, pass by pass, with the wheel's single run: the same PTX, byte for byte?

    Compares every .mlir and .mlirbc file at or below PATH. A file's name says its target: gemm-sm_90a.mlir. Ends with
    status 1 when a module is different or failed.
    """
    default = Target.parse(target) if target else None
    settings = {"both": (False, True), "off": (False,), "on": (True,)}[line_info]
    tasks = [
        ParityTask(file, target_of(file, default).name, lines) for file in find_modules(paths) for lines in settings
    ]
    with progress_bar(wanted=not quiet) as progress:
        bar = progress.add_task("comparing", total=len(tasks))

        def on_row(row: ParityRow) -> None:
            progress.advance(bar)
            if row.result in ("different", "failed") and not as_json and not quiet:
                progress.console.print(_description(row), highlight=False, markup=False, soft_wrap=True)

        rows = compare_all(tasks, jobs=jobs, on_row=on_row)
    totals = Counter(row.result for row in rows)
    if as_json:
        counts = {name: totals[name] for name in RESULTS}
        click.echo(json.dumps({**counts, "modules": [asdict(row) for row in rows]}, indent=2))
    else:
        click.echo("  ".join(f"{name} {totals[name]}" for name in RESULTS) + f"  of {len(rows)}")
    if totals["different"] or totals["failed"]:
        context.exit(1)


def _description(row: ParityRow) -> str:
    head = f"{row.file} ({row.target}, line info {'on' if row.line_info else 'off'}): {row.result}"
    if row.result == "failed":
        return f"{head}: {row.message}"
    return f"{head} in {row.function or 'the header'}\n{row.diff}"
