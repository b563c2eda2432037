"""What a proof is about, for people: the events of the run that stands for all, in one period of its steady state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import lcm, prod

from cutecc.proving.execution import Execution
from cutecc.proving.exploring import Assumed
from cutecc.proving.names import Barriers, uses_of
from cutecc.proving.recording import Happened, Phase, Recording, Stopped
from cutecc.proving.states import States
from cutecc.proving.values import Count, DependsOnPeriod, NeedsPeriod, Residue, Symbol, Undecided
from cutecc.proving.warps import NotKnown, Program
from cutecc.proving.windows import Steady, Window
from cutecc.report.skeleton import Edge, Event, EventKind, Lane, Skeleton
from cutecc.timelines.roles import LaneGroup, role_of
from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, Site, SiteKind, mbarrier
from cutecc.timelines.timeline import Role

_LONG = 128
"""Steps of a loop that is looked at for its steady state."""
_MOST_PERIOD = 32
_TURNS = 3
"""Of a loop that has no steady state."""
_TILES = 3
"""Of a loop over tiles."""
_MOST = 50_000
"""Events that a run may have before it comes to one."""
_MOST_SHOWN = 400
"""Events of a lane."""

_KINDS: dict[str, tuple[EventKind, str]] = {
    "nvvm.mbarrier.init": ("initialise", "initialise mbarriers"),
    "nvvm.mbarrier.arrive": ("arrive", "arrive {}"),
    "nvvm.mbarrier.arrive.expect_tx": ("arrive", "announce {}"),
    "nvvm.mbarrier.try_wait.parity": ("wait", "wait {}"),
    "nvvm.mbarrier.wait.parity": ("wait", "wait {}"),
    "nvvm.barrier": ("barrier", "{}"),
    "nvvm.barrier.arrive": ("arrive", "arrive {}"),
    "nvvm.cluster.arrive": ("arrive", "arrive {}"),
    "nvvm.cluster.arrive.relaxed": ("arrive", "arrive {}"),
    "nvvm.cluster.wait": ("barrier", "wait {}"),
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": ("copy", "copy → {}"),
    "nvvm.cp.async.bulk.tensor.global.shared.cta": ("copy", "copy out"),
    "nvvm.cp.async.bulk.tensor.reduce": ("copy", "reduce out"),
    "nvvm.cp.async.bulk.commit.group": ("commit", "commit copies"),
    "nvvm.cp.async.bulk.wait_group": ("group wait", "wait own copies"),
    "nvvm.cp.async.shared.global": ("copy", "cp.async"),
    "nvvm.cp.async.commit.group": ("commit", "commit cp.async"),
    "nvvm.cp.async.wait.group": ("group wait", "wait own cp.async"),
    "nvvm.cp.async.wait.all": ("group wait", "wait own cp.async"),
    "nvvm.cp.async.mbarrier.arrive": ("arrive", "arrive {} after cp.async"),
    "nvvm.wgmma.commit.group.sync.aligned": ("commit", "commit products"),
    "nvvm.wgmma.wait.group.sync.aligned": ("group wait", "wait own products"),
    "llvm.inline_asm": ("product", "product"),
    "llvm.load": ("read", "read"),
    "llvm.store": ("write", "write"),
    "nvvm.stmatrix": ("write", "write"),
    "nvvm.ldmatrix": ("read", "read"),
}
_SITES: dict[EventKind, SiteKind] = {
    "wait": "wait", "group wait": "wait", "arrive": "arrive", "copy": "copy", "product": "product", "barrier": "barrier"
}  # fmt: skip


def skeletons_of(program: Program) -> list[Skeleton]:
    """One period of the loop over steps; of a loop over tiles, some tiles of one step each; of no loop, all.

    Of a loop without a steady state there are its first turns; nothing where something decides that is not known.
    """
    try:
        asked, begun = _first_turns(program)
        symbols = {what: factor for what, factor in asked.items() if isinstance(what, Symbol)}
        found: list[Skeleton] = []
        uses: dict[int, str] = {}
        for symbol, factor in symbols.items():
            if (drawing := _period(program, symbol, factor)) is not None:
                uses = drawing.uses
                found.append(drawing.skeleton())
                break
        title = f"the first {_TURNS} turns of each loop" if asked else "all of it"
        if found and len(symbols) < len(asked):
            begun, title = _begin(program, Assumed(exact=dict.fromkeys(symbols, 1))), f"{_TILES} tiles of 1 step each"
            _all_decided(begun, _TILES)
    except (NotKnown, NeedsPeriod, DependsOnPeriod):
        return []
    if begun.events_of and not (found and len(symbols) == len(asked)):
        found.append(_Drawing(begun, begun.events_of, title, is_period=False, uses=uses).skeleton())
    return found


def _first_turns(program: Program) -> tuple[dict[Symbol | Count, int], Recording]:
    """A run whose loops have few turns; with the numbers that it asked for, each with what it is needed modulo."""
    asked: dict[Symbol | Count, int] = {}
    while True:
        before = dict(asked)
        run = _begin(program, Assumed(exact={each: _TURNS for each in asked if isinstance(each, Symbol)}))
        try:
            for what in _decided(run, _TURNS):
                asked.setdefault(what, 1)
            return asked, run
        except NeedsPeriod as needed:
            asked[needed.symbol] = lcm(asked.get(needed.symbol, 1), needed.factor)
            if asked == before:
                return asked, run
        except NotKnown:
            # What is computed of a number may be known where that one is.
            if asked == before:
                raise
        except DependsOnPeriod:
            return asked, run


def _begin(program: Program, assumed: Assumed) -> Recording:
    run = Recording.begin(program, assumed.numbers())
    assert isinstance(run, Recording)
    run.most = _MOST
    return run


def _all_decided(run: Execution, turns: int) -> None:
    for _ in _decided(run, turns):
        pass


def _decided(run: Execution, turns: int) -> Iterator[Symbol | Count]:
    """Go to the end with so many turns of each loop; yields what was asked for."""
    while True:
        try:
            with suppress(Stopped):
                run.run()
            return
        except Undecided as undecided:
            yield undecided.key.what
            run.numbers.decide(undecided.key, undecided.steps, more=undecided.steps < turns)


def _period(program: Program, symbol: Symbol, factor: int) -> _Drawing | None:
    """The steady state of the loops of so many steps, in the first tile."""
    while factor <= _MOST_PERIOD:
        residues = {symbol: Residue(_LONG, factor)} if factor > 1 else {}
        run = _begin(program, Assumed(exact={symbol: _LONG}, residues=residues))
        run.window = Window(symbol, _LONG, 0, States(program))
        try:
            _all_decided(run, 1)
        except NeedsPeriod as needed:
            factor = max(lcm(factor, needed.factor), 2 * factor)
            continue
        except DependsOnPeriod:
            factor *= 2
            continue
        except NotKnown:
            return None
        if (found := run.window.first) is None:
            return None
        steps = _fewest_steps(run, found)
        shown = {
            warp: run.events_of[warp][turns.events(found.first, found.first + steps)]
            for warp, turns in run.turns.items()
        }
        what = f"{steps} steps" if steps > 1 else "1 step"
        title = f"one period: {what} of the loop, from step {found.first} on"
        return _Drawing(run, shown, title, is_period=True)
    return None


def _fewest_steps(run: Recording, found: Steady) -> int:
    """After how many steps warps do the same to the same barriers again; the clocks may take longer."""
    for steps in range(1, found.period):
        if found.period % steps == 0 and all(_repeats(run, warp, found, steps) for warp in run.turns):
            return steps
    return found.period


def _repeats(run: Recording, warp: int, found: Steady, steps: int) -> bool:
    turns, events = run.turns[warp], run.events_of.get(warp, [])
    chunks = {
        tuple(_seen(each) for each in events[turns.events(first, first + steps)])
        for first in range(found.first, found.first + found.period, steps)
    }
    return len(chunks) == 1


def _seen(happened: Happened) -> tuple[object, ...]:
    """What an event is, with its barriers and the parities of their phases."""
    phases = (*happened.arrives, *([happened.waits] if happened.waits else ()))
    return happened.operation, *((key, phase % 2) if isinstance(key, int) else key for key, phase in phases)


@dataclass(eq=False, slots=True)
class _Own:
    """An event of a lane, with those that it is."""

    event: Event
    happened: list[Happened]


class _Drawing:
    """The events of a part of a run, by lanes."""

    def __init__(
        self,
        run: Recording,
        shown: Mapping[int, Sequence[Happened]],
        title: str,
        *,
        is_period: bool,
        uses: Mapping[int, str] | None = None,
    ) -> None:
        self._run = run
        self._title = title
        self._is_period = is_period
        self.uses = {**uses_of(run), **(uses or {})}
        self._barriers = Barriers(run, self.uses)
        self._shown = {warp: events[:_MOST_SHOWN] for warp, events in sorted(shown.items()) if events}
        sites = {warp: self._sites(warp) for warp in self._shown}
        every = [site for own in sites.values() for site in own]
        roles: dict[int, Role] = {warp: role_of(own, every) for warp, own in sites.items()}
        # Where all do the same there are no roles.
        if len(set(roles.values())) == 1:
            roles = dict.fromkeys(roles, "warp")
        self._roles = roles

    def skeleton(self) -> Skeleton:
        lanes: list[Lane] = []
        places: dict[int, tuple[int, int]] = {}
        """Of what happened, by identity."""
        by_warp: dict[int, int] = {}
        for warps in self._groups():
            first = self._run.warps[warps[0]]
            own = [*self._merged(self._shown[warps[0]], first.block)]
            by_warp |= {warp: len(lanes) for warp in warps}
            for warp in warps:
                for happened, place in zip(self._shown[warp], _indices(own), strict=True):
                    places[id(happened)] = len(lanes), place
            lanes.append(self._lane(warps, [each.event for each in own]))
        edges = [*self._edges(places, by_warp)]
        return Skeleton(self._title, self._is_period, lanes, edges, [*self._others()])

    # Lanes

    def _groups(self) -> list[list[int]]:
        """Warps of a block with the same events, in their order."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for warp, shown in self._shown.items():
            block = self._run.warps[warp].block
            events = tuple((each.operation, each.waits) for each in shown)
            groups.setdefault((block, events), []).append(warp)
        return [*groups.values()]

    def _lane(self, warps: list[int], events: list[Event]) -> Lane:
        run = self._run
        role = self._roles[warps[0]]
        block = run.warps[warps[0]].block
        numbers = tuple(run.warps[each].number for each in warps)
        title = LaneGroup(role, numbers).title
        if prod(run.program.kernel.cluster) > 1:
            title = f"block {block}: {title}"
        return Lane(role, title, block, [*numbers], events)

    def _sites(self, warp: int) -> list[Site]:
        """Where a warp has been, as roles are told by."""
        return [
            Site(_SITES[kind], "", self._told_by(each, kind))
            for each in self._run.events_of.get(warp, ())
            if (kind := _KINDS[each.operation.name][0]) in _SITES
        ]

    def _told_by(self, happened: Happened, kind: EventKind) -> str | None:
        name = happened.operation.name
        phase = happened.waits or next(iter(happened.arrives), None)
        if kind == "product" or ("wgmma" in name and kind == "group wait"):
            return PRODUCTS
        if phase is None:
            return COPIES if "shared.global" in name or ".async.wait" in name else STORES if "bulk" in name else None
        return mbarrier(phase[0]) if isinstance(phase[0], int) else str(phase[0])

    def _others(self) -> Iterator[str]:
        """Warps that do nothing in this part."""
        idle = [index for index in range(len(self._run.warps)) if index not in self._shown]
        waiting: dict[tuple[int, str], list[int]] = {}
        for index in idle:
            warp = self._run.warps[index]
            if warp.event is None:
                what = "have ended"
            else:
                line = warp.event.location.line if warp.event.location else None
                what = "wait" + (f" at line {line}" if line else "")
            waiting.setdefault((warp.block, what), []).append(warp.number)
        for (block, what), numbers in waiting.items():
            where = f"block {block}: " if prod(self._run.program.kernel.cluster) > 1 else ""
            yield f"{where}{LaneGroup('warp', tuple(numbers)).title}: {what}"

    # Events

    def _merged(self, shown: Sequence[Happened], block: int) -> Iterator[_Own]:
        last: _Own | None = None
        for each in shown:
            event = self._event(each, block)
            if last is not None and _is_same(last.event, event):
                last.event.times += 1
                last.happened.append(each)
                if event.text not in last.event.text:
                    last.event.text += f" and {event.text}"
                continue
            if last is not None:
                yield last
            last = _Own(event, [each])
        if last is not None:
            yield last

    def _event(self, happened: Happened, block: int) -> Event:
        kind, words = _KINDS[happened.operation.name]
        phase = happened.waits or next(iter(happened.arrives), None)
        barrier, slot, number = "", None, 0
        if phase is not None:
            keys = [happened.waits[0]] if happened.waits else [each[0] for each in happened.arrives]
            barrier, slot = self._barriers.name(keys, block)
            number = 0 if isinstance(phase[0], tuple) else phase[1]
        place = happened.operation.location
        file, line = (place.file, place.line or 0) if place else ("", 0)
        return Event(kind, words.format(barrier), barrier, number, slot, file=file, line=line)

    # Edges

    def _edges(self, places: dict[int, tuple[int, int]], by_warp: dict[int, int]) -> Iterator[Edge]:
        """From the last of each lane that counts for a phase to whoever goes on at its end."""
        causes = self._causes()
        seen: set[tuple[object, ...]] = set()
        for shown in self._shown.values():
            for happened in shown:
                if happened.waits is None:
                    continue
                for cause in causes[happened.waits]:
                    start, to = places.get(id(cause)), places[id(happened)]
                    lane = None if start else by_warp.get(cause.warp)
                    if (start, lane, to) in seen or (start and start[0] == to[0] and start[1] >= to[1]):
                        continue
                    seen.add((start, lane, to))
                    yield Edge(to, start, lane)

    def _causes(self) -> dict[Phase, list[Happened]]:
        """What completes each phase: copies where there are any, else arrivals; the last one of each warp."""
        found: dict[Phase, list[Happened]] = defaultdict(list)
        for events in self._run.events_of.values():
            for each in events:
                for phase in each.arrives:
                    found[phase].append(each)
        for phase, causes in found.items():
            copies = [each for each in causes if _KINDS[each.operation.name][0] == "copy"]
            found[phase] = [*{each.warp: each for each in copies or causes}.values()]
        return found


def _indices(own: Sequence[_Own]) -> Iterator[int]:
    """For each that happened, the number of its event."""
    for index, each in enumerate(own):
        for _ in each.happened:
            yield index


def _is_same(one: Event, other: Event) -> bool:
    """Whether they are shown as one that comes several times."""
    if one.line != other.line or (one.barrier, one.phase) != (other.barrier, other.phase):
        return False
    return one.text == other.text or {one.kind, other.kind} <= {"read", "write"}
