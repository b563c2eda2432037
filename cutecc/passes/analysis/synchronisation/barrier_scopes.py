"""Find shared memory of another block that is read without an arrival that releases it to the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.locations import nearest_location
from cutecc.passes.analysis.synchronisation.checking import Numbers, SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run, Seen
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckBarrierScopes(SynchronisationCheck):
    """Warn of arrivals that release nothing, or not to the cluster, before another block reads what was written."""

    name: ClassVar[str] = "check-barrier-scopes"
    things: ClassVar[str] = "reads of other blocks' shared memory"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {each.event.site: each for each in reversed(run.seen) if each.what == "relaxed"}
        for site in run.traces.of(Kind.REMOTE_READ):
            if found := wrong.get(site):
                _say(run, found, verdicts)
            elif run.remote.get(site):
                verdicts.right += 1
            else:
                verdicts.unknown[why_unknown(run)] += 1


def _say(run: Run, found: Seen, verdicts: Verdicts) -> None:
    write = found.write
    assert write is not None
    arrival = _relaxed_arrival(run, write.warp)
    if arrival is None:
        # Nothing at all is between: a race, which a run finds, and no matter of scopes.
        verdicts.unknown["nothing orders it"] += 1
        return
    numbers: Numbers = {}
    for what, site in (("written at line", write.site), ("read at line", found.event.site)):
        place = nearest_location(site.operation.location)
        if place is not None and place.line is not None:
            numbers[what] = place.line
    text = (
        "a relaxed arrival at the cluster's barrier releases nothing, and another block reads behind it what was "
        "written before: cluster_arrive(), or fence_acq_rel_cluster() before it"
    )
    verdicts.say(arrival.operation, text, numbers)


def _relaxed_arrival(run: Run, warp: int) -> Site | None:
    events = run.traces.warps[warp].events
    return next((each.site for each in events if each.site.kind == Kind.CLUSTER_ARRIVE and each.site.is_relaxed), None)
