"""Find barriers of a block whose numbers collide, or whose threads cannot be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.memory_rules.warps import WARP
from cutecc.passes.analysis.synchronisation.checking import SynchronisationCheck, Verdicts, counted, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run, Seen
from cutecc.passes.analysis.synchronisation.sites import Kind
from cutecc.passes.analysis.synchronisation.traces import Event
from cutecc.passes.registry import register

_LAST = 15
"""Identifiers go up to this."""


@register
@dataclass(frozen=True)
class CheckNamedBarriers(SynchronisationCheck):
    """Warn of barriers of one number that count different threads, and of numbers and counts that no block has."""

    name: ClassVar[str] = "check-named-barriers"
    things: ClassVar[str] = "barriers of the block"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        collisions = {each.event.site: each for each in reversed(run.seen) if each.what == "counts"}
        for site in run.traces.of(Kind.BARRIER, Kind.BARRIER_ARRIVE):
            event = next((each for trace in run.traces.warps for each in trace.events if each.site is site), None)
            if event is None:
                verdicts.unknown[why_unknown(run)] += 1
            elif wrong := _wrong(run, event):
                verdicts.say(site.operation, wrong, _numbers(run, event))
            elif found := collisions.get(site):
                _say_collision(run, found, verdicts)
            else:
                verdicts.right += 1


def _threads(run: Run, event: Event) -> int:
    return run.traces.threads if event.amount is None else event.amount


def _numbers(run: Run, event: Event) -> dict[str, int | float | str]:
    return {"barrier": event.identifier, "threads expected": _threads(run, event), "threads": run.traces.threads}


def _wrong(run: Run, event: Event) -> str | None:
    """What no barrier can be."""
    threads = event.amount
    if not 0 <= event.identifier <= _LAST:
        return f"barrier {event.identifier}: a block has the barriers 0 to {_LAST}"
    if threads is None:
        return None
    if threads % WARP or threads <= 0:
        return (
            f"barrier {event.identifier} waits for {counted(threads, 'thread')}: barriers count whole warps, so a "
            f"multiple of {WARP}"
        )
    most = -(-run.traces.threads // WARP) * WARP
    if threads > most:
        return (
            f"barrier {event.identifier} waits for {counted(threads, 'thread')}, and a block has {run.traces.threads}"
        )
    return None


def _say_collision(run: Run, found: Seen, verdicts: Verdicts) -> None:
    event = found.event
    threads = _threads(run, event)
    text = (
        f"barrier {event.identifier} waits for {counted(threads, 'thread')} here, and others may be at it that wait "
        f"for {found.number}: a number of its own for each, from 1 to {_LAST}"
    )
    verdicts.say(event.site.operation, text, _numbers(run, event) | {"threads expected by others": found.number})
