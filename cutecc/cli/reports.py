"""Reports on the command line: `cutecc compile --report` writes one while it compiles."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.compilation.events import Event, PassFinished, Planned
from cutecc.errors import Error, RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.folder import read_folder
from cutecc.record.stages import stages_file
from cutecc.report.destination import check_destination
from cutecc.report.live import LiveReport
from cutecc.report.writing import Report, write_report, write_rest

if TYPE_CHECKING:
    from cutecc.cli.jobs import Job


def check_reports(jobs: Sequence[Job], others: Sequence[Path]) -> None:
    """Refuse, before anything is compiled, reports that cannot be written and two of one name.

    `others` are files that the command reads or writes too.
    """
    taken: dict[Path, Job] = {}
    folders = [job.folder for job in jobs if job.folder]
    for job in jobs:
        if job.report is None:
            continue
        path = job.report.resolve()
        if path in (other.resolve() for other in others):
            raise UsageError(f"cannot write the report {job.report}: the command names that file already")
        check_destination(job.report, new_folders=folders)
        other = taken.setdefault(path, job)
        if other is not job:
            raise UsageError(
                f"the reports of {other.label} and {job.label} would both be written to {job.report}",
                hints=["compile them one after the other, each with a --report of its own"],
            )


class Reporting:
    """The report of one job, from its first pass on."""

    def __init__(self, path: Path, output: Callable[[str], Path], on_event: Callable[[Event], None]) -> None:
        """`output` gives the folder of the record for the kernel's name; events go on to `on_event`."""
        self.report: Report | None = None
        """The whole report, when it is written."""
        self._path = path
        self._output = output
        self._on_event = on_event
        self._folder: Path | None = None
        self._live = contextlib.ExitStack()
        self._page: LiveReport | None = None

    def __call__(self, event: Event) -> None:
        """Take an event of the compilation."""
        match event:
            case Planned(compilation=compilation):
                self._folder = self._output(compilation.name)
                stages = self._folder / stages_file(compilation.name)
                self._page = self._live.enter_context(LiveReport(self._path, compilation, stages))
            case PassFinished(step=step):
                if self._page:
                    self._page.passed(step)
            case _:
                pass
        self._on_event(event)

    @contextlib.contextmanager
    def whole(self, failed: Callable[[Error], Compilation] | None = None) -> Generator[None]:
        """Write the whole report when the compilation inside ends, however it does.

        `failed` makes the record of a failure from before there was one; without it, that has no report.
        """
        try:
            with self._live:
                yield
        except Error as error:
            if self._folder or (failed and not isinstance(error, UsageError)):
                self._write_what_there_is(error, failed)
            raise
        except KeyboardInterrupt:
            if self._folder:
                with contextlib.suppress(RecordError, UsageError):
                    write_report(read_folder(self._folder), self._path)
            raise
        assert self._folder is not None
        record = read_folder(self._folder)
        self.report = (
            write_rest(record, self._path, self._page.along) if self._page else write_report(record, self._path)
        )

    def _write_what_there_is(self, error: Error, failed: Callable[[Error], Compilation] | None) -> None:
        """It is the failure that is to be told, also when the report of it cannot be written."""
        try:
            if self._folder:
                record = read_folder(self._folder)
            else:
                assert failed is not None
                record = failed(error)
            error.notes.append(f"wrote {write_report(record, self._path)}")
        except (RecordError, UsageError) as trouble:
            error.notes.append(trouble.message)
