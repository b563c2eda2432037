"""`cutecc watch`: any program, and every kernel that it compiles."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.main import EXIT_FAILED, report
from cutecc.errors import Error, UsageError
from cutecc.support.harmless import one_line
from cutecc.support.open_folder import OpenFolder
from cutecc.target import parse_targets
from cutecc.watching import folder as watch_folder
from cutecc.watching.running import NotStartedError, check_program, end_as, ignoring_option, run
from cutecc.watching.settings import FOLDER, HOOK, WatchSettings, is_off

if TYPE_CHECKING:
    from cutecc.watching.finishing import Finisher, Outcome
    from cutecc.watching.recording import Recording
    from cutecc.watching.specialisations import Specialisations

_EPILOG = """\b
Examples:
  cutecc watch -- python train.py --steps 10
  cutecc watch --only '*gemm*' -o gemms -- torchrun --nproc-per-node 8 train.py
  CUTECC_WATCH=DIR PYTHONPATH=$(cutecc watch --hook-path) python train.py
  cutecc watch --finish DIR --pairs
  cutecc watch --list DIR
"""


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("command", metavar="-- COMMAND …", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder to write; default cutecc-watch."
)
@click.option("--only", multiple=True, metavar="PATTERN", help="Record functions or kernels so named: '*gemm*'.")
@click.option("--lines", is_flag=True, help="Trace with Python lines (they enter the program's own cache keys).")
@click.option("--live", is_flag=True, help="Compile what is recorded while the program still runs.")
@click.option("--target", metavar="NAME,…", help="Compile for these GPUs instead of those of the program.")
@click.option("--no-reports", is_flag=True, help="Make records and artifacts, no report pages.")
@click.option("--pairs", is_flag=True, help="Also set each version of a function beside the one before it.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Compile N at a time; default: processors.")
@click.option("--no-finish", is_flag=True, help="Record only; `cutecc watch --finish DIR` does the rest.")
@click.option("--finish", type=click.Path(path_type=Path), metavar="DIR", help="Compile what was recorded into DIR.")
@click.option("--list", "listed", type=click.Path(path_type=Path), metavar="DIR", help="Print the kernels of DIR.")
@click.option("--hook-path", is_flag=True, help="Print the folder for PYTHONPATH.")
@click.option("--json", "as_json", is_flag=True, help="With --finish, print the index as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.pass_context
def watch(context: click.Context, command: tuple[str, ...], **values: Any) -> None:
    """Run a program, and record every kernel that it compiles through the CuTe DSL, from whatever library.

    The program's output, exit status and results are its own. Afterwards each kernel is compiled again, pass by pass,
    into a record with its report, and DIR/index.html lists them.
    """
    asked = [bool(command), values["finish"] is not None, values["listed"] is not None, values["hook_path"]]
    if sum(asked) != 1:
        raise UsageError(
            "a watch needs one of: a command, --finish, --list, --hook-path",
            hints=["cutecc watch -- python program.py"],
        )
    if values["pairs"] and (values["no_reports"] or values["no_finish"]):
        left_out = "--no-reports" if values["no_reports"] else "--no-finish"
        raise UsageError(f"--pairs needs what {left_out} leaves out")
    if values["hook_path"]:
        click.echo(HOOK)
        return
    if values["listed"]:
        from cutecc.cli.watch_list import show_list

        show_list(values["listed"])
        return
    if values["target"]:
        parse_targets(values["target"])
    if values["finish"]:
        _finish_only(context, values)
        return
    if values["live"] and values["no_finish"]:
        raise UsageError("--live compiles while the program runs, and --no-finish not at all")
    if values["as_json"]:
        raise UsageError("standard output is the program's", hints=["read DIR/index.json, or give --json to --finish"])
    try:
        context.exit(end_as(_watch(command, values)))
    except NotStartedError as error:
        report(error)
        context.exit(error.status)


def _watch(command: tuple[str, ...], values: dict[str, Any]) -> int:
    """Run and finish; the program's exit status."""
    if os.environ.get(FOLDER, "").strip() and is_off(os.environ[FOLDER]):
        return run(command, os.environ)
    folder: Path = values["output"] or Path("cutecc-watch")
    # What an earlier watch recorded is only replaced by what runs.
    check_program(command, os.environ)
    mark = watch_folder.prepare(folder)
    if option := ignoring_option(command):
        _say(f"python {option} does not read PYTHONPATH: no kernel will be recorded")
    settings = WatchSettings(tuple(values["only"]), values["lines"])
    environment = settings.environment(folder, os.environ, mark)
    if values["no_finish"]:
        return run(command, environment)
    # Whatever the program puts in its place, this folder is written to.
    with _opened(folder) as opened:
        live = _Live(_finisher(folder, opened, values), folder, mark) if values["live"] else None
        status = run(command, environment, live.look if live else None)
        try:
            watch_folder.check(folder, mark)
            ended = f"status {status}" if status >= 0 else f"signal {-status}"
            program = {"command": shlex.join(command), "status": status, "ended": ended}
            _finish(folder, opened, live.finisher if live else None, program, values)
        except Error as error:
            # What became of the program is what this command ends with.
            report(error)
        except KeyboardInterrupt:
            _say(f"interrupted; cutecc watch --finish {shlex.quote(str(folder))} does the rest")
    return status


def _opened(folder: Path) -> OpenFolder:
    try:
        return OpenFolder(folder)
    except OSError as failure:
        raise UsageError(f"cannot open the folder {folder}: {failure.strerror}") from None


class _Live:
    """Compiles while the program runs."""

    def __init__(self, finisher: Finisher, folder: Path, mark: str) -> None:
        self.finisher = finisher
        self._folder = folder
        self._mark = mark

    def look(self) -> None:
        """Start with what is new. What cannot be read is told when the program has ended: it goes on."""
        from cutecc.watching.recording import is_recorded, read

        if is_recorded(self._folder):
            with contextlib.suppress(Error, OSError):
                watch_folder.check(self._folder, self._mark)
                self.finisher.add(read(self._folder))


def _finish_only(context: click.Context, values: dict[str, Any]) -> None:
    from cutecc.watching.index import read_program

    folder: Path = values["finish"]
    if ignored := [name for name in ("output", "only", "lines", "live", "no_finish") if values[name]]:
        raise UsageError(f"--{ignored[0].replace('_', '-')} is for running a program, not for --finish")
    program = read_program(folder)
    watch_folder.remove_finished(folder)
    with _opened(folder) as opened:
        outcomes = _finish(folder, opened, None, program, values)
    if values["as_json"]:
        click.echo((folder / watch_folder.DATA).read_text(encoding="utf-8"), nl=False)
    elif not values["quiet"]:
        click.echo(folder / watch_folder.PAGE)
    if any(each.error for each in outcomes):
        context.exit(EXIT_FAILED)


def _finish(
    folder: Path,
    opened: OpenFolder,
    finisher: Finisher | None,
    program: dict[str, Any] | None,
    values: dict[str, Any],
) -> list[Outcome]:
    from cutecc.watching.index import index_data, write_index
    from cutecc.watching.pairs import write_pairs
    from cutecc.watching.recording import Recording, is_recorded, read
    from cutecc.watching.specialisations import specialisations

    recording = read(folder) if is_recorded(folder) or program is None else Recording(folder)
    finisher = finisher or _finisher(folder, opened, values)
    finisher.add(recording)
    outcomes = finisher.outcomes(recording)
    data = index_data(recording, outcomes, program)
    groups = specialisations(data["kernels"])
    if values["pairs"]:
        data["pairs"], notes = write_pairs(folder, data["kernels"], groups, opened.handle)
        data["notes"] = recording.notes = [*recording.notes, *notes]
    write_index(folder, data, opened.handle)
    _summarise(folder, recording, outcomes, values["quiet"])
    if not values["quiet"]:
        _say_versions(data["kernels"], groups)
    return outcomes


_MOST_FUNCTIONS = 5
"""Of which the versions are told after a run; the list has all."""


def _say_versions(kernels: Sequence[Mapping[str, Any]], groups: Sequence[Specialisations]) -> None:
    """What differs between the versions of a function."""
    for group in groups[:_MOST_FUNCTIONS]:
        _say(f"{kernels[group.kernels[0]]['function']}: {len(group.kernels)} versions; {group.text}")
    if len(groups) > _MOST_FUNCTIONS:
        _say(f"and {len(groups) - _MOST_FUNCTIONS} more functions of several versions; the list has all")


def _finisher(folder: Path, opened: OpenFolder, values: dict[str, Any]) -> Finisher:
    from cutecc.watching.finishing import Finisher

    return Finisher(
        folder,
        targets=parse_targets(values["target"]) if values["target"] else [],
        reports=not values["no_reports"],
        workers=values["jobs"] or os.cpu_count() or 1,
        command=["cutecc", *sys.argv[1:]],
        handle=opened.handle,
    )


def _summarise(folder: Path, recording: Recording, outcomes: list[Outcome], quiet: bool) -> None:
    for each in outcomes:
        if each.error:
            _say(f"{each.job.kernel.event.function} for {each.job.target}: {each.error}")
    for note in recording.notes:
        _say(f"note: {note}")
    if why := watch_folder.failure(folder):
        _say(f"recording failed: {one_line(why)}")
    if quiet:
        return
    failed = f", {len(recording.failures)} that did not trace" if recording.failures else ""
    if recording.kernels or recording.failures:
        count = len(recording.kernels)
        page = folder / watch_folder.PAGE
        _say(f"{count} kernel{'' if count == 1 else 's'} recorded{failed}: {page}")
    elif why:
        _say("no kernel was recorded")
    elif (folder / watch_folder.STARTED).exists():
        _say("the program compiled no kernel through the CuTe DSL that was to be recorded")
    else:
        _say("no Python process of the program has read PYTHONPATH, so that no kernel was recorded")


def _say(message: str) -> None:
    # Where nobody hears it, the program's exit status is still its own.
    with contextlib.suppress(OSError):
        click.echo(f"cutecc watch: {message}", err=True)
