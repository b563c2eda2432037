"""The events of a part of a run, by lanes: warps that do the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from cutecc.proving.names import Barriers, uses_of
from cutecc.proving.recording import Happened, Phase, Recording
from cutecc.report.skeleton import Edge, Event, EventKind, Lane, Skeleton
from cutecc.timelines.roles import LaneGroup, role_of
from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, Site, SiteKind, mbarrier
from cutecc.timelines.timeline import Role

_MOST_SHOWN = 400
"""Events of a warp."""

_KINDS: dict[str, tuple[EventKind, str]] = {
    "nvvm.mbarrier.init": ("initialise", "initialise mbarriers"),
    "nvvm.mbarrier.arrive": ("arrive", "arrive {}"),
    "nvvm.mbarrier.arrive.expect_tx": ("arrive", "announce {}"),
    "nvvm.mbarrier.try_wait.parity": ("wait", "wait {}"),
    "nvvm.mbarrier.wait.parity": ("wait", "wait {}"),
    "nvvm.barrier": ("barrier", "{}"),
    "nvvm.barrier.arrive": ("arrive", "arrive {}"),
    "nvvm.barrier.cta.arrive": ("arrive", "arrive {}"),
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
    "nvvm.load.ext": ("read", "read"),
    "nvvm.store.ext": ("write", "write"),
    "nvvm.stmatrix": ("write", "write"),
    "nvvm.ldmatrix": ("read", "read"),
    "nvvm.store.async": ("copy", "store → {}"),
    "nvvm.mbarrier.expect_tx": ("arrive", "announce {}"),
}
# What there are many of, by how their names begin.
_FAMILIES: dict[str, tuple[EventKind, str]] = {
    "nvvm.mbarrier.try_wait": ("wait", "wait {}"),
    "nvvm.mbarrier.test.wait": ("wait", "look at {}"),
    "nvvm.mbarrier.": ("arrive", "arrive {}"),
    "nvvm.barrier": ("barrier", "{}"),
    "nvvm.cp.async.bulk.shared": ("copy", "copy → {}"),
    "nvvm.cp.async.bulk.global": ("copy", "copy out"),
    "nvvm.tcgen05.mma": ("product", "product"),
    "nvvm.tcgen05.cp": ("copy", "copy to tensor memory"),
    "nvvm.tcgen05.commit": ("arrive", "commit → {}"),
    "nvvm.tcgen05.ld": ("read", "read tensor memory"),
    "nvvm.tcgen05.st": ("write", "write tensor memory"),
    "nvvm.tcgen05.wait": ("group wait", "wait own accesses"),
    "nvvm.tcgen05.": ("initialise", "tensor memory"),
    "nvvm.clusterlaunchcontrol": ("copy", "ask for a cluster → {}"),
}


def _kind_of(name: str) -> tuple[EventKind, str]:
    """What an event is, and its words."""
    found = _KINDS.get(name)
    if found is not None:
        return found
    return next((each for begin, each in _FAMILIES.items() if name.startswith(begin)), ("initialise", name))


_SITES: dict[EventKind, SiteKind] = {
    "wait": "wait", "group wait": "wait", "arrive": "arrive", "copy": "copy", "product": "product", "barrier": "barrier"
}  # fmt: skip


@dataclass(eq=False, slots=True)
class _Group:
    """Warps of a block that do the same, but for what some of them do besides."""

    block: int
    role: Role
    happened: Sequence[Happened]
    """Of the one that does most."""
    places: dict[int, list[int]]
    """Where among these each warp's own are."""

    @property
    def warps(self) -> list[int]:
        return sorted(self.places)


class Lanes:
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
        for group in sorted(self._groups(), key=lambda each: each.warps):
            events, rows = self._merged(group)
            by_warp |= {warp: len(lanes) for warp in group.warps}
            for warp, own in group.places.items():
                for happened, place in zip(self._shown[warp], own, strict=True):
                    places[id(happened)] = len(lanes), rows[place]
            lanes.append(self._lane(group, events))
        edges = [*self._edges(places, by_warp)]
        return Skeleton(self._title, self._is_period, lanes, edges, [*self._others()])

    # Lanes

    def _groups(self) -> list[_Group]:
        """Warps with what they do, those that do most first; who does most of that and nothing else is one of them."""
        groups: list[_Group] = []
        for warp, shown in sorted(self._shown.items(), key=lambda item: -len(item[1])):
            block, role = self._run.warps[warp].block, self._roles[warp]
            for group in groups:
                found = _places(shown, group.happened) if (group.block, group.role) == (block, role) else None
                if found is not None:
                    group.places[warp] = found
                    break
            else:
                groups.append(_Group(block, role, shown, {warp: [*range(len(shown))]}))
        return groups

    def _lane(self, group: _Group, events: list[Event]) -> Lane:
        numbers = tuple(self._run.warps[each].number for each in group.warps)
        title = LaneGroup(group.role, numbers).title
        if prod(self._run.program.kernel.cluster) > 1:
            title = f"block {group.block}: {title}"
        return Lane(group.role, title, group.block, [*numbers], events)

    def _sites(self, warp: int) -> list[Site]:
        """Where a warp has been, as roles are told by."""
        return [
            Site(_SITES[kind], "", self._told_by(each, kind))
            for each in self._run.events_of.get(warp, ())
            if (kind := _kind_of(each.operation.name)[0]) in _SITES
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
        """Warps that do nothing in this part, and where those wait that never go on."""
        run = self._run
        is_stuck = any(each.kind == "deadlock" for each in run.problems)
        found: dict[tuple[int, str], list[int]] = {}
        for index, warp in enumerate(run.warps):
            if warp.event is None:
                what = "" if index in self._shown else "have ended"
            else:
                at = f" at line {warp.event.location.line}" if warp.event.location else ""
                what = f"wait for ever{at}" if is_stuck else "" if index in self._shown else f"wait{at}"
            if what:
                found.setdefault((warp.block, what), []).append(warp.number)
        for (block, what), numbers in found.items():
            where = f"block {block}: " if prod(run.program.kernel.cluster) > 1 else ""
            yield f"{where}{LaneGroup('warp', tuple(numbers)).title}: {what}"

    # Events

    def _merged(self, group: _Group) -> tuple[list[Event], list[int]]:
        """The events of a lane, and for each that happened, which one it is."""
        events: list[Event] = []
        rows: list[int] = []
        for place, happened in enumerate(group.happened):
            event = self._event(happened, group.block)
            of = [self._run.warps[warp].number for warp in group.warps if place in group.places[warp]]
            event.warps = of if len(of) < len(group.warps) else []
            if events and _is_same(events[-1], event):
                events[-1].times += 1
                if event.text not in events[-1].text:
                    events[-1].text += f" and {event.text}"
            else:
                events.append(event)
            rows.append(len(events) - 1)
        return events, rows

    def _event(self, happened: Happened, block: int) -> Event:
        kind, words = _kind_of(happened.operation.name)
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
                # Who arrives at the cluster's barrier waits there, too.
                if not each.operation.name.startswith("nvvm.cluster.arrive"):
                    for phase in each.arrives:
                        found[phase].append(each)
        for phase, causes in found.items():
            copies = [each for each in causes if _kind_of(each.operation.name)[0] == "copy"]
            found[phase] = [*{each.warp: each for each in copies or causes}.values()]
        return found


def _places(shown: Sequence[Happened], among: Sequence[Happened]) -> list[int] | None:
    """Where events are among others; `None` where some are not, or the others are more than twice as many."""
    if 2 * len(shown) < len(among):
        return None
    places: list[int] = []
    at = 0
    for each in shown:
        while at < len(among) and (among[at].operation, among[at].waits) != (each.operation, each.waits):
            at += 1
        if at == len(among):
            return None
        places.append(at)
        at += 1
    return places


def _is_same(one: Event, other: Event) -> bool:
    """Whether they are shown as one that comes several times."""
    if one.kind == other.kind == "initialise":
        return one.warps == other.warps
    if (one.line, one.barrier, one.phase, one.warps) != (other.line, other.barrier, other.phase, other.warps):
        return False
    return one.text == other.text or {one.kind, other.kind} <= {"read", "write"}
