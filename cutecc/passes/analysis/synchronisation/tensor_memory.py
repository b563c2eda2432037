"""Find tensor memory that is not given back, or is allocated as no SM can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, counted, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.analysis.synchronisation.traces import Event, Trace
from cutecc.passes.registry import register

_COLUMNS = 512
_FEWEST = 32


@register
@dataclass(frozen=True)
class CheckTensorMemory(SynchronisationCheck):
    """Warn of columns of tensor memory that are not deallocated on a way to the end, and of numbers that none has."""

    name: ClassVar[str] = "check-tensor-memory"
    things: ClassVar[str] = "allocations of tensor memory"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        sites = run.traces.of(Kind.ALLOCATE)
        if not sites:
            return
        events = [(trace, each) for trace in run.traces.warps for each in trace.events]
        freed = [each for _, each in events if each.site.kind == Kind.DEALLOCATE]
        for site in sites:
            made = [(trace, each) for trace, each in events if each.site is site]
            if not made:
                verdicts.unknown[why_unknown(run)] += 1
            elif not (_is_wrong_number(made[0][1], verdicts) or _comes_late(site, *made[0], verdicts)):
                _look_for_end(run, site, made, freed, verdicts)


def _is_wrong_number(event: Event, verdicts: Verdicts) -> bool:
    columns = event.amount or 0
    if _FEWEST <= columns <= _COLUMNS and columns & (columns - 1) == 0:
        return False
    text = f"allocates {counted(columns, 'column')} of tensor memory: a power of two from {_FEWEST} to {_COLUMNS}"
    verdicts.say(event.site.operation, text, {"columns": columns})
    return True


def _comes_late(site: Site, trace: Trace, event: Event, verdicts: Verdicts) -> bool:
    before = trace.events[: trace.events.index(event)]
    if not any(each.site.kind == Kind.RELINQUISH for each in before):
        return False
    text = (
        "allocates tensor memory after relinquish_tmem_alloc_permit(), which gives up the right to: relinquish it later"
    )
    verdicts.say(site.operation, text, {"columns": event.amount or 0})
    return True


def _look_for_end(
    run: Run, site: Site, made: list[tuple[Trace, Event]], freed: list[Event], verdicts: Verdicts
) -> None:
    """Whether all columns that blocks allocate are deallocated there."""
    sites = run.traces.of(Kind.ALLOCATE)
    wanted = sum(each.amount or 0 for _, each in made)
    given = sum(each.amount or 0 for each in freed)
    numbers = {"columns allocated": wanted, "columns deallocated": given}
    stopped = any(each.stopped for each in run.traces.warps)
    if not run.traces.of(Kind.DEALLOCATE):
        text = (
            "tensor memory is allocated and never deallocated: dealloc_tmem by the warp that allocates, before it exits"
        )
        verdicts.say(site.operation, text, numbers)
    elif len(sites) > 1 or (stopped and given != wanted):
        verdicts.unknown["several allocations" if len(sites) > 1 else why_unknown(run)] += 1
    elif given < wanted:
        text = (
            f"{counted(wanted, 'column')} of tensor memory are allocated, and {given} deallocated: dealloc_tmem of "
            "all of them, whatever way the kernel ends"
        )
        verdicts.say(site.operation, text, numbers)
    elif given > wanted:
        columns = counted(given, "column")
        text = f"{columns} of tensor memory are deallocated, and {wanted} allocated: the same number for both"
        verdicts.say(freed[0].site.operation, text, numbers)
    else:
        verdicts.right += 1
