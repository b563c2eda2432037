"""The driver: the one place that strings the stages together, from a module to its record.

    lower():  parse ─▶ plan the pipeline ─▶ passes ─▶ artifacts ─▶ Compilation
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc import planning, reproducing
from cutecc.artifacts import ArtifactCollector
from cutecc.errors import Error, ParseError, PassError
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.manager import Observer, Position
from cutecc.planning import Plan
from cutecc.passes.observers import SnapshotRecorder, StepRecorder, VerifyEach
from cutecc.record import Compilation, Failure, Step
from cutecc.record.folder import RecordFolder
from cutecc.request import CompileRequest

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

# The bindings and their value casters are process-wide; module objects of one compilation never meet another's.
_in_process = threading.RLock()


def lower(request: CompileRequest, observers: Sequence[Observer] = ()) -> Compilation:
    """Lower one module for one target, in this process.

    With `request.output`, the record grows in that folder as passes end. Raises `ParseError`, `UsageError` for a
    pipeline that cannot be, `PassError` for the pass that failed and `ToolError` for a tool; the record on disk then
    says so too.
    """
    with _in_process, ExitStack() as stack:
        stack.enter_context(fresh_context())
        module = parse(request.module, request.source)
        plan = planning.plan(request, module)
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cutecc-")))
        compilation = plan.compilation
        folder = RecordFolder(request.output) if request.output else None
        if folder:
            stack.callback(folder.close)
            folder.save(compilation)

        collector = ArtifactCollector(request, scratch)
        snapshots = _snapshot_recorder(request, plan, folder)
        watchers: list[Observer] = [
            *([VerifyEach()] if request.options.verify_each else []),
            StepRecorder(compilation),
            *([snapshots] if snapshots else []),
            collector,
            *observers,
        ]
        start = time.perf_counter()
        try:
            manager.run(collector.armed(plan.pipeline), module, watchers, offset=plan.offset)
            collector.finish(compilation, folder)
            compilation.status = "stopped" if request.options.stop_after else "ok"
        except Error as error:
            compilation.status = "failed"
            compilation.failure = Failure(_stage(error), error.message)
            if isinstance(error, PassError):
                index = compilation.steps[-1].index - plan.offset
                reproducing.save(request, plan.pipeline, index, error, compilation, folder)
            raise
        finally:
            if snapshots:
                snapshots.finish()
            compilation.seconds = time.perf_counter() - start
            if folder:
                folder.save(compilation)
        return compilation


def _snapshot_recorder(request: CompileRequest, plan: Plan, folder: RecordFolder | None) -> SnapshotRecorder | None:
    options = request.options
    if not options.observe and not options.dumps:
        return None
    stage = {"after": options.start_after, **plan.stage}
    return SnapshotRecorder(
        plan.compilation,
        dumps=options.dumps,
        folder=folder,
        selectors=plan.selectors,
        offset=plan.offset,
        stage=stage,
    )


def _stage(error: Error) -> str:
    return error.pass_name if isinstance(error, PassError) else type(error).__name__
