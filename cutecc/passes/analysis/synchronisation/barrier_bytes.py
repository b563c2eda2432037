"""Find mbarriers to which other bytes are announced than the copies bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.causes import causes_of, is_issued_by_several
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.analysis.synchronisation.traces import line_of
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckBarrierBytes(SynchronisationCheck):
    """Warn of mbarriers to which more or fewer bytes are announced than the copies to them bring."""

    name: ClassVar[str] = "check-barrier-bytes"
    things: ClassVar[str] = "mbarriers with bytes"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {id(each.barrier): each for each in causes_of(run) if each.about == "bytes"}
        for barrier in run.mbarriers.values():
            if cause := wrong.get(id(barrier)):
                verdicts.say(cause.at, cause.message, cause.numbers)
            elif barrier.unknown is not None:
                verdicts.unknown[f"the bytes of the copy of {line_of(barrier.unknown.operation)} are not known"] += 1
            elif is_issued_by_several(barrier):
                verdicts.unknown["several threads issue a copy, of which check-bulk-copies warns"] += 1
            elif barrier.announced or barrier.brought:
                if barrier.phases and not (barrier.missing and barrier.pending == barrier.count):
                    verdicts.right += 1
                else:
                    verdicts.unknown[why_unknown(run)] += 1
        if not run.mbarriers and (sites := run.traces.of(Kind.COPY, Kind.EXPECT, Kind.ARRIVE_EXPECT)):
            verdicts.unknown[why_unknown(run)] += len(sites)
