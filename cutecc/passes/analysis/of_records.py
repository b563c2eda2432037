"""The analyses that look at the finished record, once the code is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cutecc.backend import launchability
from cutecc.passes.analysis import llvm, spills
from cutecc.passes.analysis.launch import check_launch
from cutecc.record import Analysis, Compilation


@dataclass(frozen=True)
class RecordAnalysis:
    """An analysis that is no pass: it looks at artifacts."""

    name: str
    summary: str
    run: Callable[[Compilation], Analysis]
    concerns: Callable[[Compilation], bool] = lambda _: True
    """Whether it has something to look at; where not, only who names it hears of it."""


RECORD_ANALYSES = {
    each.name: each
    for each in (
        RecordAnalysis(launchability.NAME, launchability.SUMMARY, check_launch),
        RecordAnalysis(spills.NAME, spills.SUMMARY, spills.check_spills),
        RecordAnalysis(llvm.NAME, llvm.SUMMARY, llvm.check_llvm, llvm.generates_by_llvm),
    )
}
"""By name."""
