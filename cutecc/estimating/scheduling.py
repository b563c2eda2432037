"""In which order an assembler has a warp execute its instructions: loads early, and what uses them late.

PTX is in the order of the source. `ptxas` moves loads ahead of whatever does not need them, as far as registers go, and
unrolls short loops by four to do so across their turns. Barriers, waits, and stores to the same memory are not passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.estimating.costs import Cost
from cutecc.estimating.trace import Access, Step

UNROLLED = 4
"""Turns of a loop that `ptxas` makes one."""
_LONGEST = 400
"""Instructions that are looked at together."""
_MOVABLE = frozenset(("compute", "load", "store", "shared", "copy"))
_LATE = frozenset(("load", "shared"))

Item = tuple[Cost, Access, tuple[int, ...], int]
"""An instruction, what it asks of memory, the instructions of its warp that it needs, and its number among them."""


def scheduled(steps: Sequence[Step], costs: Sequence[Cost], registers: int, most: int) -> list[Item]:
    """The first `most` steps of a warp as they are executed; loads in flight take up to half of the registers."""
    items: list[Item] = []
    producers: dict[int, int] = {}
    segment = _Segment()
    last, turns, branched = -1, 0, False
    for number, (index, access) in enumerate(steps[:most]):
        cost = costs[index]
        needs = tuple({producers[each] for each in cost.reads if each in producers})
        for each in cost.writes:
            producers[each] = number
        if index <= last:
            turns += 1
        elif branched:
            segment.flush(items)
            turns = 0
        last, branched = index, cost.is_fork
        item = cost, access, needs, number
        if cost.kind not in _MOVABLE:
            segment.flush(items)
            turns = 0
            items.append(item)
            continue
        if turns >= UNROLLED or len(segment.items) >= _LONGEST or segment.registers > registers // 2:
            segment.flush(items)
            turns = 0
        segment.add(item)
    segment.flush(items)
    return items


class _Segment:
    """Instructions that may change places."""

    def __init__(self) -> None:
        self.items: list[tuple[int, Item]] = []
        self.registers = 0
        """That loads write."""
        self._levels: dict[int, int] = {}
        """How many loads, each after the one before, an instruction needs; and whether it is one."""
        self._stored = {"load": 0, "shared": 0}

    def add(self, item: Item) -> None:
        cost, _, needs, number = item
        levels = self._levels
        level = 0
        for each in needs:
            at = levels.get(each, 0)
            if at > level:
                level = at
        kind = cost.kind
        is_load = kind in _LATE and bool(cost.writes)
        if is_load:
            level = max(level, self._stored.get(kind, 0))
            self.registers += len(cost.writes)
        elif kind == "store":
            self._stored["load"] = level
        elif kind == "shared":
            self._stored["shared"] = level
        levels[number] = level + is_load
        self.items.append((level, item))

    def flush(self, items: list[Item]) -> None:
        """Put them behind others, in their order."""
        if not self.items:
            return
        self.items.sort(key=_level)
        items.extend(item for _, item in self.items)
        self.__init__()


def _level(entry: tuple[int, Item]) -> int:
    return entry[0]
