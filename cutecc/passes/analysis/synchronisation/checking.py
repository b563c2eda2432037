"""What the checks of synchronisation share: one run of each kernel, and saying what is right, wrong or not known."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.analyses import analyse
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.requests import kernels_of
from cutecc.passes.analysis.synchronisation.copies import remember_copies
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.traces import traces_of
from cutecc.passes.diagnostics import warning
from cutecc.record import Judged

Numbers = dict[str, int | float | str]


class Synchronisation:
    """All kernels of a module; an analysis for `cutecc.passes.analyses.analyse`."""

    def __init__(self, module: ir.Operation) -> None:
        self.kernels = [Run(traces_of(kernel, module)) for kernel in kernels_of(module)]


@dataclass
class Verdicts:
    """What a check says of the things that it judges in a kernel."""

    right: int = 0
    wrong: list[tuple[ir.Operation, str, Numbers]] = field(default_factory=list[tuple[ir.Operation, str, Numbers]])
    wrong_things: int = 0
    """Of several that are wrong at one line, for one reason, each counts."""
    unknown: Counter[str] = field(default_factory=Counter[str])
    """How many, by the reason."""

    def say(self, at: ir.Operation, message: str, numbers: Mapping[str, int | float | str]) -> None:
        """Something is wrong."""
        self.wrong_things += 1
        if not any(str(at.location) == str(other.location) and message == text for other, text, _ in self.wrong):
            self.wrong.append((at, message, dict(numbers)))


@dataclass(frozen=True)
class SynchronisationCheck(AnalysisPass, abc.ABC):
    """A check of one property, by what the warps of one cluster do, as far as that is known without a launch."""

    looks_after: ClassVar[str | None] = "strength-reduction"
    in_open: ClassVar[str | None] = "loop-invariant-code-motion"
    things: ClassVar[str]
    """What it judges, in the plural."""

    def run(self, module: ir.Module) -> None:
        whole = Judged(self.things)
        for run in analyse(Synchronisation, module).kernels:
            verdicts = Verdicts()
            self.look(run, verdicts)
            for at, message, numbers in verdicts.wrong:
                warning(at, message, numbers)
            whole.right += verdicts.right
            whole.wrong += verdicts.wrong_things
            whole.unknown = dict(Counter(whole.unknown) + verdicts.unknown)
        self.judge(whole)

    @abc.abstractmethod
    def look(self, run: Run, verdicts: Verdicts) -> None:
        """Judge one kernel."""

    def look_at_traced(self, module: ir.Module) -> None:
        remember_copies(module)


def why_unknown(run: Run) -> str:
    """Why something was not gone through."""
    if not run.traces.warps:
        return "the size of a block is not known"
    stopped = next((each.stopped for each in run.traces.warps if each.stopped), None)
    return stopped or ("warps wait for ever before it" if run.stuck else "no warp comes to it")


def counted(count: int, what: str) -> str:
    """`1 thread`, `32 threads`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
