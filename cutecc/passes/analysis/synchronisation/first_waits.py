"""Find first waits at an mbarrier whose parity is that of the other side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.barriers import Mbarrier
from cutecc.passes.analysis.synchronisation.causes import WAITS, About, warps_with
from cutecc.passes.analysis.synchronisation.checking import why_unknown
from cutecc.passes.analysis.synchronisation.mbarrier_checks import MbarrierCheck
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckFirstWaits(MbarrierCheck):
    """Warn of a first wait for full stages that passes at once, and of one for empty stages that never does."""

    name: ClassVar[str] = "check-first-waits"
    things: ClassVar[str] = "mbarriers that are waited for"
    about: ClassVar[About] = "first wait"
    sites: ClassVar[tuple[Kind, ...]] = WAITS

    def concerns(self, run: Run, barrier: Mbarrier) -> bool:
        return bool(warps_with(run, barrier, WAITS))

    def unknown(self, run: Run, barrier: Mbarrier) -> str | None:
        if barrier.passed:
            return None
        is_cut = any(each.stopped for each in run.traces.warps)
        return why_unknown(run) if is_cut or run.stuck else "no wait for a complete phase is known"
