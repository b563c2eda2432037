"""Running analyses beside a pipeline: each on the module after the pass that it looks after, changing nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from cutecc.compilation.events import Said
from cutecc.errors import PassError
from cutecc.passes.analysis.base import AnalysisPass, judging
from cutecc.passes.analysis.selection import Selection
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import Observer, Position, run_pass
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Analysis, Compilation, Judged, Remark

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


class AnalysisRunner(Observer):
    """Adds an entry to the record for every analysis: what it found, or why it was not run or came to no end.

    An analysis that fails stops nothing. The steps of the record know nothing of analyses.
    """

    def __init__(
        self,
        chosen: Selection,
        compilation: Compilation,
        *,
        selectors: Sequence[str],
        offset: int = 0,
        emit: Callable[[Said], None] | None = None,
    ) -> None:
        """`selectors` name the passes in the whole pipeline, `offset` of which come before them."""
        self._compilation = compilation
        self._emit = emit
        self._offset = offset
        self._of_records = chosen.of_records
        self._named = chosen.named
        self._due: dict[int, list[AnalysisPass]] = {}
        """By the position of the pass."""
        for analysis in chosen.passes:
            position = _position(analysis.looks_after, selectors, offset)
            if position is None and analysis.in_open:
                position = _position(analysis.in_open, selectors, offset)
            if position is None:
                self._add(analysis, offset, failure=_why_not(analysis.looks_after, offset))
            else:
                self._due.setdefault(position, []).append(analysis)

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        if not self._offset:
            for each in (each for due in self._due.values() for each in due):
                each.look_at_traced(module)
        self._run_due(0, module)

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        self._run_due(position.index, module)

    def look_at_code(self) -> None:
        """Run what looks at the artifacts, once they are in the record."""
        for each in self._of_records:
            if each.name not in self._named and not each.concerns(self._compilation):
                continue
            found = each.run(self._compilation)
            found.remarks = [self._attributed(remark, each.name) for remark in found.remarks]
            self._keep(found)
        self._of_records = ()

    def finish(self) -> None:
        """Say of those whose turn never came, because the run ended before, that they were not run."""
        for position, analyses in self._due.items():
            for analysis in analyses:
                self._add(analysis, position, failure=f"not run: the run ended before {analysis.looks_after}")
        self._due = {}
        after = max((step.index for step in self._compilation.steps), default=0)
        for each in self._of_records:
            self._compilation.analyses.append(Analysis(each.name, after, failure="not run: there is no code"))
        self._of_records = ()

    def _run_due(self, position: int, module: ir.Module) -> None:
        for analysis in self._due.pop(position, []):
            remarks: list[Remark] = []
            judged: list[Judged] = []
            failure = None
            start = time.perf_counter()
            try:
                with hearing_remarks(remarks.append, module.context), judging.having(judged.append):
                    run_pass(analysis, module)
            except PassError as error:
                place = f"{error.location}: " if error.location else ""
                failure = f"{place}{error.message}"
            self._add(analysis, position, time.perf_counter() - start, remarks, failure, judged)

    def _add(
        self,
        analysis: AnalysisPass,
        after: int,
        seconds: float = 0.0,
        remarks: Sequence[Remark] = (),
        failure: str | None = None,
        judged: Sequence[Judged] = (),
    ) -> None:
        found = [self._attributed(remark, analysis.name) for remark in remarks]
        self._keep(Analysis(analysis.name, after, seconds, found, failure, next(iter(judged), None)))

    def _keep(self, analysis: Analysis) -> None:
        self._compilation.analyses.append(analysis)
        if self._emit:
            for remark in analysis.remarks:
                self._emit(Said(analysis.after, analysis.name, remark))

    def _attributed(self, remark: Remark, name: str) -> Remark:
        location = remark.location
        if location and location.startswith("-:") and self._compilation.source:
            location = self._compilation.source + location[1:]
        return msgspec.structs.replace(remark, analysis=name, location=location)


def _position(looks_after: str | None, selectors: Sequence[str], offset: int) -> int | None:
    """The position of the pass to look after, 0 for the traced module; `None` when this run does not come by it."""
    if looks_after is None:
        return None if offset else 0
    # A pass that occurs once is called by its name alone.
    for name in (looks_after, looks_after.removesuffix("#1")):
        if name in selectors:
            return offset + selectors.index(name) + 1
    first = f"{looks_after}#1"
    return offset + selectors.index(first) + 1 if first in selectors else None


def _why_not(looks_after: str | None, offset: int) -> str:
    if looks_after is None:
        return "not run: the input is not the traced module"
    begins = " from there on" if offset else ""
    return f"not run: the pipeline has no {looks_after}{begins}"
