"""`cutecc check`: what read-only analyses find in kernels, by file and line."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cutecc.cli.again import compiled_again
from cutecc.cli.compile_options import compile_options
from cutecc.cli.failures import error_dict
from cutecc.cli.files import is_record
from cutecc.cli.findings import (
    Checked,
    annotation,
    checked,
    finding_dict,
    finding_lines,
    judged_dict,
    judged_lines,
    summary_line,
)
from cutecc.cli.inputs import KernelFile, ModuleFile, choose, compile_request
from cutecc.cli.main import EXIT_UNCHECKED, report
from cutecc.cli.option_texts import split_names
from cutecc.cli.options import backend_option, edit_options, load_option, wheel_options
from cutecc.cli.records import read_records
from cutecc.compilation.request import CompileOptions
from cutecc.compilation.worker import lower_in_worker
from cutecc.config import Settings
from cutecc.errors import Error, RecordError, UsageError
from cutecc.record import Compilation
from cutecc.support.harmless import harmless
from cutecc.target import Target

_EPILOG = """\b
Examples:
  cutecc check examples/elementwise_add.py
  cutecc check kernels/*.py --target sm_90a --error-on=warning
  cutecc check kernel.py --only check-access-width,check-spills
  cutecc check kernel.mlir --target sm_80 --json
  cutecc check cutecc-watch --error-on=warning

Status 0: checked; 1: something that --error-on names was found; 2: a file could not be checked.
"""
_SEVERITIES = ("warning", "remark")
_OF_RECORDS = {"inputs", "target", "only", "error_on", "form", "as_json", "verbose", "quiet"}
"""The parameters that say something of what is compiled already."""


@click.command(epilog=_EPILOG)
@click.argument("inputs", metavar="FILE.py[:FUNCTION]|FILE.mlir|DIR|BUNDLE …", nargs=-1)
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--target", metavar="NAME,…", help="GPU targets, such as sm_90a; 'native' for this machine's GPUs.")
@click.option("--only", multiple=True, metavar="NAME,…", help="Run these analyses; all by default.")
@click.option(
    "--error-on",
    multiple=True,
    metavar="warning|remark|NAME,…",
    help="End with status 1 when there is a warning, anything at all, or a finding of this analysis.",
)
@click.option("--list", "as_list", is_flag=True, help="List the analyses.")
@edit_options
@load_option
@wheel_options
@backend_option
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "github")),
    help="'github' writes annotations of GitHub Actions, as is the default there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Say of each check how much is right, and of how much it cannot tell."
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.pass_context
def check(context: click.Context, inputs: tuple[str, ...], **values: Any) -> None:
    """Look for what usually costs speed, hangs or is wrong, without running kernels.

    Compiles for one or several targets and prints what the analyses found, in the order of the source: narrow and
    uncoalesced accesses of memory, bank conflicts, divisions in loops, spills; barriers and operations of a warp that
    not all reach, fragments that are read before they are written, bulk copies that several threads issue, launches
    that no GPU takes; mbarriers whose bytes, arrivals or first waits do not fit, barriers that collide, fences that
    are missing, registers and tensor memory that there are not. Needs no GPU.

    Of a record, a folder or bundle that was made with a report, it prints what was found when that was compiled.
    """
    from cutecc.passes.analysis.selection import ALL, check_names, select, summaries

    if values["as_list"]:
        _list(summaries())
        return
    if not inputs:
        raise UsageError("name the files to check", hints=["cutecc check kernel.py"])
    wanted = split_names(values["error_on"])
    check_names(wanted, [*_SEVERITIES, *summaries()])
    texts = split_names(values["only"]) or (ALL,)
    selection = select(texts)
    if left_out := [name for name in wanted if name not in (*_SEVERITIES, *selection.names)]:
        raise UsageError(f"--error-on={left_out[0]}: --only leaves it out", hints=["name it there too"])
    if all(map(is_record, inputs)):
        _refuse_options(context)
    options = _options(values, texts, bool(selection.of_records), {each.looks_after for each in selection.passes})
    results: list[Checked | Error] = []
    for text in inputs:
        results += _recorded(text, values, selection.names) if is_record(text) else _check(text, values, options)
    _show(results, values, wanted)
    context.exit(_status(results, wanted))


def _status(results: Sequence[Checked | Error], wanted: Sequence[str]) -> int:
    """The status to end with."""
    if any(isinstance(each, Error) or each.crashed or each.nothing_ran for each in results):
        return EXIT_UNCHECKED
    return 1 if any(_is_wanted(each, wanted) for each in results) else 0


def _list(analyses: Mapping[str, str]) -> None:
    width = max(map(len, analyses))
    for name, text in analyses.items():
        click.echo(f"{name:{width}}  {text}")


def _options(values: dict[str, Any], texts: Sequence[str], whole: bool, looks_after: set[str | None]) -> CompileOptions:
    """How to compile for these analyses: no further than they look."""
    options = compile_options(values)
    is_plain = not whole and not values["pipeline"] and not options.edits
    return replace(
        options,
        stop_after=_last(looks_after) if is_plain else None,
        line_info=whole or options.line_info,
        artifacts=("ptx", "cubin", "sass") if whole else (),
        analyses=tuple(texts),
        observe=whole,
        locations=True,
    )


def _last(looks_after: set[str | None]) -> str:
    """The last pass of the `nvidia` pipeline that is needed."""
    from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline

    pipeline = nvidia_pipeline("sm_90a")
    names = pipeline.selectors()
    wanted = {each.removesuffix("#1") for each in looks_after if each} | {each for each in looks_after if each}
    return names[max((index for index, name in enumerate(names) if name in wanted), default=0)]


def _check(text: str, values: dict[str, Any], options: CompileOptions) -> list[Checked | Error]:
    """What came of one input, for each target."""
    try:
        chosen = choose(text, values["args"], values["entry"], values["target"], Settings.from_environment())
    except Error as error:
        return [error]
    found: list[Checked | Error] = []
    for target in chosen.targets:
        try:
            found.append(checked(text, _compiled(chosen, target, options)))
        except Error as error:
            found.append(error)
    return found


def _recorded(text: str, values: dict[str, Any], names: Sequence[str]) -> list[Checked | Error]:
    """What the analyses found when the records in a folder or bundle were made."""
    try:
        records = read_records(Path(text), values["target"])
    except Error as error:
        return [error]
    found: list[Checked | Error] = []
    for record in records:
        missing = [name for name in names if name not in {each.name for each in record.analyses}]
        lacking = _not_recorded(text, record, missing)
        if record.analyses and missing and values["only"]:
            found.append(lacking)
            continue
        keeping = ("--report", f"{record.name}.html")
        try:
            analysed = record if record.analyses else compiled_again(record, Path(text), lacking, keeping)
        except Error as error:
            found.append(error)
            continue
        chosen = [each for each in analysed.analyses if not values["only"] or each.name in names]
        found.append(checked(text, replace(analysed, analyses=chosen)))
    return found


def _not_recorded(text: str, record: Compilation, missing: Sequence[str]) -> RecordError:
    hints = ["compile with --report: all analyses are then in the record"]
    if record.source and record.source.endswith(".py") and Path(record.source).is_file():
        hints.append(f"or check the kernel: {_check_command(record.command, record.source, record.target)}")
    what = f"results of {', '.join(missing)}" if record.analyses else "results of analyses"
    return RecordError(f"the record of {record.name} for {record.target} in {text} holds no {what}", hints=hints)


def _check_command(command: Sequence[str], source: str, target: str) -> str:
    """The command line that checks what `command` compiled, with the same arguments."""
    words = ["cutecc", "check", source]
    for word, value in zip(command, [*command[1:], ""], strict=True):
        option, _, joined = word.partition("=")
        if option in ("--arg", "--entry"):
            words += [option, joined or value]
    return shlex.join([*words, "--target", target])


def _refuse_options(context: click.Context) -> None:
    """Raise `UsageError` for an option that says how to compile."""
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name not in _OF_RECORDS:
            raise UsageError(f"a record is compiled already: {parameter.opts[0]} is for Python files and modules")


def _compiled(chosen: KernelFile | ModuleFile, target: Target, options: CompileOptions) -> Compilation:
    from cutecc.compilation.from_file import lower_file

    if isinstance(chosen, ModuleFile):
        if chosen.stage and chosen.stage.after:
            options = replace(options, start_after=chosen.stage.after)
        return lower_in_worker(compile_request(chosen, target, options))
    request = compile_request(chosen, target, options)
    return lower_file(chosen.request, request, cache=False)


def _is_wanted(result: Checked | Error, wanted: Sequence[str]) -> bool:
    """Whether there is a finding that `--error-on` asks for."""
    if isinstance(result, Error):
        return False
    names = {*wanted, "warning"} if "remark" in wanted else {*wanted}
    return any({each.analysis, each.severity} & names for each in result.findings)


def _show(results: Sequence[Checked | Error], values: dict[str, Any], wanted: Sequence[str]) -> None:
    if values["as_json"]:
        ok = not any(isinstance(each, Error) or each.crashed or _is_wanted(each, wanted) for each in results)
        click.echo(json.dumps({"ok": ok, "results": [_as_dict(each) for each in results]}, indent=2))
    form = values["form"] or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    for each in results:
        if isinstance(each, Error):
            report(each)
        elif not values["as_json"]:
            _show_checked(each, form, colour)
            if values["verbose"]:
                for line in judged_lines(each):
                    click.echo(harmless(line))
            if not values["quiet"]:
                click.echo(harmless(summary_line(each)))


def _show_checked(checked: Checked, form: str, colour: bool | None) -> None:
    for finding in checked.findings:
        for line in [annotation(finding)] if form == "github" else finding_lines(finding):
            click.echo(harmless(line), color=colour)
    for run in checked.runs:
        if run.failure:
            click.echo(harmless(f"note: {run.name}: {run.failure}"), err=True)


def _as_dict(result: Checked | Error) -> dict[str, Any]:
    if isinstance(result, Error):
        return {"ok": False, "error": error_dict(result)}
    return {
        "file": result.source,
        "kernel": result.kernel,
        "target": result.target,
        "analyses": [
            {"name": each.name, "seconds": each.seconds, "failure": each.failure, "judged": judged_dict(each)}
            for each in result.runs
        ],
        "findings": [finding_dict(each) for each in result.findings],
    }
