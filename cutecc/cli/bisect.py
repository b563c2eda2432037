"""`cutecc bisect`: the pass, and the rewrite, after which a check fails."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cutecc.cli.checks import (
    CODE_ARTIFACTS,
    callable_with,
    check_options,
    check_spares_input,
    checked,
    device_for_results,
    find_subject,
    one_point,
    other_subject,
    subject_options,
)
from cutecc.cli.options import LOADED, edit_options
from cutecc.cli.paging import When, harmless, in_colour, paging_options, show
from cutecc.cli.records import StageText, text_of
from cutecc.cli.unified import unified
from cutecc.errors import UsageError
from cutecc.passes.debug_counter import LimitedPass
from cutecc.passes.pipeline import Pipeline
from cutecc.record import ArtifactKind, Compilation, Step
from cutecc.record.naming import file_name
from cutecc.record.stages import stages_of
from cutecc.report.stage_text import Position, positions
from cutecc.workbench.checks import Check, Finding
from cutecc.workbench.pass_bisection import (
    Blame,
    CheckBeside,
    CheckCode,
    Tell,
    first_differing_pass,
    first_failing_pass,
    passes_behind,
)
from cutecc.workbench.subjects import Subject

_EPILOG = """\b
Examples:
  cutecc bisect kernel.py --pipeline open --filecheck no-division.txt
  cutecc bisect kernel.mlir --check './holds.sh {}' --limit
  cutecc bisect kernel.py --load my_pass.py --insert-after cse#1=my-pass --ptx
  cutecc bisect kernel.py --pipeline open --results --size M=33,N=132
  cutecc bisect kernel.py --pipeline open --emit sass --check 'grep -q HMMA {}'
  cutecc bisect cutecc-out/gemm-sm_90a --filecheck checks.txt

--check and --filecheck are asked of the module after each pass; they have to pass before the first one. With --emit or
--against, and for --ptx and --results, they are asked of what comes of the first passes of --pipeline and then those
of --against. The command of --check ends with status 0 where it passes, 125 where it cannot tell. Without any check, it
finds the first pass after which the pipeline of --against fails.

Status 0: the pass was found; 1: there is none to find, or it cannot be told; 2: the request is wrong.
"""


@click.command(epilog=_EPILOG)
@click.argument("input_", metavar="FILE.mlir|FILE.py[:FUNCTION]|DIR")
@edit_options
@click.option("--against", metavar="NAME|TEXT|FILE", help="The pipeline whose passes come after; default nvidia.")
@check_options
@click.option("--limit", is_flag=True, help="Find also which of the pass's rewrites it is.")
@subject_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where the record goes; cutecc-out/KERNEL-TARGET-bisect."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Do not say what is tried.")
@paging_options
@click.pass_context
def bisect(context: click.Context, input_: str, colour: When, no_pager: bool, **values: Any) -> None:
    """Find the first pass after which a check fails, and with --limit which of its rewrites.

    Writes the record of the run, with the module after each pass, and prints what the pass changed. A Python file is
    traced; a .mlir file is only parsed.
    """
    check = checked(values)
    if check is None and values["message"] is not None:
        raise UsageError("--message is for --check", hints=["name the command"])
    subject = find_subject(input_, values)
    folder: Path = values["output"] or Path("cutecc-out") / f"{file_name(subject.name)}-{subject.target}-bisect"
    check_spares_input(folder, input_)
    tell = _tell(values)
    mixed = check is None or values["emit"] or values["against"]
    if mixed:
        blame = _of_code(subject, check, folder, values, tell)
    else:
        assert check is not None
        blame = first_failing_pass(subject, check, folder, which_rewrite=values["limit"], tell=tell)
    loaded = [f"--load={file}" for file in context.meta.get(LOADED, ())]
    if values["as_json"]:
        click.echo(json.dumps(_as_dict(blame, folder, loaded), indent=2))
        return
    click.echo(harmless(_heading(blame)))
    show(_diff(blame), colour=in_colour(colour), pager=not no_pager)
    click.echo("see it again:")
    for command in _commands(blame, folder, loaded):
        click.echo(f"  {command}")


def _of_code(subject: Subject, check: Check | None, folder: Path, values: dict[str, Any], tell: Tell) -> Blame:
    """The first pass with which what comes of mixed pipelines fails."""
    artifact = CODE_ARTIFACTS[values["emit"] or "ptx"]
    # SASS is made of the cubin, which a launch needs too.
    wanted: list[ArtifactKind] = ["ptx", "cubin", "host-program", artifact]
    subject = replace(subject, options=replace(subject.options, artifacts=tuple(dict.fromkeys(wanted))))
    if values["results"]:
        signature, chosen = callable_with(subject, one_point(values))
        subject = replace(subject, signature=signature)
        if chosen:
            tell(chosen)
    against = other_subject(subject, values["against"])
    failing = not (check or values["ptx"] or values["results"])

    def find(ask: CheckBeside) -> Blame:
        return first_differing_pass(
            subject, against, ask, folder, failing=failing, which_rewrite=values["limit"], tell=tell
        )

    if values["results"]:
        from cutecc.workbench.results import SameResults, device_called

        point, device = one_point(values), device_called(device_for_results(values))
        return find(lambda norm: SameResults.at(norm, device, point, values["seed"]))

    def ask(norm: Compilation) -> CheckCode:
        reference = norm.artifact("ptx")

        def finding(record: Compilation) -> Finding:
            if failing:
                return Finding("passes")
            code = record.artifact(artifact)
            if code is None:
                return Finding("unknown", f"there is no {values['emit'] or 'PTX'}")
            if check:
                return check(code, f".{values['emit'] or 'ptx'}")
            if values["ptx"] and code != reference:
                return Finding("fails", "the PTX differs")
            return Finding("passes")

        return finding

    return find(ask)


def _tell(values: dict[str, Any]) -> Tell:
    def tell(text: str) -> None:
        if not values["quiet"]:
            click.echo(harmless(text), err=True)

    return tell


def _heading(blame: Blame) -> str:
    found = blame.found
    pipeline = Pipeline.parse(blame.record.pipeline)
    lines = [f"{found.first_bad}: the check passes before it and fails after it"]
    if found.unknown:
        good = f"after {found.last_good}" if found.last_good else "before all passes"
        lines = [f"{found.first_bad}: the check fails after it, and passes {good}"]
        lines.append(f"  it may be one of those in between, of which it cannot be told: {', '.join(found.unknown)}")
    lines.append(f"  pass {blame.index} of {len(pipeline) + passes_behind(blame.record)}")
    lines += [f"  {line}" for line in blame.finding.text.splitlines()[:6]]
    rewrite = blame.rewrite
    if rewrite:
        upto = f" (or one of the {rewrite.unknown} before it)" if rewrite.unknown else ""
        lines.append(f"rewrite {rewrite.number} of {rewrite.made}{upto}: {rewrite.rewrite}")
        if place := rewrite.rewrite.location:
            lines += [f"  {place}", *(f"  {line}" for line in place.excerpt().splitlines())]
    if blame.no_rewrite:
        lines.append(f"no rewrite of it: {blame.no_rewrite}")
    return "\n".join(lines)


def _diff(blame: Blame) -> list[str]:
    """What the rewrite changed, or all that the pass did."""
    if blame.rewrite:
        number = blame.rewrite.number
        before = _as_stage(blame.rewrite.text_before, blame, number - 1 - blame.rewrite.unknown)
        return unified(before, _as_stage(blame.rewrite.text_after, blame, number))
    if _step(blame).status == "failed":
        return []
    stages = stages_of(blame.record)
    known = {each.index: each for each in positions(blame.record, stages)}
    before, after = (text_of(blame.record, stages, known[index], None) for index in (blame.before, blame.index))
    return unified(before, after)


def _as_stage(text: str, blame: Blame, rewrites: int) -> StageText:
    lines = text.split("\n")[:-1]
    name = f"{blame.found.first_bad} with {rewrites} rewrite{'s' * (rewrites != 1)}"
    return StageText(Position(blame.index, name, blame.index), lines, 0, [-1] * len(lines))


def _step(blame: Blame) -> Step:
    """Of the pass, in the record."""
    return next(each for each in blame.record.steps if each.index == blame.index)


def _commands(blame: Blame, folder: Path, loaded: Sequence[str]) -> list[str]:
    """What shows it again."""
    step = _step(blame)
    earlier = [each.dump for each in blame.record.steps if each.index < blame.index and each.dump]
    before = folder / (earlier[-1] if earlier else blame.record.traced or "")
    pass_text = step.pass_text
    if blame.rewrite:
        (pass_,) = Pipeline.parse(pass_text).passes
        pass_text = str(LimitedPass(pass_, blame.rewrite.number))
    diff = shlex.join(["cutecc", "diff", str(folder), blame.found.first_bad])
    return [
        *([] if step.status == "failed" else [diff]),
        shlex.join(["cutecc", "opt", str(before), f"--pipeline={pass_text}", *loaded]),
    ]


def _as_dict(blame: Blame, folder: Path, loaded: Sequence[str]) -> dict[str, Any]:
    rewrite = blame.rewrite
    return {
        "ok": True,
        "pass": blame.found.first_bad,
        "index": blame.index,
        "last_good": blame.found.last_good,
        "unknown": list(blame.found.unknown),
        "tried": blame.found.tried,
        "finding": blame.finding.text,
        "rewrite": rewrite
        and {
            "number": rewrite.number,
            "made": rewrite.made,
            "unknown": rewrite.unknown,
            "operation": rewrite.rewrite.operation,
            "pattern": rewrite.rewrite.pattern,
            "location": rewrite.rewrite.location and str(rewrite.rewrite.location),
        },
        "no_rewrite": blame.no_rewrite,
        "diff": [click.unstyle(line) for line in _diff(blame)],
        "record": str(folder),
        "commands": _commands(blame, folder, loaded),
    }
