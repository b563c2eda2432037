"""Records, inside of a watched program, the kernels that it compiles. Nothing here is to disturb the program."""

from __future__ import annotations

import atexit
import dataclasses
import fnmatch
import hashlib
import os
import threading
from collections.abc import Sequence

from cutecc.frontend import compile_events
from cutecc.frontend.compile_events import FailedTrace, TracedKernel, UnknownDslError
from cutecc.watching.journal import LINES, MODULE, Journal
from cutecc.watching.settings import MARK, WatchSettings

_TIMES_APART = 64
"""A kernel that is taken from memory again and again is counted in lines of the journal that get rarer up to this."""


def begin(folder: str) -> None:
    """Record what this process compiles into `folder`. The DSL's module has just been loaded.

    Raises `UnknownDslError` and `OSError` when that cannot be.
    """
    settings = WatchSettings.from_environment()
    journal = Journal(folder, os.environ.get(MARK, ""))
    recorder = Recorder(journal, settings)
    try:
        compile_events.install(recorder, lines=settings.lines)
    except UnknownDslError as error:
        raise UnknownDslError(f"this version of the CuTe DSL is unknown: {error}") from None
    atexit.register(recorder.close)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.forked)


class Recorder:
    """The listener that writes the journal of this process."""

    def __init__(self, journal: Journal, settings: WatchSettings) -> None:
        self._journal = journal
        self._only = settings.only
        self._known: set[str] = set()
        self._repeats: dict[str, int] = {}
        self._lock = threading.Lock()

    def wants(self, names: Sequence[str]) -> bool:
        """Whether `--only` asks for one of `names`, or nobody chose."""
        return not self._only or any(fnmatch.fnmatchcase(name, each) for name in names for each in self._only)

    def traced(self, kernel: TracedKernel) -> str:
        """Write the kernel, when it is new; only that it came again, when not."""
        text = "\0".join([kernel.target, kernel.options, kernel.name, *map(repr, kernel.parameters)])
        key = hashlib.sha256(kernel.bytecode + text.encode()).hexdigest()[:32]
        with self._lock:
            if key not in self._known:
                self._write(key, kernel)
                self._known.add(key)
        self._journal.write("traced", key=key, seconds=kernel.trace_seconds)
        return key

    def _write(self, key: str, kernel: TracedKernel) -> None:
        self._journal.keep(key + MODULE, kernel.bytecode)
        if kernel.lines:
            from cutecc.watching.recording import encode_lines

            self._journal.keep(key + LINES, encode_lines(kernel.lines))
        facts = {each.name: getattr(kernel, each.name) for each in dataclasses.fields(kernel)}
        del facts["bytecode"], facts["trace_seconds"], facts["lines"]
        facts["called_from"] = dataclasses.asdict(kernel.called_from)
        self._journal.write("kernel", key=key, **facts)

    def compiled(self, key: str, seconds: float, error: str | None) -> None:
        """Write how long the program's own compile took, and how it ended."""
        self._journal.write("compiled", key=key, seconds=seconds, error=error)

    def repeated(self, key: str) -> None:
        """Count a trace that the DSL answered from memory."""
        with self._lock:
            count = self._repeats[key] = self._repeats.get(key, 0) + 1
            if count >= _TIMES_APART:
                self._journal.write("repeated", key=key, times=self._repeats.pop(key))

    def failed(self, trace: FailedTrace) -> None:
        """Write down a kernel that does not trace."""
        facts = dataclasses.asdict(trace)
        self._journal.write("failed", **facts)

    def trouble(self, message: str) -> None:
        """Write down what could not be recorded."""
        try:
            self._journal.write("note", message=message)
        except OSError as failure:
            self._journal.fail(f"{message}; nor can that be noted: {failure.strerror}")

    def forked(self) -> None:
        """Begin anew in a forked process: the other one writes its counts, and its threads may hold the lock."""
        self._lock = threading.Lock()
        self._known.clear()
        self._repeats.clear()

    def close(self) -> None:
        """Write the counts that are left."""
        with self._lock:
            for key, count in self._repeats.items():
                self._journal.write("repeated", key=key, times=count)
            self._repeats.clear()
