"""What the checks share that judge a kernel's mbarriers one by one, by what keeps a run from going on."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.barriers import Mbarrier
from cutecc.passes.analysis.synchronisation.causes import About, causes_of
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind


@dataclass(frozen=True)
class MbarrierCheck(SynchronisationCheck, abc.ABC):
    """Of each mbarrier: wrong where a cause is found, else right or not known."""

    about: ClassVar[About]
    """Causes of which kind are its own."""
    sites: ClassVar[tuple[Kind, ...]]
    """What is counted where it is not known where mbarriers are."""

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {id(each.barrier): each for each in causes_of(run) if each.about == self.about}
        for barrier in run.mbarriers.values():
            if cause := wrong.get(id(barrier)):
                verdicts.say(cause.at, cause.message, cause.numbers)
            elif self.concerns(run, barrier):
                if why := self.unknown(run, barrier):
                    verdicts.unknown[why] += 1
                else:
                    verdicts.right += 1
        if not run.mbarriers and (sites := run.traces.of(*self.sites)):
            verdicts.unknown[why_unknown(run)] += len(sites)

    @abc.abstractmethod
    def concerns(self, run: Run, barrier: Mbarrier) -> bool:
        """Whether there is anything to judge."""

    @abc.abstractmethod
    def unknown(self, run: Run, barrier: Mbarrier) -> str | None:
        """Why it cannot tell; `None` where the mbarrier is right."""
