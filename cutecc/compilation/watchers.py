"""Who watches the passes of one compilation, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.compilation.artifacts import ArtifactCollector
from cutecc.compilation.events import Event
from cutecc.compilation.planning import Plan
from cutecc.compilation.request import CompileRequest
from cutecc.ir.modules import BYTECODE_MAGIC
from cutecc.passes.instrumentation import Announcer, ProgressSaver, SnapshotRecorder, StepRecorder, VerifyEach
from cutecc.passes.manager import Observer
from cutecc.record.folder import RecordFolder
from cutecc.record.stages import UserLines

if TYPE_CHECKING:
    from cutecc.passes.analysis.running import AnalysisRunner


@dataclass(frozen=True)
class Watchers:
    """Those that go on working when the passes are done, and all of them as `observers`."""

    collector: ArtifactCollector
    snapshots: SnapshotRecorder | None
    analyses: AnalysisRunner | None
    observers: tuple[Observer, ...]

    @classmethod
    def of(
        cls,
        request: CompileRequest,
        plan: Plan,
        folder: RecordFolder | None,
        scratch: Path,
        users: Sequence[Observer],
        emit: Callable[[Event], None] | None,
    ) -> Watchers:
        """Those that `request` needs, and those of the user."""
        collector = ArtifactCollector(request, scratch)
        snapshots = _snapshot_recorder(request, plan, folder)
        analyses = _analysis_runner(request, plan, emit)
        chosen: tuple[Observer | None, ...] = (
            VerifyEach() if request.options.verify_each else None,
            StepRecorder(plan.compilation, emit),
            Announcer(emit) if emit else None,
            snapshots,
            analyses,
            collector,
            *users,
            ProgressSaver(plan.compilation, folder, snapshots) if folder and snapshots else None,
        )
        return cls(collector, snapshots, analyses, tuple(each for each in chosen if each))

    def look_at_code(self) -> None:
        """Have analyses see the artifacts."""
        if self.analyses:
            self.analyses.look_at_code()

    def finish(self) -> None:
        """Wait for what is still being computed, also after a failure."""
        if self.analyses:
            self.analyses.finish()
        if self.snapshots:
            self.snapshots.finish()


def _snapshot_recorder(request: CompileRequest, plan: Plan, folder: RecordFolder | None) -> SnapshotRecorder | None:
    options = request.options
    if not options.observe and not options.keeps_stages:
        return None
    lines = request.lines
    if lines is None and request.source != "-" and not request.module.startswith(BYTECODE_MAGIC):
        # The module's text is what its places name, where they name nothing else.
        lines = UserLines(sources={request.source: request.module.decode()})
    return SnapshotRecorder(
        plan.compilation,
        dumps=options.dumps,
        folder=folder,
        selectors=plan.selectors,
        offset=plan.offset,
        stage=plan.stage,
        keep_stages=options.keeps_stages,
        lines=lines,
    )


def _analysis_runner(
    request: CompileRequest, plan: Plan, emit: Callable[[Event], None] | None
) -> AnalysisRunner | None:
    if not request.options.analyses:
        return None
    from cutecc.passes.analysis.running import AnalysisRunner
    from cutecc.passes.analysis.selection import select

    chosen = select(request.options.analyses)
    return AnalysisRunner(chosen, plan.compilation, selectors=plan.selectors, offset=plan.offset, emit=emit)
