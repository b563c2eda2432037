"""The steady state of a pipeline: what its warps do in one period, and how it hangs together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.causes import Causes, causes_of
from cutecc.timelines.critical import Leaves, Share, Step, clipped, shares_of, walk
from cutecc.timelines.loops import FEWEST_TURNS, Turns, steady_turns
from cutecc.timelines.roles import LaneGroup, lane_groups
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Role, Timeline

_MOST_BLOCKS = 32
_MOST_TURNS = 8
"""Of a lane in one period, or of the lane that it is told by."""
_TOLERANCE = 0.06
"""How far the turns of a lane may be from a multiple, relative to it."""
_IN_STEP = 8
"""Warps of a group that are less than this part of a period apart are drawn as one."""
_WINDOW = 24
"""Periods over which a path is looked at."""
_RANK: dict[Role, int] = {"consumer": 0, "producer": 1, "epilogue": 2, "warp": 3}


@dataclass(frozen=True, eq=False)
class FoldedLane:
    """What warps of one group do in one period."""

    group: LaneGroup
    turns: int
    """Of their own loop."""
    sites: NDArray[np.int32]
    offsets: NDArray[np.float64]
    """Of each span, from the period's start; the first is in the period, later ones may be beyond its end."""
    lengths: NDArray[np.float64]
    causes: Causes
    """Who ended each wait: by index in `Steady.lanes`, and of the spans there."""
    ago: NDArray[np.int32]
    """Of each wait with such a span: how many periods before its own that is."""


@dataclass(frozen=True, eq=False)
class Steady:
    """One period, folded from many: medians over all of them."""

    period: float
    """Its length, in the timeline's unit."""
    periods: int
    blocks: int
    lanes: list[FoldedLane]
    left_out: list[str]
    """Whose turns do not fit, and why, in words."""
    path: list[Step]
    """The critical path; lanes are those of `lanes`. It may go back through several periods until it repeats: all of
    them are laid over one another."""
    shares: list[Share]
    """Of the path in one period, on average."""


@lru_cache(maxsize=1)  # the terminal asks, then the page
def steady_state(timeline: Timeline) -> tuple[Steady | None, str]:
    """The steady state of the timeline's blocks, a sample of them where they are many; or `None` and why, in words."""
    looping = [found for block in _sample(timeline.blocks) if (found := _Block.of(block, timeline)) is not None]
    if not looping:
        return None, f"no warp repeats what it does at least {FEWEST_TURNS} times, for half of its spans"
    folded = [each for block in _most(looping, lambda block: block.signature) if (each := block.fold()) is not None]
    if not folded:
        return None, "no block has a whole period in which all warps of the loop take part"
    # Where some blocks get their data in bursts and others do not, their periods have different turns.
    return _joined(_most(folded, lambda block: block.shape), timeline), ""


def _sample(blocks: Sequence[BlockTimeline]) -> Sequence[BlockTimeline]:
    """Some of them, evenly spread."""
    if len(blocks) <= _MOST_BLOCKS:
        return blocks
    return [blocks[each * (len(blocks) - 1) // (_MOST_BLOCKS - 1)] for each in range(_MOST_BLOCKS)]


_Each = TypeVar("_Each")


def _most(each: Sequence[_Each], key: Callable[[_Each], Hashable]) -> list[_Each]:
    """Those that have in common what most have."""
    keys = [key(one) for one in each]
    usual, _ = Counter(keys).most_common(1)[0]
    return [one for one, its in zip(each, keys, strict=True) if its == usual]


@dataclass(eq=False)
class _FoldedWarp:
    """One warp of one block: spans of each period, shape `(periods, spans)`."""

    turns: int
    sites: NDArray[np.int32]
    spans: NDArray[np.intp]
    offsets: NDArray[np.float64]
    lengths: NDArray[np.float64]
    numbers: NDArray[np.intp]
    """Of each row which of the block's periods it is."""

    def shift(self, periods: int, period: float) -> None:
        """Count them to later periods."""
        self.numbers = self.numbers + periods
        self.offsets = self.offsets - periods * period


@dataclass(eq=False)
class _FoldedBlock:
    period: float
    periods: int
    block: BlockTimeline
    warps: dict[int, _FoldedWarp]
    """By index of the lane."""
    left_out: list[str]

    @property
    def shape(self) -> tuple[tuple[int, int], ...]:
        """Which lanes take part, each with how many turns."""
        return tuple((number, warp.turns) for number, warp in self.warps.items())


class _Block:
    """A block with loops."""

    def __init__(self, block: BlockTimeline, groups: list[LaneGroup], turns: dict[int, Turns]) -> None:
        self._block = block
        self._groups = groups
        self._turns = turns
        self.signature = (
            tuple((group.role, group.warps) for group in groups),
            tuple((number, tuple(each.sites.tolist())) for number, each in sorted(turns.items())),
        )
        """What blocks have in common that do the same."""

    @classmethod
    def of(cls, block: BlockTimeline, timeline: Timeline) -> _Block | None:
        turns = {
            number: found
            for number, lane in enumerate(block.lanes)
            if (found := steady_turns(lane, timeline.sites)) is not None and len(found.starts) > 1
        }
        return cls(block, lane_groups(block, timeline.sites), turns) if turns else None

    def fold(self) -> _FoldedBlock | None:
        """The block's whole periods; `None` where there is none."""
        lanes = self._block.lanes
        guide = min(self._turns, key=lambda each: (_RANK[lanes[each].role], -self._turns[each].starts.size, each))
        of_guide = self._turns[guide]
        fits: dict[int, Fraction] = {}
        for number, each in self._turns.items():
            ratio = of_guide.length / each.length if each.length > 0 else 0.0
            near = Fraction(ratio).limit_denominator(_MOST_TURNS)
            if 0 < near <= _MOST_TURNS and abs(ratio - near) <= _TOLERANCE * ratio:
                fits[number] = near
        together = math.lcm(of_guide.burst, *(each.denominator for each in fits.values()))
        begins, runs = of_guide.starts[::together], of_guide.runs[::together]
        whole = np.flatnonzero(np.diff(runs) == 0)
        if together > _MOST_TURNS or not len(whole):
            return None
        period = float(np.median(np.diff(begins)[whole]))
        begins = begins[whole]
        warps = {
            number: found
            for number, near in fits.items()
            if (found := _fold(self._turns[number], int(near * together), begins, period, lanes[number])) is not None
        }
        return _FoldedBlock(period, len(begins), self._block, warps, self._left_out(fits, warps))

    def _left_out(self, fits: Collection[int], taken: Collection[int]) -> list[str]:
        """Whose loop is no part of the period, and why."""
        lanes = self._block.lanes
        without = [number for number in self._turns if number not in fits]
        elsewhere = [number for number in fits if number not in taken]
        reasons = [
            (without, "left out: a turn takes no simple multiple of the time of the others'"),
            (elsewhere, "left out: the turns are at other times than those of the others"),
        ]
        return [
            f"{LaneGroup('warp', tuple(lanes[number].warp for number in numbers)).title} {why}"
            for numbers, why in reasons
            if numbers
        ]


def _fold(turns: Turns, together: int, begins: NDArray[np.float64], period: float, lane: Lane) -> _FoldedWarp | None:
    """Put so many turns at a time into the periods in which they begin."""
    count = len(turns.starts)
    first = np.searchsorted(turns.starts, begins - period / (4 * together)).astype(np.int64)
    # The same one of the turns each time, though they waver: the phase that most periods agree on.
    phase = int(np.bincount(first % together).argmax())
    first = first + (phase - first + together // 2) % together - together // 2
    numbers = np.flatnonzero((first >= 0) & (first + together <= count))
    first = first[numbers]
    last = np.minimum(first + together, count) - 1
    is_near = np.abs(turns.starts[first] - begins[numbers]) < 1.5 * period
    kept = np.flatnonzero((turns.runs[first] == turns.runs[last]) & is_near)
    first, numbers = first[kept], numbers[kept]
    if not len(first):
        return None
    spans = turns.spans[first[:, None] + np.arange(together)].reshape(len(first), -1)
    return _FoldedWarp(
        together,
        np.tile(turns.sites, together),
        spans,
        lane.starts[spans] - begins[numbers][:, None],
        lane.ends[spans] - lane.starts[spans],
        numbers,
    )


def _joined(blocks: Sequence[_FoldedBlock], timeline: Timeline) -> Steady:
    """Medians over the periods of all blocks, of each warp, then over warps that are in step."""
    period = float(np.median([each.period for each in blocks]))
    first = blocks[0]
    medians = {number: _median(number, blocks, period) for number in first.warps}
    groups = lane_groups(first.block, timeline.sites)
    parts = [part for group in groups for part in _in_step(group, first.block, medians, period)]
    for _, members in parts:
        for number in members[1:]:
            # Just before the end of a period is just before the beginning of the next.
            late = round(float(medians[number][0][0] - medians[members[0]][0][0]) / period)
            medians[number] = medians[number][0] - late * period, medians[number][1]
            for block in blocks:
                block.warps[number].shift(late, period)
    votes = _Votes(blocks, parts, timeline)
    lanes: list[FoldedLane] = []
    for number, (group, members) in enumerate(parts):
        offsets = np.median([medians[each][0] for each in members], axis=0)
        lengths = np.median([medians[each][1] for each in members], axis=0)
        of = first.warps[members[0]]
        lanes.append(FoldedLane(group, of.turns, of.sites, offsets, lengths, *votes.of(number)))
    path = _path(period, lanes, timeline.sites)
    shares = [replace(each, time=each.time / _WINDOW) for each in shares_of(path, timeline.sites)]
    periods = sum(each.periods for each in blocks)
    return Steady(period, periods, len(blocks), lanes, first.left_out, _laid_over(path, period), shares)


def _median(
    number: int, blocks: Sequence[_FoldedBlock], period: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Offsets and lengths of a warp's spans; the first begins in the period. Its turns are counted so in all blocks."""
    warps = [each.warps[number] for each in blocks]
    anchor = float(np.median(warps[0].offsets[:, 0]))
    for warp in warps:
        # Just before the beginning of one period is just before the end of another.
        warp.shift(round((float(np.median(warp.offsets[:, 0])) - anchor) / period), period)
    middle = np.median([np.median(warp.offsets, axis=0) for warp in warps], axis=0)
    whole = math.floor(float(middle[0]) / period + 1e-9)
    for warp in warps:
        warp.shift(whole, period)
    return middle - whole * period, np.median(np.concatenate([warp.lengths for warp in warps]), axis=0)


_Part = tuple[LaneGroup, list[int]]
"""Warps of a group that are in step, and the indices of their lanes."""


def _in_step(
    group: LaneGroup,
    block: BlockTimeline,
    medians: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]],
    period: float,
) -> list[_Part]:
    """A group in parts whose warps are at the same place at about the same time."""
    parts: list[list[int]] = []
    for number, lane in enumerate(block.lanes):
        if lane.warp not in group.warps or number not in medians:
            continue
        for part in parts:
            apart = abs(float(medians[number][0][0] - medians[part[0]][0][0])) % period
            same = len(medians[number][0]) == len(medians[part[0]][0])
            if same and min(apart, period - apart) * _IN_STEP < period:
                part.append(number)
                break
        else:
            parts.append([number])
    return [(LaneGroup(group.role, tuple(block.lanes[each].warp for each in part)), part) for part in parts]


class _Votes:
    """Who ended the waits of a period: what most periods say."""

    def __init__(self, blocks: Sequence[_FoldedBlock], parts: Sequence[_Part], timeline: Timeline) -> None:
        self._parts = parts
        self._part_of = {member: number for number, (_, members) in enumerate(parts) for member in members}
        self._counts: dict[tuple[int, int], Counter[tuple[int, int, int, int]]] = defaultdict(Counter)
        for block in blocks:
            self._count(block, causes_of(block.block, timeline.sites, timeline.unit))
        self._widths = [len(blocks[0].warps[members[0]].sites) for _, members in parts]

    def _count(self, block: _FoldedBlock, causes: Sequence[Causes]) -> None:
        places: dict[int, dict[int, tuple[int, int]]] = {
            number: {
                int(span): (int(warp.numbers[row]), column)
                for row, spans in enumerate(warp.spans)
                for column, span in enumerate(spans.tolist())
            }
            for number, warp in block.warps.items()
            if number in self._part_of
        }
        for number, known in places.items():
            part, why = self._part_of[number], causes[number]
            for span, (row, column) in known.items():
                other, ended = int(why.lanes[span]), int(why.ended[span])
                begun = places.get(other, {}).get(int(why.spans[span]))
                # What began it may be no part of a period.
                vote = (ended, -1, -1, 0) if begun is None else (ended, self._part_of[other], begun[1], row - begun[0])
                self._counts[part, column][vote] += 1

    def of(self, part: int) -> tuple[Causes, NDArray[np.int32]]:
        """The causes of a part, and how many periods ago they began."""
        width = self._widths[part]
        found = Causes(np.zeros(width, np.int8), np.full(width, -1, np.int32), np.full(width, -1, np.int32))
        ago = np.zeros(width, np.int32)
        for column in range(width):
            counts = self._counts.get((part, column))
            if not counts:
                continue
            (ended, lane, span, back), _ = counts.most_common(1)[0]
            found.ended[column], found.lanes[column], found.spans[column], ago[column] = ended, lane, span, back
        return found, ago


def _path(period: float, folded: Sequence[FoldedLane], sites: Sequence[Site]) -> list[Step]:
    """The critical path of periods that follow each other for long: of those in the middle, so many as `_WINDOW`."""
    back = max((int(lane.ago.max(initial=0)) for lane in folded), default=0)
    count = 2 * back + _WINDOW + 4
    lanes: list[Lane] = []
    causes: list[Causes] = []
    for lane in folded:
        width = len(lane.sites)
        shifts = np.repeat(np.arange(count), width)
        starts = np.tile(lane.offsets, count) + shifts * period
        ends = starts + np.tile(lane.lengths, count)
        lanes.append(
            Lane(lane.group.warps[0], lane.group.role, 0.0, float(ends[-1]), np.tile(lane.sites, count), starts, ends)
        )
        causes.append(_repeated(lane, folded, count))
    spans = [Leaves.of(lane, sites) for lane in lanes]
    guide = min(range(len(lanes)), key=lambda each: (_RANK[lanes[each].role], each))
    whole = walk(lanes, spans, causes, guide, len(spans[guide].index), count * period)
    start = (back + 2) * period
    return clipped(whole, start, start + _WINDOW * period)


def _laid_over(path: Sequence[Step], period: float) -> list[Step]:
    """The parts of a path through several periods in one, each once; the first and last, which may be cut, are none."""
    found: dict[tuple[object, ...], Step] = {}
    for step in path[1:-1] if len(path) > 2 else path:
        start = round(step.start % period, 3)
        length = min(step.end - step.start, period)
        parts = [(start, min(start + length, period)), (0.0, start + length - period)]
        if length == period:
            parts = [(0.0, period)]
        for first, last in parts:
            if last - first > 1e-3:
                key = step.lane, round(first, 1), round(last, 1), step.cause, step.site
                found.setdefault(key, Step(step.lane, first, last, step.cause, step.site))
    return sorted(found.values(), key=lambda each: (each.start, each.end))


def _repeated(lane: FoldedLane, lanes: Sequence[FoldedLane], count: int) -> Causes:
    """The causes of so many periods of a lane; what began before the first of them is not known."""
    width = len(lane.sites)
    others, spans = np.tile(lane.causes.lanes, count), np.tile(lane.causes.spans, count)
    widths = np.array([len(each.sites) for each in lanes], np.int32)
    begun = np.repeat(np.arange(count), width) - np.tile(lane.ago, count)
    is_known = (others >= 0) & (begun >= 0) & (begun < count)
    spans = np.where(is_known, begun * widths[others] + spans, -1).astype(np.int32)
    return Causes(np.tile(lane.causes.ended, count), np.where(is_known, others, -1).astype(np.int32), spans)
