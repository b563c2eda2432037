"""What keeps a run from going on: of all that warps wait for, the mbarrier that is told something wrong.

Something is said only where it is known what all warps do up to there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cutecc.ir.mlir import ir
from cutecc.passes.analysis.synchronisation.barriers import Done, Mbarrier
from cutecc.passes.analysis.synchronisation.checking import Numbers, counted
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.analysis.synchronisation.traces import Event

About = Literal["bytes", "arrivals", "first wait"]
ARRIVALS = (Kind.ARRIVE, Kind.ARRIVE_EXPECT, Kind.COMMIT)
WAITS = (Kind.WAIT, Kind.TEST)
_BYTES = (Kind.COPY, Kind.EXPECT, Kind.ARRIVE_EXPECT)
_ANNOUNCE = "mbarrier_arrive_and_expect_tx"


@dataclass(frozen=True)
class Cause:
    """Why a phase of an mbarrier is never complete, or is complete too early."""

    about: About
    barrier: Mbarrier
    at: ir.Operation
    message: str
    numbers: Numbers


def causes_of(run: Run) -> list[Cause]:
    """All that are found; those of one kind of mbarrier, as of stages, are alike."""
    found = [*_excesses(run), *_fresh_waits(run)]
    if run.cut is None:
        found += _of_bytes(run)
        if not found:
            found += _of_arrivals(run)
        if not found:
            found += _of_first_waits(run)
        if not run.stuck:
            found += _of_rests(run)
    return found


def comers(run: Run, barrier: Mbarrier) -> dict[int, int]:
    """Arrivals of each warp that arrives at an mbarrier at all: as many as it brings at once."""
    found: dict[int, int] = {}
    for number, each in enumerate(run.traces.warps):
        for event in each.events:
            if event.site.kind in ARRIVALS and barrier.address in (event.addresses or ()):
                found.setdefault(number, arrivals(event, barrier))
                break
    return found


def is_used(run: Run, barrier: Mbarrier) -> bool:
    """Whether a warp comes to use an mbarrier, or may, for all that is known."""
    return bool(
        barrier.arriving
        or barrier.brought
        or any(each.stopped for each in run.traces.warps)
        or warps_with(run, barrier, (*ARRIVALS, *WAITS, *_BYTES))
    )


def arrivals(event: Event, barrier: Mbarrier) -> int:
    """What an event adds to those that an mbarrier counts."""
    times = (event.addresses or {})[barrier.address]
    return times if event.site.kind == Kind.ARRIVE_EXPECT else times * (event.amount or 0)


# Too much at once, or too early.


def _excesses(run: Run) -> Iterator[Cause]:
    said: set[tuple[Site, str]] = set()
    for each in run.seen:
        barrier = each.barrier
        if barrier is None or (each.event.site, each.what) in said:
            continue
        if each.what == "excess" and not _announce_each(barrier):
            said.add((each.event.site, each.what))
            came = arrivals(each.event, barrier)
            text = (
                f"{counted(came, 'thread')} of a warp {'arrives' if came == 1 else 'arrive'} at once, and the mbarrier "
                f"counts {counted(barrier.count, 'arrival')}: let one arrive, under `with cute.arch.elect_one():`, or "
                f"count all, mbarrier_init(…, {sum(comers(run, barrier).values())})"
            )
            numbers: Numbers = {"arrivals counted": barrier.count, "arrivals": came}
            yield Cause("arrivals", barrier, each.event.site.operation, text, numbers)
        elif each.what == "lapped" and (total := sum(comers(run, barrier).values())) > barrier.count:
            said.add((each.event.site, each.what))
            if any(other.what == "excess" and other.barrier is barrier for other in run.seen):
                continue
            yield _miscounted(barrier, total, "so that phases are complete before all of them have come")


def _announce_each(barrier: Mbarrier) -> bool:
    """Whether threads of a warp all announce the same bytes: that is said of the bytes."""
    return any(each.threads > each.times for each in barrier.announced.values())


def _miscounted(barrier: Mbarrier, total: int, so: str) -> Cause:
    text = (
        f"the mbarrier counts {counted(barrier.count, 'arrival')}, and {total} come in a phase, {so}: "
        f"mbarrier_init(…, {total}), or have {barrier.count} arrive"
    )
    numbers: Numbers = {"arrivals counted": barrier.count, "arrivals": total}
    return Cause("arrivals", barrier, barrier.site.operation, text, numbers)


def _fresh_waits(run: Run) -> Iterator[Cause]:
    """First waits that pass at once, of those that wait for bytes."""
    said: set[tuple[Site, int]] = set()
    for each in run.seen:
        barrier = each.barrier
        if each.what != "fresh" or barrier is None or (each.event.site, barrier.address) in said:
            continue
        bringers = warps_with(run, barrier, _BYTES)
        if not bringers or each.warp in bringers or _has_waited(run, each.warp, each.event, barrier):
            continue
        said.add((each.event.site, barrier.address))
        text = (
            "the first wait for an mbarrier that copies complete takes parity 1, and passes at once, before any byte "
            "has come: a new mbarrier counts as past its phase 1, so begin with parity 0"
        )
        yield Cause("first wait", barrier, each.event.site.operation, text, {"parity": 1})


def _has_waited(run: Run, warp: int, event: Event, barrier: Mbarrier) -> bool:
    """Whether it is not the warp's first wait there."""
    for each in run.traces.warps[warp].events:
        if each is event:
            return False
        if each.site.kind in WAITS and barrier.address in (each.addresses or ()):
            return True
    return True


def warps_with(run: Run, barrier: Mbarrier, kinds: tuple[Kind, ...]) -> set[int]:
    """The warps that do one of these at an mbarrier, at any time."""
    return {
        number
        for number, each in enumerate(run.traces.warps)
        if any(event.site.kind in kinds and barrier.address in (event.addresses or ()) for event in each.events)
    }


# What nobody brings.


def _awaited(run: Run) -> dict[int, list[tuple[int, Event]]]:
    """Who waits for ever, by the mbarrier."""
    found: dict[int, list[tuple[int, Event]]] = {}
    for number, event in run.stuck:
        if event.site.kind in WAITS:
            for address, barrier in run.mbarriers.items():
                if address in (event.addresses or ()) and not barrier.is_past(event.parity or 0):
                    found.setdefault(address, []).append((number, event))
    return found


def _before_next_wait(run: Run, warp: int) -> Iterator[Event]:
    """What a warp that waits would do next."""
    for event in run.rest(warp)[1:]:
        if event.site.kind in WAITS:
            return
        yield event


def _would(run: Run, barrier: Mbarrier, kinds: tuple[Kind, ...]) -> bool:
    """Whether somebody that waits, and has not been there in this phase, would go on to do this."""
    been = {warp for done in barrier.arrived.values() for warp in done.warps}
    return any(
        event.site.kind in kinds and barrier.address in (event.addresses or ())
        for warp, waiting in run.stuck
        if warp not in been
        if waiting.site.kind not in WAITS or barrier.address not in (waiting.addresses or ())
        for event in _before_next_wait(run, warp)
    )


def _of_bytes(run: Run) -> Iterator[Cause]:
    awaited = _awaited(run)
    for barrier in run.mbarriers.values():
        if not barrier.missing or barrier.unknown:
            continue
        is_over = not run.stuck
        is_begun = barrier.pending and barrier.missing > 0
        if not is_over and (barrier.address not in awaited or is_begun):
            continue
        if _would(run, barrier, _BYTES):
            continue
        if cause := _wrong_bytes(run, barrier, is_over=is_over):
            yield cause


def _wrong_bytes(run: Run, barrier: Mbarrier, *, is_over: bool) -> Cause | None:
    announced, brought = _sum(barrier.announced), _sum(barrier.brought)
    numbers: Numbers = {"bytes announced": announced.amount, "bytes copied": brought.amount}
    if not announced.amount:
        copy = next(iter(barrier.brought))
        came = counted(brought.amount, "byte")
        text = f"{came} come to an mbarrier to which none are announced: {_ANNOUNCE} before the copy"
        return Cause("bytes", barrier, copy.operation, text, numbers)
    at = next(iter(barrier.announced))
    if not brought.amount:
        if is_over:
            return None
        each = announced.amount // announced.times
        text = (
            f"{counted(each, 'byte')} are announced to an mbarrier, and no copy completes at it: give a copy this "
            "mbarrier, or arrive without bytes, mbarrier_arrive"
        )
        return Cause("bytes", barrier, at.operation, text, {"bytes announced": each, "bytes copied": 0})
    if announced.threads > announced.times and announced.amount % announced.threads == 0:
        each = announced.amount // announced.threads
        text = (
            f"{counted(announced.threads // announced.times, 'thread')} of a warp announce {each:,} bytes each: one "
            "is enough, under `with cute.arch.elect_one():`"
        )
        return Cause("bytes", barrier, at.operation, text, numbers)
    times = announced.times
    if is_issued_by_several(barrier):
        return None
    if brought.amount % times or announced.amount % times:
        return None
    told, came = announced.amount // times, brought.amount // times
    if told == came:
        return None
    text = (
        f"announces {counted(told, 'byte')}, and the copies to the mbarrier bring {came:,}: announce {came:,} bytes, "
        f"{_ANNOUNCE}(…, {came})"
    )
    return Cause("bytes", barrier, at.operation, text, {"bytes announced": told, "bytes copied": came})


def is_issued_by_several(barrier: Mbarrier) -> bool:
    """Whether threads issue copies of the same bytes, of which one would do: `check-bulk-copies` says that."""
    announced = _sum(barrier.announced)
    if not barrier.brought or not announced.times:
        return False
    once = sum(each.amount // each.threads for each in barrier.brought.values()) * announced.times
    most = max(each.threads for each in barrier.brought.values())
    return most > announced.times and once == announced.amount


def _sum(done: dict[Site, Done]) -> Done:
    found = Done()
    for each in done.values():
        found.threads += each.threads
        found.amount += each.amount
        found.times += each.times
    return found


def _of_arrivals(run: Run) -> Iterator[Cause]:
    awaited = _awaited(run)
    for barrier in run.mbarriers.values():
        if barrier.address not in awaited or not barrier.pending or (barrier.phases and run.traces.is_assumed):
            continue
        if _would(run, barrier, ARRIVALS):
            continue
        by_warp = comers(run, barrier)
        total, came = sum(by_warp.values()), barrier.count - barrier.pending
        if not total:
            yield _nobody(barrier)
        elif came and total == came and total != barrier.count:
            yield _miscounted(barrier, total, "so that no phase is ever complete")


def _nobody(barrier: Mbarrier) -> Cause:
    text = (
        f"the mbarrier counts {counted(barrier.count, 'arrival')}, is waited for, and nobody arrives at it: "
        "mbarrier_arrive by those that it waits for"
    )
    numbers: Numbers = {"arrivals counted": barrier.count, "arrivals": 0}
    return Cause("arrivals", barrier, barrier.site.operation, text, numbers)


def _of_rests(run: Run) -> Iterator[Cause]:
    """At the end of a kernel, arrivals that have begun a phase which nobody ends."""
    for barrier in run.mbarriers.values():
        by_warp = comers(run, barrier)
        total, came = sum(by_warp.values()), sum(each.amount for each in barrier.arriving.values())
        is_begun = 0 < barrier.pending < barrier.count and barrier.passed
        if is_begun and total > barrier.count and came % total == 0 and not run.traces.is_assumed:
            yield _miscounted(barrier, total, "so that phases are complete before all of them have come")


def _of_first_waits(run: Run) -> Iterator[Cause]:
    """All wait for a first phase: one of them has to begin, the one that fills what others wait for."""
    awaited = _awaited(run)
    if not awaited or any(run.mbarriers[address].phases for address in awaited):
        return
    said: set[Site] = set()
    for address, waiting in awaited.items():
        for warp, event in waiting:
            barrier = run.mbarriers[address]
            if event.site in said or event.parity != 0 or _has_waited(run, warp, event, barrier):
                continue
            if not _fills(run, warp, awaited, address):
                continue
            said.add(event.site)
            text = (
                "the first wait for an empty stage takes parity 0, and is for what is done only behind the wait for "
                "the full one: a new mbarrier counts as past its phase 1, so begin with parity 1"
            )
            yield Cause("first wait", barrier, event.site.operation, text, {"parity": 0})


def _fills(run: Run, warp: int, awaited: dict[int, list[tuple[int, Event]]], own: int) -> bool:
    """Whether a warp that waits would go on to fill a stage, and arrive at what others wait for."""
    has_filled = False
    for event in _before_next_wait(run, warp):
        others = {*(event.addresses or ())} & (awaited.keys() - {own})
        if event.site.kind in _BYTES and others:
            return True
        has_filled |= event.site.kind == Kind.WRITE
        if event.site.kind in ARRIVALS and others:
            return has_filled
    return False
