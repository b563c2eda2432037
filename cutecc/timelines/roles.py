"""What each warp is for, and which warps do the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, Site, SiteKind, is_mbarrier
from cutecc.timelines.timeline import BlockTimeline, Lane, Role, Timeline

_PLURALS: dict[Role, str] = {"producer": "producers", "consumer": "consumers", "epilogue": "epilogue", "warp": ""}


@dataclass(frozen=True)
class LaneGroup:
    """Warps of a block that do the same."""

    role: Role
    warps: tuple[int, ...]
    """Ascending."""

    @property
    def title(self) -> str:
        """`warps 4-7 consumers`, `warp 0 producer`, `warps 1, 3-5`."""
        several = len(self.warps) > 1
        role = "" if self.role == "warp" else _PLURALS[self.role] if several else self.role
        return " ".join(filter(None, ["warps" if several else "warp", _ranges(self.warps), role]))


def with_roles(timeline: Timeline) -> Timeline:
    """The timeline with the roles of its warps, and without blocks of which no warp was recorded.

    In a block whose warps all do the same they have none.
    """
    known: dict[frozenset[int], Role] = {}

    def role(lane: Lane) -> Role:
        own: frozenset[int] = frozenset(np.unique(lane.sites).tolist())
        if own not in known:
            known[own] = role_of([timeline.sites[each] for each in own], timeline.sites)
        return known[own]

    blocks: list[BlockTimeline] = []
    for block in (each for each in timeline.blocks if each.lanes):
        roles = [role(lane) for lane in block.lanes]
        if len(set(roles)) == 1:
            roles = ["warp" for _ in roles]
        lanes = [replace(lane, role=each) for lane, each in zip(block.lanes, roles, strict=True)]
        blocks.append(replace(block, lanes=lanes))
    return replace(timeline, blocks=blocks)


def role_of(own: Sequence[Site], every: Iterable[Site]) -> Role:
    """What a warp does that has been at these sites; `every` are all of the kernel.

    A consumer begins products, or waits for its own. A producer begins copies into shared memory. What waits for the
    products of others, or copies out of shared memory, is an epilogue.
    """
    if any(map(_is_product, own)):
        return "consumer"
    copies = _barriers(own, "copy")
    if COPIES in copies or any(map(is_mbarrier, copies)):
        return "producer"
    takes_results = not _barriers(own, "wait").isdisjoint(_barriers(every, "product"))
    return "epilogue" if STORES in copies or takes_results else "warp"


def _barriers(sites: Iterable[Site], kind: SiteKind) -> set[str]:
    """Those of the sites of a kind."""
    return {each.barrier for each in sites if each.kind == kind and each.barrier is not None}


def _is_product(site: Site) -> bool:
    return site.kind == "product" or (site.kind == "wait" and site.barrier == PRODUCTS)


def lane_groups(block: BlockTimeline, sites: Sequence[Site]) -> list[LaneGroup]:
    """The warps of a block by what they do, in the order of their first ones.

    Warps do the same that have one role and come to the same sites again and again; what they do once, as the one does
    that stores for all, makes no difference.
    """
    found: dict[tuple[Role, frozenset[int]], list[int]] = {}
    for lane in block.lanes:
        found.setdefault((lane.role, _repeated(lane, sites)), []).append(lane.warp)
    groups = [LaneGroup(role, tuple(sorted(warps))) for (role, _), warps in found.items()]
    return sorted(groups, key=lambda group: group.warps)


def _repeated(lane: Lane, sites: Sequence[Site]) -> frozenset[int]:
    """The sites that a lane comes to at least half as often as to any."""
    found, counts = np.unique(lane.sites[lane.plain(sites)], return_counts=True)
    return frozenset(found[2 * counts >= counts.max(initial=0)].tolist())


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
