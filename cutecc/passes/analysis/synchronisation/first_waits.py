"""Find first waits at an mbarrier whose parity is that of the other side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.causes import causes_of
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckFirstWaits(SynchronisationCheck):
    """Warn of a first wait for full stages that passes at once, and of one for empty stages that never does."""

    name: ClassVar[str] = "check-first-waits"
    things: ClassVar[str] = "mbarriers that are waited for"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {id(each.barrier): each for each in causes_of(run) if each.about == "first wait"}
        awaited = {
            address
            for each in run.traces.warps
            for event in each.events
            if event.site.kind in (Kind.WAIT, Kind.TEST)
            for address in event.addresses or ()
        }
        for barrier in run.mbarriers.values():
            if cause := wrong.get(id(barrier)):
                verdicts.say(cause.at, cause.message, cause.numbers)
            elif barrier.address in awaited:
                if barrier.passed:
                    verdicts.right += 1
                else:
                    verdicts.unknown[_why(run)] += 1
        if not run.mbarriers and (sites := run.traces.of(Kind.WAIT, Kind.TEST)):
            verdicts.unknown[why_unknown(run)] += len(sites)


def _why(run: Run) -> str:
    is_cut = any(each.stopped for each in run.traces.warps)
    return why_unknown(run) if is_cut else "no wait for a complete phase is known"
