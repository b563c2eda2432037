"""Find mbarriers that count other arrivals than come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.barriers import Mbarrier
from cutecc.passes.analysis.synchronisation.causes import About, is_used
from cutecc.passes.analysis.synchronisation.checking import why_unknown
from cutecc.passes.analysis.synchronisation.mbarrier_checks import MbarrierCheck
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckArrivalCounts(MbarrierCheck):
    """Warn of mbarriers that count other arrivals than threads, warps, blocks and commits make in a phase."""

    name: ClassVar[str] = "check-arrival-counts"
    things: ClassVar[str] = "mbarriers"
    about: ClassVar[About] = "arrivals"
    sites: ClassVar[tuple[Kind, ...]] = (Kind.INIT,)

    def concerns(self, run: Run, barrier: Mbarrier) -> bool:
        return is_used(run, barrier)

    def unknown(self, run: Run, barrier: Mbarrier) -> str | None:
        return None if barrier.phases else why_unknown(run)
