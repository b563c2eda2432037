"""Find mbarriers that are used before it is certain that they are initialised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.causes import is_used
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run, Seen
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.registry import register

_VERBS = {Kind.WAIT: "waits at", Kind.TEST: "waits at", Kind.COPY: "gives a copy", Kind.COMMIT: "commits to"}


@register
@dataclass(frozen=True)
class CheckBarrierInit(SynchronisationCheck):
    """Warn of mbarriers that others use with no barrier after the initialisation, or copies with no fence after it."""

    name: ClassVar[str] = "check-barrier-init"
    things: ClassVar[str] = "mbarriers"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong: dict[int, Seen] = {}
        for each in run.seen:
            if each.what in ("unordered", "unfenced") and each.barrier is not None:
                wrong.setdefault(id(each.barrier), each)
        for barrier in run.mbarriers.values():
            if found := wrong.get(id(barrier)):
                _say(run, found, verdicts)
            elif barrier.arriving or barrier.phases or barrier.brought:
                verdicts.right += 1
            elif is_used(run, barrier):
                verdicts.unknown[why_unknown(run)] += 1
        if not run.mbarriers and (sites := run.traces.of(Kind.INIT)):
            verdicts.unknown[why_unknown(run)] += len(sites)


def _say(run: Run, found: Seen, verdicts: Verdicts) -> None:
    barrier, user = found.barrier, run.traces.warps[found.warp]
    assert barrier is not None
    by = run.traces.warps[barrier.by]
    does = _VERBS.get(found.event.site.kind, "arrives at")
    if found.what == "unfenced":
        text = (
            "gives a copy an mbarrier that is initialised with no fence before it: mbarrier_init_fence() by those that "
            "initialise it, then a barrier"
        )
        verdicts.say(found.event.site.operation, text, {"initialised by warp": by.warp})
        return
    if user.block != by.block:
        text = f"{does} an mbarrier of another block, with no barrier of the cluster after its initialisation"
        text += ": mbarrier_init_fence(), cluster_arrive_relaxed() and cluster_wait()"
    else:
        text = f"warp {user.warp} {does} an mbarrier that warp {by.warp} initialises, with no barrier between"
        text += ": sync_threads() after the initialisation"
    verdicts.say(found.event.site.operation, text, {"initialised by warp": by.warp, "used by warp": user.warp})
