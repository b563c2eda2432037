"""What `cutecc compile` shows: progress while it works, then tables of passes and resources."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cutecc.cli.console import Console
from cutecc.cli.diagnostics import show as show_diagnostic
from cutecc.cli.diagnostics import show_warnings
from cutecc.cli.pass_table import pass_table
from cutecc.cli.tables import plain_table, print_table
from cutecc.compilation.events import ArtifactsStarted, Event, Parsed, PassFinished, PassStarted, Planned
from cutecc.errors import SourceLocation
from cutecc.ir.diagnostics import Diagnostic
from cutecc.record import Compilation, KernelResources, Remark, manifest
from cutecc.record.naming import short_kernel_name
from cutecc.report.writing import Report


@dataclass(frozen=True)
class Outcome:
    """A compilation that succeeded."""

    compilation: Compilation
    output: Path
    report: Report | None = None
    """The page that was written."""


class Reporter:
    """The terminal, for one command.

    Progress goes to standard error when that is a terminal. Results go to standard output: tables on a terminal, only
    the folder's name into a pipe, so that scripts can use it; `verbose` prints tables anyway.
    """

    def __init__(
        self,
        jobs: Sequence[str],
        *,
        as_list: bool,
        as_json: bool,
        quiet: bool,
        verbose: bool,
        timing: bool,
        brief: bool,
    ) -> None:
        """`jobs` are what the user calls each job; `brief` leaves out the tables of passes, unless `verbose`."""
        self.outcomes: list[Outcome] = []
        self.bundle: Path | None = None
        """The bundle that was written."""
        self._jobs = jobs
        self._as_list = as_list
        self._as_json = as_json
        self._quiet = quiet
        self._verbose = verbose
        self._timing = timing
        self._brief = brief
        self._console = Console()
        errors = Console(stderr=True)
        self._progress = Progress(
            TextColumn("[bold]{task.fields[job]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=errors,
            transient=True,
            disable=quiet or not errors.is_terminal,
        )
        self._tasks: dict[int, TaskID] = {}
        self._all = self._progress.add_task("", total=len(jobs), job="all") if len(jobs) > 1 else None
        self._remarks: dict[Remark, None] = {}

    def __enter__(self) -> Reporter:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, number: int) -> None:
        """The job of that number begins, with tracing."""
        self._tasks[number] = self._progress.add_task("tracing", total=None, job=escape(self._jobs[number]))

    def end(self, number: int) -> None:
        """The job of that number is over."""
        if self._all is not None:
            self._progress.remove_task(self._tasks[number])
            self._progress.advance(self._all)

    def follow(self, number: int) -> Callable[[Event], None]:
        """A function that shows the events of the job of that number."""
        task = self._tasks[number]

        def on_event(event: Event) -> None:
            match event:
                case Planned():
                    self._progress.update(task, total=event.total, completed=event.first - 1)
                case PassStarted():
                    self._progress.update(task, completed=event.index - 1, description=event.name)
                case ArtifactsStarted():
                    self._progress.update(task, description="artifacts")
                case PassFinished():
                    # Several targets often say the same.
                    self._remarks.update(dict.fromkeys(event.step.remarks))
                    self._progress.advance(task)
                case Parsed():
                    self._progress.advance(task)
                case _:
                    pass

        return on_event

    def show(self) -> None:
        """Show the outcomes, in order, after what passes have said."""
        if not self._quiet:
            self._show_remarks()
        if self._as_json:
            if self.outcomes or self._as_list:
                self._show_json()
        elif self._quiet:
            pass
        elif self._console.is_terminal or self._verbose:
            for outcome in self.outcomes:
                self._show_tables(outcome)
            if self.bundle:
                self._show_bundle(self.bundle)
        else:
            self._show_paths()
        if self._timing and not self._as_json:
            for outcome in self.outcomes:
                print_table(timing_table(outcome.compilation), self._console)

    def _show_remarks(self) -> None:
        for remark in self._remarks:
            place = SourceLocation.parse(remark.location) if remark.location else None
            show_diagnostic(Diagnostic(remark.severity, remark.message, place))
        for outcome in self.outcomes:
            show_warnings(outcome.compilation.warnings, outcome.compilation.source)

    def _show_paths(self) -> None:
        """What was written, for programs that read it."""
        for outcome in self.outcomes:
            print(outcome.output)
            if outcome.report:
                print(outcome.report.path)
        if self.bundle:
            print(self.bundle)

    def _show_json(self) -> None:
        also = {"bundle": str(self.bundle)} if self.bundle else {}
        manifests = [_manifest(outcome) | also for outcome in self.outcomes]
        print(json.dumps(manifests if self._as_list else manifests[0], indent=2))

    def _show_bundle(self, path: Path) -> None:
        targets = ", ".join(outcome.compilation.target for outcome in self.outcomes)
        size = path.stat().st_size / 1e3
        self._console.print(Text.assemble("wrote ", (str(path), "bold"), f": a bundle for {targets}, {size:.0f} kB"))

    def _show_tables(self, outcome: Outcome) -> None:
        compilation = outcome.compilation
        total = sum(compilation.seconds.values())
        self._console.print(
            Text.assemble(
                (compilation.name, "bold"),
                " for ",
                (compilation.target, "bold"),
                f": {len(compilation.steps)} passes, {sum(bool(step.changed) for step in compilation.steps)} changed "
                f"the IR, {total:.2f} s{', from the cache' if compilation.cached else ''}",
            ),
            highlight=False,
        )
        if self._verbose or not self._brief:
            print_table(pass_table(compilation, verbose=self._verbose, width=self._console.width), self._console)
        if compilation.resources:
            print_table(resource_table(compilation.resources), self._console)
        files = [artifact.file for artifact in compilation.artifacts]
        dumps = sum(step.dump is not None for step in compilation.steps) + (compilation.traced is not None)
        what = ", ".join([*([f"{dumps} dumps"] if dumps else []), *files, "manifest.json"])
        self._console.print(Text.assemble("wrote ", (f"{outcome.output}/", "bold"), f": {what}"))
        if outcome.report:
            self._console.print(report_line(outcome.report), soft_wrap=True)


def _manifest(outcome: Outcome) -> dict[str, Any]:
    report = {"report": str(outcome.report.path)} if outcome.report else {}
    return json.loads(manifest.encode(outcome.compilation)) | report


def report_line(report: Report) -> Text:
    """`wrote out.html: …`"""
    return Text.assemble("wrote ", (str(report.path), "bold"), str(report).removeprefix(str(report.path)))


def resource_table(resources: list[KernelResources]) -> Table:
    """What each kernel takes of an SM."""
    table = plain_table()
    # Without `no_wrap`: columns that have it take all the room they want before the others get any.
    table.add_column("kernel", overflow="ellipsis", min_width=12)
    for heading in ("registers", "spills", "stack", "shared", "constant"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("occupancy", overflow="fold")
    for entry in resources:
        spills = (entry.spill_store_bytes or 0) + (entry.spill_load_bytes or 0)
        dynamic = "?" if entry.shared_dynamic_bytes is None else str(entry.shared_dynamic_bytes)
        table.add_row(
            short_kernel_name(entry.kernel),
            str(entry.registers),
            "?" if entry.spill_store_bytes is None else f"{spills} B",
            f"{entry.stack_bytes} B",
            f"{entry.shared_static_bytes}+{dynamic} B",
            f"{entry.constant_bytes} B",
            _occupancy(entry),
        )
    return table


def _occupancy(entry: KernelResources) -> str:
    occupancy = entry.occupancy
    if occupancy is None:
        return "block size known at launch"
    blocks = f"{occupancy.blocks_per_sm} × {occupancy.block_threads} threads an SM"
    return f"{occupancy.percent}% ({blocks}, limited by {', '.join(occupancy.limited_by)})"


def timing_table(compilation: Compilation) -> Table:
    """Where the time went: stages and passes, longest first."""
    rows: list[tuple[str, float]] = [(step.name, step.seconds) for step in compilation.steps]
    observers = compilation.seconds.get("passes", 0.0) - sum(seconds for _, seconds in rows)
    rows += [(f"({stage})", compilation.seconds.get(stage, 0.0)) for stage in ("trace", "parse", "artifacts")]
    rows.append(("(observing passes)", max(0.0, observers)))
    total = sum(seconds for _, seconds in rows) or 1.0
    table = plain_table()
    table.add_column("time by pass and stage")
    table.add_column("ms", justify="right")
    table.add_column("share", justify="right")
    for name, seconds in sorted(rows, key=lambda row: -row[1]):
        table.add_row(name, f"{seconds * 1e3:.1f}", f"{seconds / total:.1%}")
    table.add_row("total", f"{total * 1e3:.1f}", "100.0%", style="bold")
    return table
