"""How a kernel is run on the CPU: what is checked, in which order warps run, which blocks."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from cutecc.emulator.grid import Dim3, clusters_of, index_of, linear, whole_cluster
from cutecc.emulator.machine.schedule import SCHEDULES, ScheduleName
from cutecc.errors import UsageError

Checks: TypeAlias = "bool | str | Iterable[str] | None"
"""What to check: `True` for everything, or names, `"race,barrier"` or a list of them."""

_SAMPLE = re.compile(r"(?P<count>\d+)|(?P<start>\d*):(?P<end>\d*)|\(?(?P<index>\d+,\d+(,\d+)?)\)?")


@dataclass(frozen=True)
class BlockSample:
    """Some blocks of a grid. Blocks of one cluster run together: a cluster with one of them runs whole."""

    count: int | None = None
    """So many, spread evenly over the grid, the first and the last one among them."""
    start: int = 0
    end: int | None = None
    """Without `count` and `index`: the blocks with these linear indices, `end` not included."""
    index: Dim3 | None = None
    """This one block."""

    @classmethod
    def parse(cls, value: BlockSample | str | int | tuple[int, ...] | range) -> BlockSample:
        """The sample that `16`, `0:8` or `(0, 1, 0)` names. Raises `UsageError`."""
        if isinstance(value, BlockSample):
            return value
        if isinstance(value, range):
            text = f"{value.start}:{value.stop}" if value.step == 1 else str(value)
        else:
            text = str(value)
        match = _SAMPLE.fullmatch(text.replace(" ", ""))
        if match and match["count"]:
            if int(match["count"]):
                return cls(count=int(match["count"]))
        elif match and match["index"]:
            x, y, z = (*map(int, match["index"].split(",")), 0)[:3]
            return cls(index=(x, y, z))
        elif match:
            sample = cls(start=int(match["start"] or 0), end=int(match["end"]) if match["end"] else None)
            if sample.end is None or sample.end > sample.start:
                return sample
        raise UsageError(
            f"'{value}' names no blocks",
            hints=["16 blocks spread over the grid: 16; the first eight: 0:8; a single one: (0,1,0)"],
        )

    def select(self, grid: Dim3, cluster: Dim3 = (1, 1, 1)) -> list[int]:
        """The linear indices of the blocks, ascending, whole clusters. Raises `UsageError` when the grid has none."""
        total = grid[0] * grid[1] * grid[2]
        if self.index is not None:
            if any(each >= size for each, size in zip(self.index, grid, strict=True)):
                raise UsageError(f"there is no block {self.index} in a grid of {grid}")
            chosen: Iterable[int] = [linear(self.index, grid)]
        elif self.count is not None:
            chosen = _spread(self.count, total, cluster[0] * cluster[1] * cluster[2], grid, cluster)
        else:
            chosen = range(min(self.start, total), total if self.end is None else min(self.end, total))
            if not chosen:
                raise UsageError(f"the blocks {self} are outside of a grid of {total:,} blocks, {grid}")
        if cluster == (1, 1, 1):
            return list(chosen)
        return sorted({block for each in chosen for block in whole_cluster(each, grid, cluster)})

    def __str__(self) -> str:
        if self.index is not None:
            return f"({', '.join(map(str, self.index))})"
        return str(self.count) if self.count is not None else f"{self.start}:{'' if self.end is None else self.end}"


@dataclass(frozen=True)
class EmulatorOptions:
    """How the emulator runs a kernel."""

    check: frozenset[str] = frozenset()
    """Names of checks. Without any, only what a GPU answers with a fault is found, and is an error."""
    schedule: ScheduleName = "round-robin"
    seed: int = 0
    """Of the schedule."""
    blocks: BlockSample | None = None
    """`None` for all."""
    counters: bool = False
    processes: int | None = None
    """Blocks that have nothing to do with each other run in so many processes; `None` for one a core if that pays."""

    @classmethod
    def of(
        cls,
        *,
        check: Checks = None,
        schedule: str | None = None,
        seed: int = 0,
        blocks: BlockSample | str | int | tuple[int, ...] | range | None = None,
        counters: bool = False,
        processes: int | None = None,
    ) -> EmulatorOptions:
        """The options that a caller writes. Raises `UsageError` for what is none."""
        return cls(
            read_checks(check),
            read_schedule(schedule or "round-robin"),
            _number(seed, 0, "a seed"),
            None if blocks is None else BlockSample.parse(blocks),
            bool(counters),
            None if processes is None else _number(processes, 1, "the number of processes"),
        )

    @property
    def cores(self) -> int:
        """Processes at most."""
        return self.processes or available_cores()


def read_checks(value: Checks) -> frozenset[str]:
    """The names of the checks that a caller asks for. Raises `UsageError` for an unknown one."""
    if value is None or value is False:
        return frozenset()
    from cutecc.emulator.checks.selection import parse_checks

    if value is True or isinstance(value, str):
        return frozenset(parse_checks(value))
    given: Any = value
    names: list[Any] = list(given) if hasattr(given, "__iter__") else [given]
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise UsageError(f"check is True or names, not {wrong[0]!r}", hints=['for example check="races,bounds"'])
    return frozenset(parse_checks(",".join(names)))


def read_schedule(name: str) -> ScheduleName:
    """Raises `UsageError` when no schedule has this name."""
    if name not in SCHEDULES:
        close = difflib.get_close_matches(name, SCHEDULES, n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"no schedule is called '{name}'{meant}", hints=[f"schedules: {', '.join(SCHEDULES)}"])
    return name


def _spread(count: int, total: int, size: int, grid: Dim3, cluster: Dim3) -> Iterable[int]:
    """About `count` blocks, evenly spread: one of each of the clusters that then run whole."""
    if count >= total:
        return range(total)
    wanted, there = -(-count // size), total // size
    places = sorted({place * (there - 1) // max(1, wanted - 1) for place in range(wanted)})
    shape = clusters_of(grid, cluster)
    firsts = (index_of(place, shape) for place in places)
    return [linear((x * cluster[0], y * cluster[1], z * cluster[2]), grid) for x, y, z in firsts]


def _number(value: Any, least: int, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise UsageError(f"{what} is a number from {least} on, not {value!r}")
    return int(value)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
