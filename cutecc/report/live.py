"""A report that grows while a compilation runs: what is in it stays readable, whatever becomes of the compilation."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from msgspec import structs

from cutecc.errors import RecordError
from cutecc.record import Compilation, Step
from cutecc.record.stages import BlockReader, changed_by
from cutecc.record.whole_file import write_whole
from cutecc.report import page
from cutecc.report.chunks import stage_chunks
from cutecc.report.content import manifest_chunk
from cutecc.report.reading_along import ReadingAlong
from cutecc.report.summary import summary, title

_POLL_SECONDS = 0.1
_MOST_OF_THE_TIME = 0.05
"""Of a run, for writing its manifest anew: that of thousands of passes is large."""


class LiveReport:
    """The report of a compilation that runs in another process, whose stages grow in a file.

    A file that cannot be written does not end the compilation; that comes to light when the whole report is written.
    """

    def __init__(self, path: Path, compilation: Compilation, stages: Path) -> None:
        """Begin the page `path`, which takes the place of an earlier one; `stages` need not be there yet."""
        self._path = path
        self._compilation = replace(compilation, steps=[*compilation.steps])
        self._reader = BlockReader(stages)
        self.along = ReadingAlong()
        """What is read of the stages so far; all of them once this has ended."""
        self._changed: set[int] = set()
        self._lock = threading.Lock()
        self._is_lost = False
        self._is_behind = False
        """Whether the manifest in the page is not that of now."""
        self._next_manifest = 0.0
        """When it may be written again, by the clock of `time.perf_counter`."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> LiveReport:
        with self._lock:
            head = page.head(title(self._compilation), summary(self._compilation))
            try:
                write_whole(self._path, [head, manifest_chunk(self._compilation).element()], "the report")
            except RecordError:
                self._is_lost = True
        self._thread.start()
        self.along.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        try:
            self._thread.join()
            with contextlib.suppress(RecordError):
                self.along.add(self._reader.read())
        finally:
            self.along.end()

    def passed(self, step: Step) -> None:
        """A pass has ended."""
        with self._lock:
            self._compilation.steps.append(structs.replace(step))
            state = "failed" if step.status == "failed" else "done"
            self._append(page.without_javascript(f"{step.index} {step.name}: {state}, {step.seconds * 1e3:.1f} ms"))
            self._is_behind = True
            self._update()

    def _follow(self) -> None:
        """Add stages as they come: the last ones of a run are printed while code is generated."""
        while not self._ended.wait(_POLL_SECONDS):
            with self._lock:
                self._update()

    def _update(self) -> None:
        blocks = self._reader.read()
        self.along.add(blocks)
        self._append(b"".join(chunk.element() for chunk in stage_chunks(blocks)))
        self._changed |= {block.index for block in blocks if block.kind == "S"}
        self._is_behind = self._is_behind or bool(blocks)
        start = time.perf_counter()
        if self._is_behind and start >= self._next_manifest:
            self._append(manifest_chunk(self._current()).element())
            self._is_behind = False
            now = time.perf_counter()
            self._next_manifest = now + (now - start) / _MOST_OF_THE_TIME

    def _current(self) -> Compilation:
        """The record so far."""
        steps = self._compilation.steps
        known = [structs.replace(step, changed=changed_by(step.index, self._changed)) for step in steps]
        return replace(self._compilation, steps=known)

    def _append(self, data: bytes) -> None:
        """In one write, so that a reader never sees half of it."""
        if self._is_lost or not data:
            return
        try:
            with self._path.open("ab", buffering=0) as file:
                self._is_lost = file.write(data) < len(data)
        except OSError:
            self._is_lost = True
