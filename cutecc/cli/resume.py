"""`cutecc resume`: the rest of a record's pipeline, from a stage that was edited by hand."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from cutecc.cli.compile_options import dump_choice, edits
from cutecc.cli.options import (
    backend_option,
    change_options,
    chosen_ptxas,
    dump_options,
    load_option,
    outcome_options,
    ptxas_option,
    stop_after_option,
)
from cutecc.cli.records import find_folder, target_option
from cutecc.cli.reporter import Outcome, Reporter
from cutecc.cli.reports import Reporting
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions
from cutecc.compilation.worker import lower_in_worker
from cutecc.config import Settings
from cutecc.report.destination import check_destination
from cutecc.support.harmless import one_line

_EPILOG = """\b
Examples:
  cutecc resume cutecc-out/add-sm_90a --from cse#1
  cutecc resume cutecc-out/add-sm_90a --from 14 -o edited
  cutecc resume cutecc-out/add-sm_90a --from traced --without cse#2 --report edited.html
  cutecc compare cutecc-out/add-sm_90a edited

The record has dumps when it was compiled with --dump-after: edit one of its .mlir files, and go on from there.
"""


@click.command(epilog=_EPILOG)
@click.argument("record", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--from", "after", required=True, metavar="PASS", help="Go on behind PASS: a name, cse#2, a number, or traced."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder to write; default DIR-from-PASS."
)
@change_options
@stop_after_option
@load_option
@backend_option
@ptxas_option
@dump_options
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE.html", help="Write a page to look into, too.")
@click.option("--verify-each", is_flag=True, help="Have MLIR verify the module after each pass.")
@target_option
@outcome_options
def resume(record: Path, after: str, output: Path | None, **values: Any) -> None:
    """Run the rest of a record's pipeline on the module after a pass, as its dump is on disk now.

    Edit a dump by hand and see what becomes of it: the new record says what it came from, and whether the module was
    edited. It has the old one's target, options, signature and places in the source, and all dumps unless --dump-after
    chooses some. Never imports the DSL.
    """
    from cutecc.workbench.resuming import prepare

    folder = find_folder(record, values["target"])
    report: Path | None = values["report"]
    if report:
        check_destination(report)
    command = ["cutecc", *sys.argv[1:]]
    resumption = prepare(folder, after, output, options=_options(values), command=command)
    if not values["quiet"]:
        for note in resumption.notes:
            click.echo(f"note: {one_line(note)}", err=True)
    request = resumption.request
    reporter = Reporter(
        [f"{request.name} {request.target}"],
        as_list=False,
        as_json=values["as_json"],
        quiet=values["quiet"],
        verbose=values["verbose"],
        timing=values["timing"],
        brief=False,
    )
    with reporter:
        reporter.begin(0)
        follow = reporter.follow(0)
        reporting = Reporting(report, lambda _: resumption.output, follow) if report else None
        with reporting.whole() if reporting else contextlib.nullcontext():
            compilation = lower_in_worker(request, reporting or follow)
    reporter.outcomes.append(Outcome(compilation, resumption.output, reporting and reporting.report))
    reporter.show()


def _options(values: dict[str, Any]) -> CompileOptions:
    if not any(values[name] for name in ("dump_after", "dump_before")):
        values["dump_after"] = ("all",)
    return CompileOptions(
        edits=edits(values),
        stop_after=values["stop_after"],
        backend=values["backend"],
        ptxas=chosen_ptxas(values, Settings.from_environment()),
        artifacts=ALL_ARTIFACTS,
        observe=True,
        dumps=dump_choice(values, locations=False),
        verify_each=values["verify_each"],
        report=values["report"] is not None,
    )
