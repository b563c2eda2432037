"""Observers of a pipeline: what puts steps into the record, writes dumps, and verifies."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cutecc.compilation.events import PassFinished, PassStarted, Said
from cutecc.errors import PassError, RecordError
from cutecc.ir.modules import content_hash, to_bytecode
from cutecc.ir.snapshots import Reading, Request, SnapshotReader
from cutecc.passes.dumps import DumpChoice, Stage, input_name, numbered, stage_line
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.summaries import summary_of
from cutecc.passes.verifying import verify_after
from cutecc.record import Artifact, Compilation, Remark, Step
from cutecc.record.folder import RecordFolder
from cutecc.record.stages import UserLines, create, stages_file
from cutecc.support.forks import TemporaryFolder

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


_PROGRESS_SECONDS, _PROGRESS_SHARE = 0.05, 0.02
"""Of a run, for manifests in between: this long, enough for a hundred passes, or this share of a longer one."""


class StepRecorder(Observer):
    """Adds a step to the record for every pass that ran or failed. Comes first among observers."""

    def __init__(self, compilation: Compilation, emit: Callable[[Said | PassFinished], None] | None = None) -> None:
        self._compilation = compilation
        self._emit = emit
        self._remarks: list[Remark] = []

    def remarked(self, position: Position, remark: Remark) -> None:
        own_file = self._compilation.own_file
        if own_file and remark.location and remark.location.startswith("-:"):
            remark = msgspec.structs.replace(remark, location=own_file + remark.location[1:])
        self._remarks.append(remark)
        if self._emit:
            self._emit(Said(position.index, position.pass_.name, remark))

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        self._add(position, seconds)

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        steps = self._compilation.steps
        if not steps or steps[-1].index != position.index:
            self._add(position, seconds)
        steps[-1].status = "failed"

    def _add(self, position: Position, seconds: float) -> None:
        pass_ = position.pass_
        step = Step(
            position.index,
            pass_.name,
            str(pass_),
            pass_.provider,
            seconds=seconds,
            remarks=self._remarks,
            summary=summary_of(pass_),
        )
        self._remarks = []
        self._compilation.steps.append(step)
        if self._emit:
            self._emit(PassFinished(step))


class ProgressSaver(Observer):
    """Writes the manifest as passes end, so that a run that is killed leaves its steps. Comes last among observers."""

    def __init__(self, compilation: Compilation, folder: RecordFolder, snapshots: SnapshotRecorder) -> None:
        self._compilation = compilation
        self._folder = folder
        self._snapshots = snapshots
        self._began = time.perf_counter()
        self._spent = 0.0

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        start = time.perf_counter()
        if self._spent > max(_PROGRESS_SECONDS, _PROGRESS_SHARE * (start - self._began)):
            return
        self._snapshots.complete_known()
        # What cannot be written shows when the whole record is.
        with contextlib.suppress(RecordError):
            self._folder.save_progress(self._compilation)
        self._spent += time.perf_counter() - start


class Announcer(Observer):
    """Says which pass is about to run, so that another process knows it if this one dies."""

    def __init__(self, emit: Callable[[PassStarted], None]) -> None:
        self._emit = emit

    def before(self, position: Position, module: ir.Module) -> None:
        self._emit(PassStarted(position.index, position.pass_.name))


class VerifyEach(Observer):
    """Has MLIR verify the module after each pass, and fails the pass that left it invalid."""

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        verify_after(position.pass_, module)


class SnapshotRecorder(Observer):
    """Finds out what each pass changed, counts operations, and writes dumps, all in a second process.

    Needs the `StepRecorder` of the same record to be told first.
    """

    def __init__(
        self,
        compilation: Compilation,
        *,
        dumps: DumpChoice = DumpChoice(),
        folder: RecordFolder | None = None,
        selectors: Sequence[str] = (),
        offset: int = 0,
        stage: Stage | None = None,
        keep_stages: bool = False,
        lines: UserLines | None = None,
    ) -> None:
        """`selectors` name the passes in the whole pipeline, `offset` of which come before them; `stage` is what the
        header of a dump says beside the position, so that a run can go on from it. With `keep_stages` the record gets
        the module after each pass that changed it (`cutecc.record.stages`), and `lines`, what the trace knows.

        Raises `RecordError` when the file of the stages cannot be written.
        """
        self._compilation = compilation
        self._dumps = dumps
        self._folder = folder
        self._selectors = selectors
        self._offset = offset
        self._stage = stage
        self._reader = SnapshotReader()
        self._scratch = TemporaryFolder()
        self._hash = ""
        self._latest = b""
        """The module before the pass that runs."""
        self._after: set[int] = set()
        self._before: set[int] = set()
        self._total = 0
        self._stages = self._create_stages(lines) if keep_stages else None

    def _create_stages(self, lines: UserLines | None) -> Path:
        name = stages_file(self._compilation.name)
        path = self._folder.reserve(name) if self._folder else Path(self._scratch.name) / name
        try:
            create(path, lines)
        except OSError as failure:
            raise RecordError(f"cannot write {path}: {failure.strerror}") from None
        # In the record from the start: what a run that dies has written is there to be read.
        self._compilation.artifacts.append(Artifact("stages", name))
        return path

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        self._total = self._offset + len(pipeline)
        self._after = self._chosen(pipeline, self._dumps.after)
        self._before = self._chosen(pipeline, self._dumps.before)
        self._latest = bytecode = to_bytecode(module)
        self._hash = content_hash(bytecode)
        name = self._name(self._offset, input_name(self._offset), "") if self._dumps else None
        self._submit(0, bytecode, name, only_if_changed=False, after=self._stage_before(0))

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        self._submit_input(position)

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        bytecode = to_bytecode(module)
        digest = content_hash(bytecode)
        wanted = position.index in self._after
        if digest == self._hash and not (wanted and self._dumps.unchanged):
            self._compilation.steps[-1].changed = False
            if self._dumps.unchanged:
                self._submit_input(position)
        else:
            self._hash = digest
            self._submit_input(position)
            name = self._name(position.index, position.pass_.name, "") if wanted else None
            after = self._stage_before(position.index - self._offset)
            self._submit(position.index, bytecode, name, only_if_changed=not self._dumps.unchanged, after=after)
        self._latest = bytecode
        self._take(self._reader.poll())

    def finish(self) -> None:
        """Wait for the readings that are still out, and complete the record's steps."""
        self._take(self._reader.finish())
        if self._stages:
            with contextlib.suppress(OSError):  # somebody else removed it
                self._compilation.files[self._stages.name] = self._stages.read_bytes()
        self._scratch.cleanup()
        self._complete(self._compilation.steps)

    def complete_known(self) -> None:
        """Complete the record's steps up to the first whose module is still to be read."""
        self._take(self._reader.poll())
        self._complete(itertools.takewhile(lambda step: step.changed is not None, self._compilation.steps))

    def _complete(self, steps: Iterable[Step]) -> None:
        operations = self._compilation.traced_operations
        for step in steps:
            step.operations_before = operations
            if step.changed is not False and step.operations_after is not None:
                operations = step.operations_after
            if step.status == "ok":
                step.operations_after = operations

    def _submit(self, key: int, bytecode: bytes, name: str | None, *, only_if_changed: bool, after: str | None) -> None:
        path = Path(self._scratch.name) / f"{key}.mlirbc"
        path.write_bytes(bytecode)
        text = str(self._folder.reserve(name)) if name and self._folder else None
        header = stage_line(replace(self._stage, after=after)) if self._stage else ""
        request = Request(key, str(path), text, only_if_changed, header, self._dumps.locations)
        if self._stages and key >= 0:
            own_file = self._compilation.own_file
            request = replace(request, stages=str(self._stages), stage=key or self._offset, own_file=own_file)
        self._reader.submit(request)

    def _take(self, readings: list[Reading]) -> None:
        steps = {step.index: step for step in self._compilation.steps}
        for reading in readings:
            if reading.error:
                message = f"the module after this pass cannot be read back, so there is no dump of it: {reading.error}"
                if step := steps.get(abs(reading.key)):
                    step.remarks.append(Remark("warning", message))
                    step.changed = True
                continue
            file = Path(reading.text).name if reading.text else None
            if reading.key == 0:
                self._compilation.traced = file
                self._compilation.traced_operations = reading.operations
            elif reading.key < 0:
                if step := steps.get(-reading.key):
                    step.dump_before = file
            elif step := steps.get(reading.key):
                step.changed = reading.changed
                step.operations_after = reading.operations
                step.dump = file

    def _submit_input(self, position: Position) -> None:
        if position.index in self._before:
            name = self._name(position.index, position.pass_.name, ".before")
            after = self._stage_before(position.index - self._offset - 1)
            self._submit(-position.index, self._latest, name, only_if_changed=False, after=after)

    def _stage_before(self, local_index: int) -> str | None:
        """What a module is called that `local_index` of the passes of this run have rewritten."""
        if local_index == 0:
            return self._stage.after if self._stage else None
        return self._selectors[local_index - 1] if self._selectors else None

    def _chosen(self, pipeline: Pipeline, selectors: Sequence[str]) -> set[int]:
        if "all" in selectors:
            chosen = set(range(len(pipeline)))
        else:
            chosen = {index for selector in selectors for index in self._matching(pipeline, selector)}
        return {self._offset + index + 1 for index in chosen}

    def _matching(self, pipeline: Pipeline, selector: str) -> list[int]:
        if selector in self._selectors:
            return [self._selectors.index(selector)]
        return pipeline.positions(selector)

    def _name(self, index: int, name: str, suffix: str) -> str:
        return f"{numbered(index, self._total, name)}{suffix}.mlir"
