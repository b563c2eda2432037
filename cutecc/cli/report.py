"""`cutecc report`: the page of a record."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cutecc.cli.again import with_stages
from cutecc.cli.console import Console
from cutecc.cli.records import read_records
from cutecc.cli.reporter import report_line
from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.naming import file_name
from cutecc.report.destination import check_destination, numbered
from cutecc.report.ncu import ncu_measures
from cutecc.report.profile_file import read_profiles, roofline_of, timelines_of
from cutecc.report.profile_measures import profile_measures
from cutecc.report.proof_file import proofs_of, read_proofs
from cutecc.report.writing import Report, write_report
from cutecc.support.harmless import message_text

_EPILOG = """\b
Examples:
  cutecc report cutecc-out/gemm-sm_90a
  cutecc report gemm.cutecc --target sm_90a -o gemm.html
  cutecc report cutecc-out/gemm-sm_90a --ncu gemm.csv
  cutecc report cutecc-out/gemm-sm_90a --profile gemm.json
  cutecc report cutecc-out/gemm-sm_90a --proof proof.json

The record has every stage when it was compiled with --report or --dump-after=all, into a bundle with --bundle-dumps.
"""


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="DIR|BUNDLE", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.html", help="Default: KERNEL-TARGET.html, here."
)
@click.option("--target", metavar="NAME", help="Of several targets, this one.")
@click.option(
    "--ncu",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show what Nsight Compute measured of each instruction: what ncu --page source --csv printed.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show where the time goes, and timelines: what cutecc profile --json wrote.",
)
@click.option(
    "--proof",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show what was proved, and the pipeline as a picture: what cutecc prove --json printed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON, a list.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def report(
    source: Path,
    output: Path | None,
    target: str | None,
    ncu: Path | None,
    profile: Path | None,
    proof: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the report of a record: one HTML file that shows every stage, without a network.

    Of several records, such as those of a bundle for several targets, each has a page of its own.
    """
    records = [_with_stages(record, source, quiet=quiet) for record in read_records(source, target)]
    paths = _paths(records, output)
    for path in paths:
        check_destination(path)
    profiles = [] if profile is None else read_profiles(profile)
    measures = [
        *([] if profile is None else profile_measures(_only(records, "--profile", profile), profiles, profile)),
        *([] if ncu is None else ncu_measures(_only(records, "--ncu", ncu), ncu)),
    ]
    timelines, drawn = timelines_of(profiles), roofline_of(profiles)
    proofs = [] if proof is None else proofs_of(_only(records, "--proof", proof), read_proofs(proof), proof)
    reports: list[Report] = []
    for record, path in zip(records, paths, strict=True):
        reports.append(write_report(record, path, measures, timelines, drawn, proofs))
        if not quiet and not as_json:
            _show(reports[-1])
    if as_json:
        found = [
            {"kernel": record.name, "target": record.target, "report": str(each.path), "bytes": each.bytes}
            for record, each in zip(records, reports, strict=True)
        ]
        click.echo(json.dumps(found, indent=2))


def _only(records: list[Compilation], option: str, path: Path) -> Compilation:
    """The record that something was measured of; several have other code each."""
    if len(records) > 1:
        targets = ", ".join(record.target for record in records)
        raise UsageError(
            f"{option}: {path} is of one build, and there are records for {targets}", hints=["name one with --target"]
        )
    return records[0]


def _with_stages(record: Compilation, path: Path, *, quiet: bool) -> Compilation:
    """The record with its stages where they can be had; without, the page shows what there is."""
    try:
        return with_stages(record, path)
    except RecordError as error:
        if not quiet and path.is_dir() and record.status in ("ok", "stopped"):
            for line in (error.message, *error.notes, *(f"hint: {hint}" for hint in error.hints)):
                click.echo(message_text(line), err=True)
        return record


def _paths(records: list[Compilation], output: Path | None) -> list[Path]:
    """Where each report goes. Raises `UsageError` when two would go to one file."""
    kernels = {record.name for record in records}
    paths: list[Path] = []
    for record in records:
        names = [file_name(record.name), file_name(record.target)]
        if output is None:
            path = Path(f"{'-'.join(names)}.html")
        elif len(records) > 1:
            path = numbered(output, names if len(kernels) > 1 else names[1:])
        else:
            path = output
        if path in paths:
            raise UsageError(
                f"two records are of {record.name} for {record.target}, and both would be written to {path}",
                hints=["name the folder of one of them"],
            )
        paths.append(path)
    return paths


def _show(written: Report) -> None:
    console = Console()
    if console.is_terminal:
        console.print(report_line(written), soft_wrap=True)
    else:
        click.echo(str(written.path))
