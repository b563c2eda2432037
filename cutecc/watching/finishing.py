"""Compiling what a watch has recorded: passes, artifacts and a report of every kernel, each in a process of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.cache import lookup
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions, CompileRequest
from cutecc.compilation.worker import lower_in_worker
from cutecc.errors import Error, describe
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.record import Compilation, Parameter, Signature
from cutecc.record.folder import read_folder
from cutecc.record.naming import file_name
from cutecc.report.writing import encode_report
from cutecc.support import isolation
from cutecc.support.open_folder import OpenFolder
from cutecc.target import Target
from cutecc.watching.folder import KERNELS, kernel_folder
from cutecc.watching.recording import Recording, WatchedKernel, decode_lines

_POLL_SECONDS = 0.05
REPORT = "report.html"
_OPTION = re.compile(r"([\w-]+)=(?:'([^']*)'|(\S*))")


@dataclass(frozen=True)
class Job:
    """A recorded kernel, and a target to compile it for."""

    key: str
    kernel: WatchedKernel
    target: str
    folder: str
    """The plain name of the record's folder."""


@dataclass(frozen=True)
class Outcome:
    """What came of a job."""

    job: Job
    compilation: Compilation | None
    """The record, also of a compilation that failed; `None` when there is none."""
    error: str | None = None
    has_report: bool = False


class Finisher:
    """Compiles recorded kernels, some at a time, while the program still runs or after it."""

    def __init__(
        self,
        folder: Path,
        *,
        targets: Sequence[Target],
        reports: bool,
        workers: int,
        command: Sequence[str],
        handle: str | None = None,
    ) -> None:
        """`folder` is that of the watch, `handle` that of it where it is held open.

        Of no `targets`, each kernel is compiled for that of the program. Raises `OSError`.
        """
        self._path = folder
        self._folder = OpenFolder(handle or folder)
        self._targets = targets
        self._reports = reports
        self._command = command
        self._pool = ThreadPoolExecutor(max(1, workers))
        self._futures: dict[tuple[str, str], Future[Outcome]] = {}
        self._names: dict[str, int] = {}

    def add(self, recording: Recording) -> None:
        """Start with those kernels of `recording` that are new."""
        for key, kernel in recording.kernels.items():
            for target in [each.name for each in self._targets] or [kernel.event.target]:
                if (key, target) not in self._futures:
                    job = Job(key, kernel, target, self._name(kernel.event.name, target))
                    self._futures[key, target] = self._pool.submit(self._finish, job, recording)

    def outcomes(self, recording: Recording) -> list[Outcome]:
        """What came of every kernel of `recording`, when all are done.

        An interruption ends the processes that still run.
        """
        try:
            found = [future.result() for future in self._futures.values()]
        except KeyboardInterrupt:
            self._pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in self._futures.values()):
                isolation.interrupt()
                time.sleep(_POLL_SECONDS)
            raise
        finally:
            self._pool.shutdown()
            self._folder.close()
        # While the program ran, less was known of a kernel.
        return [replace(each, job=replace(each.job, kernel=recording.kernels[each.job.key])) for each in found]

    def _name(self, kernel: str, target: str) -> str:
        """A folder of its own for each; names that differ in case only are one on some file systems."""
        name = file_name(f"{kernel}-{target}")
        number = self._names[name.lower()] = self._names.get(name.lower(), 0) + 1
        return name if number == 1 else self._name(f"{kernel}-{number}", target)

    def _finish(self, job: Job, recording: Recording) -> Outcome:
        error = None
        try:
            with kernel_folder(self._folder, job.folder) as output:
                try:
                    lower_in_worker(self._request(job, recording, output))
                except Error as failure:
                    error = failure.message
                compilation = read_folder(Path(output.handle))
                if self._reports:
                    page = encode_report(compilation)
                    output.replace(REPORT, lambda file: file.write(page), f".{REPORT}.partial", lasting=True)
            return Outcome(job, compilation, error, has_report=self._reports)
        except (Error, OSError) as failure:
            return Outcome(job, None, error or str(failure))
        except Exception as failure:
            # The program's exit status, and the other kernels, are not to suffer from it.
            return Outcome(job, None, error or f"internal error: {describe(failure)}")

    def _request(self, job: Job, recording: Recording, output: OpenFolder) -> CompileRequest:
        event = job.kernel.event
        lines = recording.lines(job.key)
        options = CompileOptions(
            wheel=wheel_options(event.options),
            artifacts=ALL_ARTIFACTS,
            observe=True,
            analyses=("all",),
            report=self._reports,
        )
        parameters = [Parameter(name, spec, annotation) for name, spec, annotation in event.parameters]
        return CompileRequest(
            recording.module(job.key),
            Target.parse(job.target).name,
            file_name(event.name),
            source=event.file or "-",
            signature=Signature(event.function, parameters),
            options=options,
            output=self._path / KERNELS / job.folder,
            output_handle=output.handle,
            command=self._command,
            trace_seconds=job.kernel.trace_seconds or 0.0,
            lines=decode_lines(lines) if lines else None,
            cache=lookup.wanted(None),
        )


def wheel_options(text: str) -> WheelOptions:
    """The options that the program compiled with, those that decide about the code; others are of its own files."""
    values = {name: quoted or plain for name, quoted, plain in _OPTION.findall(text)}
    return WheelOptions(
        opt_level=int(values["opt-level"]) if values.get("opt-level", "").isdecimal() else 3,
        preserve_line_info=values.get("preserve-line-info") == "true",
        enable_assertions=values.get("enable-assertions") == "true",
        ptx_options=values.get("ptx-options", ""),
        link_libraries=values.get("link-libraries", ""),
    )
