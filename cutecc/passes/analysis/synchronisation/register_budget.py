"""Find `setmaxregister` that asks for registers that there are not, or that warps of a group do not make alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from cutecc.memory_rules.warps import WARP
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, counted, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.analysis.synchronisation.traces import Trace
from cutecc.passes.registry import register

_FILE = 65536
"""Registers of a multiprocessor."""
_FEWEST, _MOST, _STEP = 24, 256, 8
_OF_THREAD = 255
"""Registers that the code of a thread may be compiled for."""
_GROUP = 4
"""Warps."""


@register
@dataclass(frozen=True)
class CheckRegisterBudget(SynchronisationCheck):
    """Warn of setmaxregister whose sums do not fit the register file, and of numbers that it does not take."""

    name: ClassVar[str] = "check-register-budget"
    things: ClassVar[str] = "setmaxregister"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        sites = run.traces.of(Kind.REGISTERS)
        if not sites:
            return
        said: set[Site] = set()
        if run.traces.warps:
            _look_at_numbers(run, sites, verdicts, said)
            _look_at_groups(run, verdicts, said)
            if not said:
                _look_at_sum(run, verdicts, said)
        reached = {event.site for each in run.traces.warps for event in each.events}
        for site in sites:
            if site not in said and site in reached and not any(map(_is_lost, run.traces.warps)):
                verdicts.right += 1
            elif site not in said:
                verdicts.unknown[why_unknown(run)] += 1


def _is_lost(trace: Trace) -> bool:
    """Whether it is not known if a warp sets its registers."""
    return trace.stopped is not None and not _sets(trace)


def launched_with(threads: int) -> int:
    """The most registers of a thread that a block of so many threads can be launched with."""
    return min(_OF_THREAD + 1, _FILE // threads // _STEP * _STEP)


def _is_increase(site: Site) -> bool:
    return "increase" in str(site.operation.attributes["action"])


def _count(site: Site) -> int:
    return site.amount if isinstance(site.amount, int) else 0


def _look_at_numbers(run: Run, sites: list[Site], verdicts: Verdicts, said: set[Site]) -> None:
    most = launched_with(run.traces.threads)
    for site in sites:
        count = _count(site)
        if not _FEWEST <= count <= _MOST or count % _STEP:
            text = f"setmaxregister of {count}: a multiple of {_STEP} from {_FEWEST} to {_MOST}"
        elif not _is_increase(site) and count > most:
            text = (
                f"a decrease to {count} registers a thread, and a block of {run.traces.threads} threads is launched "
                f"with at most {most}: setmaxregister_increase, or fewer"
            )
        else:
            continue
        said.add(site)
        verdicts.say(site.operation, text, {"registers": count, "threads": run.traces.threads})


def _look_at_groups(run: Run, verdicts: Verdicts, said: set[Site]) -> None:
    """All warps of a group execute the same."""
    for group in _groups(run):
        done = [_sets(each) for each in group]
        site = next((site for each in done for site in each), None)
        numbers = {tuple((_count(site), _is_increase(site)) for site in each) for each in done}
        if site is None or site in said or len(numbers) == 1:
            continue
        come = sum(bool(each) for each in done)
        said.add(site)
        which = f"{come} of the {len(group)}" if come < len(group) else "not all"
        text = (
            f"{which} warps {group[0].warp} to {group[-1].warp} of a warpgroup set their registers so: all warps of "
            "the group have to, by the same numbers"
        )
        verdicts.say(site.operation, text, {"warps": come, "warps of the group": len(group)})


def _groups(run: Run) -> Iterator[list[Trace]]:
    """The warpgroups of all blocks, of which it is known what they do."""
    for block in range(run.traces.blocks):
        warps = [each for each in run.traces.warps if each.block == block]
        for first in range(0, len(warps), _GROUP):
            if not any(each.stopped for each in warps[first : first + _GROUP]):
                yield warps[first : first + _GROUP]


def _sets(trace: Trace) -> list[Site]:
    return [each.site for each in trace.events if each.site.kind == Kind.REGISTERS]


def _look_at_sum(run: Run, verdicts: Verdicts, said: set[Site]) -> None:
    """An increase waits until there are as many: what the block is launched with, less what others keep."""
    block = [each for each in run.traces.warps if each.block == 0]
    if any(map(_is_lost, block)):
        return
    last = [next(reversed(_sets(each)), None) for each in block]
    # What those keep that set nothing is decided when code is generated: as few as there can be.
    total = sum(WARP * (_FEWEST if each is None else _count(each)) for each in last)
    pool = launched_with(run.traces.threads) * run.traces.threads
    largest = max((each for each in last if each is not None), key=_count)
    if total <= pool or not _is_increase(largest):
        return
    said.add(largest)
    text = (
        f"the warps of a block come to {counted(total, 'register')}, and it has at most {pool:,}, those it is "
        "launched with: this increase waits for ever; smaller numbers here, or in the other warpgroups"
    )
    verdicts.say(largest.operation, text, {"registers": total, "registers of the block": pool})
