"""Find mbarriers that count other arrivals than come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.causes import causes_of, is_used
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckArrivalCounts(SynchronisationCheck):
    """Warn of mbarriers that count other arrivals than threads, warps, blocks and commits make in a phase."""

    name: ClassVar[str] = "check-arrival-counts"
    things: ClassVar[str] = "mbarriers"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {id(each.barrier): each for each in causes_of(run) if each.about == "arrivals"}
        for barrier in run.mbarriers.values():
            if cause := wrong.get(id(barrier)):
                verdicts.say(cause.at, cause.message, cause.numbers)
            elif barrier.phases:
                verdicts.right += 1
            elif is_used(run, barrier):
                verdicts.unknown[why_unknown(run)] += 1
        if not run.mbarriers and (sites := run.traces.of(Kind.INIT)):
            verdicts.unknown[why_unknown(run)] += len(sites)
