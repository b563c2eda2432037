"""Find mbarriers to which other bytes are announced than the copies bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.barriers import Mbarrier
from cutecc.passes.analysis.synchronisation.causes import About, is_issued_by_several
from cutecc.passes.analysis.synchronisation.checking import why_unknown
from cutecc.passes.analysis.synchronisation.mbarrier_checks import MbarrierCheck
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.analysis.synchronisation.traces import line_of
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckBarrierBytes(MbarrierCheck):
    """Warn of mbarriers to which more or fewer bytes are announced than the copies to them bring."""

    name: ClassVar[str] = "check-barrier-bytes"
    things: ClassVar[str] = "mbarriers with bytes"
    about: ClassVar[About] = "bytes"
    sites: ClassVar[tuple[Kind, ...]] = (Kind.COPY, Kind.EXPECT, Kind.ARRIVE_EXPECT)

    def concerns(self, run: Run, barrier: Mbarrier) -> bool:
        return bool(barrier.announced or barrier.brought)

    def unknown(self, run: Run, barrier: Mbarrier) -> str | None:
        if barrier.unknown is not None:
            return f"the bytes of the copy of {line_of(barrier.unknown.operation)} are not known"
        if is_issued_by_several(barrier):
            return "several threads issue a copy, of which check-bulk-copies warns"
        is_left_over = barrier.missing and barrier.pending == barrier.count
        return None if barrier.phases and not is_left_over else why_unknown(run)
