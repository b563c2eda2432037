"""`cutecc versions`: the same kernels in several versions of the DSL, of their source, or ways to compile them."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.console import progress_bar
from cutecc.cli.device import chosen_device
from cutecc.cli.main import EXIT_FAILED
from cutecc.cli.streams import output_to_stderr
from cutecc.config import Settings
from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.versions.columns import Column
    from cutecc.versions.comparison import Comparison, Filled, How
    from cutecc.versions.conditions import Checked, Condition
    from cutecc.versions.recording import Asked

_NO_NAME = re.compile(r"""^-|[\s,'"]""")
_EPILOG = """\b
Examples:
  cutecc versions kernel.py --across 4.7.1,4.8.1,4.8.1[cu13] --target sm_90a
  cutecc versions kernel.py --across git:HEAD~1,.
  cutecc versions kernel.py --across nvidia,open,'open --opt-level 1'
  cutecc versions kernel.py --across 4.7.1,mine --env mine=~/venv/bin/python
  cutecc versions --across 4.7.1,4.8.1 --from quack-kernels --watch -- python train.py
  cutecc versions kernels/*.py --across 4.8.1 --json > baseline.json
  cutecc versions kernels/*.py --across 4.8.1 --baseline baseline.json --fail-on 'registers>+8, spills>0, results'

Status 0; 1: something of --fail-on is so, or something does not compile; 2: the request is wrong, or an environment
cannot be made.
"""


@click.command(epilog=_EPILOG)
@click.argument("kernels", nargs=-1, metavar="[KERNEL.py[:FUNCTION]…]")
@click.option("--across", multiple=True, metavar="COLUMN,…", help="What to compare; the first is the norm.")
@click.option("--env", "environments", multiple=True, metavar="NAME=PYTHON", help="An environment that exists.")
@click.option("--from", "packages", multiple=True, metavar="PACKAGE", help="Install it in environments that are made.")
@click.option("--watch", is_flag=True, help="The words are a program: record what it compiles, in each column.")
@click.option("--target", metavar="NAME,…", help="What to compile for; by default as the file says.")
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: alpha='f32=0.5'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N,…", help="Sizes to run with; by default several.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the inputs.")
@click.option("--device", metavar="NAME", help="cuda:0, or cpu, the emulator; by default a GPU if any.")
@click.option("--no-run", is_flag=True, help="Compile and compare code only.")
@click.option("--no-time", is_flag=True, help="On a GPU, do not time.")
@click.option("--baseline", metavar="FILE", type=click.Path(path_type=Path), help="Compare with an earlier --json.")
@click.option("--fail-on", metavar="CONDITIONS", help="registers>+8, spills>0, width<, time>+5%, results.")
@click.option("-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="Keep the records there.")
@click.option("--report", metavar="DIR", type=click.Path(path_type=Path), help="Write a page for each two that differ.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Compile N at a time; default: processors.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print what --fail-on finds only.")
@click.option("-v", "--verbose", is_flag=True, help="Print every number, and every line that differs.")
@click.pass_context
def versions(context: click.Context, kernels: tuple[str, ...], **values: Any) -> None:
    """Say what changed in kernels between versions of nvidia-cutlass-dsl, of their source, or pipelines.

    A column is a version of the wheel, with its flavour (4.8.1[cu13]); installed; a name of --env; git:REVISION, or .
    for the working tree; a pipeline or code generator; options of cutecc compile; or several of these, with blanks
    between them. Each is compiled in a process of its own. Environments for versions are made once, by uv where that is
    installed, and kept beside the cache.
    """
    from cutecc.versions.columns import parse_columns
    from cutecc.versions.comparison import compare_columns, fill, read_comparison, with_baseline
    from cutecc.versions.conditions import checked, parse_conditions

    environments = _environments(values["environments"])
    columns = parse_columns(values["across"] or [*environments], environments)
    conditions = parse_conditions(values["fail_on"]) if values["fail_on"] else []
    baseline = read_comparison(values["baseline"]) if values["baseline"] else None
    _check(columns, kernels, values)
    _check_conditions(columns, conditions, values)
    with _folder(values["output"]) as folder, output_to_stderr(values["as_json"]), _how(values) as how:
        _check_device(conditions, how)
        with progress_bar(wanted=not values["quiet"], elapsed=True) as bar:
            task = bar.add_task("columns compiled", total=len(columns))
            each = replace(how, on_step=lambda: bar.advance(task))
            filled = fill(columns, _asked(kernels, values), folder, each)
        comparison = compare_columns(filled, how)
        pages = _pages(filled, comparison, values["report"]) if values["report"] else []
    if baseline:
        comparison = with_baseline(comparison, baseline)
    result = checked(comparison, conditions, earlier=baseline is not None)
    _print(result, pages, values)
    if result.breaches:
        context.exit(EXIT_FAILED)


def _environments(texts: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, python = text.partition("=")
        if not equals or not name or not python:
            raise UsageError(f"--env {text}: no NAME=PYTHON", hints=["as in --env mine=~/venv/bin/python"])
        if _NO_NAME.search(name):
            raise UsageError(f"--env {text}: a name has no blanks, commas or quotes, and does not begin with -")
        if name in found:
            raise UsageError(f"--env names {name} twice")
        found[name] = Path(python).expanduser().absolute()
    return found


def _check(columns: Sequence[Column], kernels: tuple[str, ...], values: dict[str, Any]) -> None:
    if not kernels:
        raise UsageError("name the kernels", hints=["or with --watch a program that compiles some"])
    if not columns:
        raise UsageError("name what to compare", hints=["as in --across 4.7.1,4.8.1 or --across git:HEAD~1,."])
    if len(columns) < 2 and not values["baseline"] and not values["as_json"]:
        raise UsageError(
            f"--across {columns[0].name} is one column: there is nothing to compare it with",
            hints=["name a second, or a --baseline; --json alone writes one"],
        )
    _check_environments(columns, values)
    if values["no_run"]:
        for name in ("device", "sizes", "no_time"):
            if values[name]:
                raise UsageError(
                    f"--{ {'sizes': 'size'}.get(name, name.replace('_', '-')) } is for runs, beside --no-run"
                )
    if values["watch"] and (values["args"] or values["entry"]):
        raise UsageError("--arg and --entry are for kernel files, and --watch for a program")


def _check_environments(columns: Sequence[Column], values: dict[str, Any]) -> None:
    named = {each.environment for each in columns}
    for text in values["environments"]:
        if (name := text.partition("=")[0]) not in named:
            raise UsageError(
                f"--env {name}: no column of --across is called so", hints=[f"as in --across 4.8.1,{name}"]
            )
    if values["packages"] and not any(each.wheel for each in columns):
        raise UsageError("--from is for environments that are made, and --across names no version")


def _check_conditions(columns: Sequence[Column], conditions: Sequence[Condition], values: dict[str, Any]) -> None:
    """Conditions that could never hold are mistakes, for what they guard against would pass."""
    if conditions and len(columns) < 2 and not values["baseline"]:
        raise UsageError(
            f"--across {columns[0].name} is one column: there is nothing to compare it with",
            hints=["name a second, or a --baseline, beside --fail-on"],
        )
    for each in conditions:
        if values["no_run"] and each.needs_runs:
            raise UsageError(f"--fail-on {each.text}: {each.name} needs runs, beside --no-run")
        if values["no_time"] and each.needs_times:
            raise UsageError(f"--fail-on {each.text}: {each.name} needs times, beside --no-time")


def _check_device(conditions: Sequence[Condition], how: How) -> None:
    """The same of times, where kernels run on the emulator."""
    timed = next((each for each in conditions if each.needs_times), None)
    if timed and how.trial and how.trial.device.kind == "cpu":
        raise UsageError(f"--fail-on {timed.text}: {timed.name} needs a GPU, and kernels run on the CPU")


def _asked(kernels: tuple[str, ...], values: dict[str, Any]) -> Asked:
    from cutecc.versions.recording import Asked

    options = [word for text in values["args"] for word in ("--arg", text)]
    options += ["--entry", values["entry"]] if values["entry"] else []
    named = () if values["watch"] else kernels
    return Asked(named, values["target"], tuple(options), kernels if values["watch"] else ())


@contextlib.contextmanager
def _folder(output: Path | None) -> Generator[Path]:
    """Where records go, which nobody is left with who does not name it."""
    if output is None:
        with tempfile.TemporaryDirectory(prefix="cutecc-") as folder:
            yield Path(folder)
        return
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"--output {output}: it is there already", hints=["name a new folder, or an empty one"])
    yield output.absolute()


@contextlib.contextmanager
def _how(values: dict[str, Any]) -> Generator[How]:
    from cutecc.harness.sizes import parse_sizes
    from cutecc.versions.comparison import How
    from cutecc.workbench.compared import Trial
    from cutecc.workbench.running import Settings as RunSettings

    how = How(
        Settings.from_environment(),
        values["packages"],
        jobs=values["jobs"] or os.cpu_count() or 1,
        on_event=lambda text: None if values["quiet"] else click.echo(text, err=True),
    )
    if values["no_run"]:
        yield how
        return
    sizes = parse_sizes(values["sizes"]) if values["sizes"] else ()
    with chosen_device(values["device"], quiet=True) as device:
        trial = Trial(device, sizes, values["seed"], settings=RunSettings(timed=not values["no_time"]))
        yield replace(how, trial=trial)


def _pages(filled: Sequence[Filled], comparison: Comparison, folder: Path) -> list[Path]:
    from cutecc.versions.pages import write_pages

    return write_pages(filled, comparison, folder)


def _print(result: Checked, pages: Sequence[Path], values: dict[str, Any]) -> None:
    from cutecc.cli.versions_table import echo_json, show, show_breaches

    if values["as_json"]:
        echo_json(result)
    elif not values["quiet"]:
        show(result, verbose=values["verbose"])
    for page in pages:
        click.echo(f"wrote {page}", err=values["as_json"])
    if not values["as_json"]:
        show_breaches(result, asked=bool(values["fail_on"]))
