"""A timeline without a GPU: what the emulator executes, in the order of instructions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cutecc.emulator.device import Emulation, Emulator
from cutecc.emulator.grid import linear
from cutecc.emulator.options import ALL, EmulatorOptions
from cutecc.errors import DeadlockError, UsageError
from cutecc.timelines.instructions import WAIT, Deed, deed_of
from cutecc.timelines.lamport import Event, LamportWatch
from cutecc.timelines.roles import with_roles
from cutecc.timelines.sites import Site, mbarrier, named_barrier
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cutecc.emulator.host import Progress
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run

_NO_TIME = (
    "counted on the emulator, in instructions of a warp: who waits is as late as whom it waits for, and copies and "
    "products take no time"
)


def emulated_timeline(
    emulator: Emulator,
    arguments: Mapping[str, Any],
    options: EmulatorOptions = EmulatorOptions(),
    *,
    show: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    started: Callable[[Run], None] | None = None,
) -> tuple[Timeline, Emulation | None]:
    """What the warps of a call do, of the blocks that `options` choose, and what else came of the call.

    Of a run that comes to a deadlock it is the timeline up to there, with who waits for what, and `None`.

    `arguments` are the call's by name, on the CPU, in place; `show`, `progress` and `started` are as of
    `Emulator.emulate`, which says what is raised. Raises `UsageError` for checks, and for a kernel of unknown origin,
    which runs where nobody can watch it.
    """
    if emulator.untrusted:
        raise UsageError("an untrusted kernel runs in a process of its own, which makes no timeline of it")
    if options.schedule == ALL:
        raise UsageError("a timeline is of one order", hints=["--schedule replay:FILE for one that sanitize has kept"])
    if options.check:
        raise UsageError("checks and a timeline are two runs", hints=["cutecc sanitize checks"])
    watches: list[LamportWatch] = []

    def watch(run: Run) -> None:
        def make(program: Program, machine: Machine) -> LamportWatch:
            watches.append(LamportWatch(program, machine))
            return watches[-1]

        run.add_watch(make)
        if started is not None:
            started(run)

    alone = replace(options, processes=1)
    try:
        found = emulator.emulate((), arguments, alone, show=show, progress=progress, started=watch)
    except DeadlockError as deadlock:
        watches[-1].deadlocked()
        return replace(timeline_of(watches), deadlock=[deadlock.message, *deadlock.hints, *deadlock.notes]), None
    return timeline_of(watches), found


def timeline_of(watches: Sequence[LamportWatch]) -> Timeline:
    """The timeline of all that these have seen, wave by wave."""
    sites = _Sites(watches)
    blocks: list[BlockTimeline] = []
    launch = 0
    seen: set[int] = set()
    kernel = watches[0].program.name if watches else ""
    for watch in watches:
        name = watch.program.name
        numbers = {linear(block.index, watch.machine.shape.grid) for block in watch.machine.blocks}
        if name != kernel or seen & numbers:
            launch, kernel = launch + 1, name
            seen = set()
        seen |= numbers
        blocks += _blocks(watch, launch, sites)
    blocks.sort(key=lambda block: (block.launch, block.block))
    return with_roles(Timeline("instructions", "emulator", sites.all, blocks, notes=[_NO_TIME]))


def _blocks(watch: LamportWatch, launch: int, sites: _Sites) -> Iterable[BlockTimeline]:
    lanes: dict[int, list[Lane]] = defaultdict(list)
    for gang in watch.machine.gangs:
        clocks = watch.clocks(gang)
        for row, block in enumerate(gang.blocks):
            number = linear(block.index, watch.machine.shape.grid)
            lanes[number].append(
                _lane(int(gang.warp_numbers[row, 0]), int(clocks.now[row]), clocks.events[row], watch, sites)
            )
    for number, found in lanes.items():
        found.sort(key=lambda lane: lane.warp)
        yield BlockTimeline(watch.program.name, launch, number, -1, found)


def _lane(warp: int, end: int, events: list[Event], watch: LamportWatch, sites: _Sites) -> Lane:
    numbers = [sites.number(watch, event) for event in events]
    return Lane(
        warp,
        "warp",
        0.0,
        float(end),
        np.array(numbers, np.int32),
        np.array([event.start for event in events], np.float64),
        np.array([event.end for event in events], np.float64),
        waits_for_ever=bool(events) and events[-1].is_for_ever,
    )


_Place = tuple[str, str]
"""What is done, and its place in the source, or in the PTX where that is not known; all copies of a loop have one."""


class _Sites:
    """The sites of what was seen, and what their barriers are called.

    Mbarriers that one line waits for, or arrives at, are the stages of one pipeline: they have one name.
    """

    def __init__(self, watches: Sequence[LamportWatch]) -> None:
        self.all: list[Site] = []
        self._numbers: dict[Site, int] = {}
        self._deeds: dict[tuple[str, int], Deed] = {}
        self._groups: dict[str, dict[int, int]] = {}
        """By kernel: of each mbarrier, by where it lies in shared memory, the number of what it is a stage of."""
        uses: dict[str, dict[_Place, set[int]]] = defaultdict(lambda: defaultdict[_Place, set[int]](set))
        for watch in watches:
            for event in _events(watch):
                offset = _offset(watch, event.key)
                if offset is not None:
                    operation = watch.program.operations[event.operation]
                    uses[watch.program.name][_place(operation)].add(offset)
        for kernel, found in uses.items():
            self._groups[kernel] = _numbered(found.values())

    def number(self, watch: LamportWatch, event: Event) -> int:
        """The index in `all` of what an event was at."""
        operation = watch.program.operations[event.operation]
        deed = self._deeds.get(place := (watch.program.name, event.operation))
        if deed is None:
            # What else has an event is what a deadlock ended at.
            deed = self._deeds[place] = deed_of(operation) or WAIT
        location = operation.instruction.location
        site = Site(
            deed.kind,
            deed.name,
            self._barrier(watch, deed, event.key),
            location.file if location else "",
            (location.line or 0) if location else 0,
        )
        number = self._numbers.get(site)
        if number is None:
            number = self._numbers[site] = len(self.all)
            self.all.append(site)
        return number

    def _barrier(self, watch: LamportWatch, deed: Deed, key: Hashable) -> str | None:
        if deed.barrier is not None:
            return deed.barrier
        offset = _offset(watch, key)
        if offset is not None:
            return mbarrier(self._groups[watch.program.name][offset])
        # ("barrier", slot, number, phase)
        kind, *where = cast("tuple[Any, ...]", key or ("",))
        return named_barrier(where[1]) if kind == "barrier" else None


def _events(watch: LamportWatch) -> Iterable[Event]:
    for gang in watch.machine.gangs:
        for events in watch.clocks(gang).events:
            yield from events


def _offset(watch: LamportWatch, key: Hashable) -> int | None:
    """Where an mbarrier lies in its block's shared memory; `None` for the key of anything else."""
    kind, *where = cast("tuple[Any, ...]", key or ("",))
    return where[0] % watch.machine.memory.shared_stride if kind == "mbarrier" else None


def _place(operation: Operation) -> _Place:
    # One line may wait for what is empty, and arrive at what is full.
    form, location = operation.form, operation.instruction.location
    return ".".join((form.opcode, *form.modifiers[:1])), str(location or operation.index)


def _numbered(uses: Iterable[set[int]]) -> dict[int, int]:
    """Numbers for what is used together, in any of these sets, from the lowest on."""
    leaders: dict[int, int] = {}

    def leader(each: int) -> int:
        while leaders.setdefault(each, each) != each:
            each = leaders[each]
        return each

    for together in uses:
        low = min(leader(each) for each in together)
        for each in together:
            leaders[leader(each)] = low
    order = sorted({leader(each) for each in leaders})
    return {each: order.index(leader(each)) for each in leaders}
