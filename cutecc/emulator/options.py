"""How a kernel is run on the CPU: what is checked, in which order warps run, which blocks."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from cutecc.emulator.grid import Dim3, clusters_of, index_of, linear, whole_cluster
from cutecc.emulator.limits import Limits
from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.emulator.memory.poison import SHARED_STARTS, SharedStart
from cutecc.emulator.orders.budget import OrdersBudget
from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean

Checks: TypeAlias = "bool | str | Iterable[str] | None"
"""What to check: `True` for everything, or names, `"races,barriers"` or a list of them."""
Blocks: TypeAlias = "BlockSample | str | int | tuple[int, ...] | list[int] | range | None"
"""Which blocks to run, `None` for all: what `BlockSample.parse` takes."""

ALL = "all"
"""The schedule that is every schedule."""
REPLAY = "replay:"
"""What a schedule begins with that is in a file."""

_NUMBER = "[0-9]{1,18}"
_SAMPLE = re.compile(
    rf"(?P<count>{_NUMBER})|(?P<start>({_NUMBER})?):(?P<end>({_NUMBER})?)|"
    rf"(?P<open>\()?(?P<index>{_NUMBER},{_NUMBER}(,{_NUMBER})?)(?(open)\))"
)


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

    def __post_init__(self) -> None:
        numbers = [each for each in (self.start, self.end, *(self.index or ())) if each is not None]
        is_empty = (self.count is not None and self.count < 1) or (self.end is not None and self.end <= self.start)
        if is_empty or min(numbers) < 0 or (self.index is not None and len(self.index) != 3):
            raise _no_blocks(str(self))

    @classmethod
    def parse(cls, value: BlockSample | str | int | tuple[int, ...] | list[int] | range) -> BlockSample:
        """The sample that `16`, `0:8` or `(0, 1, 0)` names. Raises `UsageError`."""
        if isinstance(value, BlockSample):
            return value
        if isinstance(value, range):
            text = f"{value.start}:{value.stop}" if value.step == 1 else str(value)
        elif isinstance(value, tuple | list):
            text = f"({','.join(map(str, value))})"
        else:
            text = str(value)
        match = _SAMPLE.fullmatch(text.replace(" ", ""))
        if match is None:
            raise _no_blocks(text)
        if match["count"]:
            return cls(count=int(match["count"]))
        if match["index"]:
            x, y, z = (*map(int, match["index"].split(",")), 0)[:3]
            return cls(index=(x, y, z))
        return cls(start=int(match["start"] or 0), end=int(match["end"]) if match["end"] else None)

    def count_in(self, grid: Dim3) -> int:
        """How many blocks of a grid it is, but for what makes clusters whole."""
        total = grid[0] * grid[1] * grid[2]
        if self.index is not None:
            return 1
        if self.count is not None:
            return min(self.count, total)
        return max(0, min(total if self.end is None else self.end, total) - self.start)

    def select(self, grid: Dim3, cluster: Dim3 = (1, 1, 1)) -> Sequence[int]:
        """The linear indices of the blocks, ascending, whole clusters. Raises `UsageError` when the grid has none."""
        total = grid[0] * grid[1] * grid[2]
        if self.index is not None:
            if any(each >= size for each, size in zip(self.index, grid, strict=True)):
                raise UsageError(f"there is no block {self.index} in a grid of {grid}")
            chosen: Sequence[int] = [linear(self.index, grid)]
        elif self.count is not None:
            chosen = _spread(self.count, total, cluster[0] * cluster[1] * cluster[2], grid, cluster)
        else:
            chosen = range(min(self.start, total), total if self.end is None else min(self.end, total))
            if not chosen:
                raise UsageError(f"the blocks {self} are outside of a grid of {total:,} blocks, {grid}")
        if cluster == (1, 1, 1):
            return chosen
        return sorted({block for each in chosen for block in whole_cluster(each, grid, cluster)})

    def __str__(self) -> str:
        if self.index is not None:
            return f"({', '.join(map(str, self.index))})"
        return str(self.count) if self.count is not None else f"{self.start}:{'' if self.end is None else self.end}"


@dataclass(frozen=True, init=False)
class EmulatorOptions:
    """How the emulator runs a kernel."""

    check: frozenset[str]
    """Names of checks. Without any, only what a GPU answers with a fault is found, and is an error."""
    schedule: str
    """One of `SCHEDULES`; `all`, or `replay:` and a file, which repeats one of those."""
    budget: OrdersBudget
    """Of `all`."""
    seed: int
    """Of the schedule."""
    blocks: BlockSample | None
    """`None` for all."""
    counters: bool
    processes: int | None
    """Blocks that have nothing to do with each other run in so many processes; `None` for one a core if that pays."""
    shared: SharedStart
    """How shared memory begins."""
    limits: Limits | None
    """What the call may take at most; `None` for the defaults, which are strict for kernels of unknown origin."""

    def __init__(
        self,
        *,
        check: Checks = None,
        schedule: str | None = None,
        budget: OrdersBudget | str | int | None = None,
        seed: int = 0,
        blocks: Blocks = None,
        counters: bool = False,
        processes: int | None = None,
        shared: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Raises `UsageError` for what is no such option."""
        found = {
            "check": read_checks(check),
            "schedule": "round-robin" if schedule is None else read_schedule(schedule),
            "budget": OrdersBudget() if budget is None else OrdersBudget.parse(budget),
            "seed": read_seed(seed),
            "blocks": None if blocks is None else BlockSample.parse(blocks),
            "counters": _flag(counters, "counters"),
            "processes": None if processes is None else _number(processes, 1, "the number of processes"),
            "shared": "poison" if shared is None else read_shared_start(shared),
            "limits": _limits(limits),
        }
        if found["budget"] != OrdersBudget() and found["schedule"] != ALL:
            raise UsageError("a budget is how many orders are tried", hints=['schedule="all" tries them'])
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def replayed(self) -> str | None:
        """The file whose schedule is repeated."""
        return self.schedule.removeprefix(REPLAY) if self.schedule.startswith(REPLAY) else None

    @property
    def cores(self) -> int:
        """Processes at most."""
        return self.processes or available_cores()


def read_checks(value: Checks) -> frozenset[str]:
    """The names of the checks that a caller asks for. Raises `UsageError` for an unknown one and a text without any."""
    if value is None or value is False:
        return frozenset()
    from cutecc.emulator.checks.selection import parse_checks

    if value is True:
        return frozenset(parse_checks(value))
    if isinstance(value, str):
        if found := parse_checks(value):
            return frozenset(found)
        raise UsageError(f"'{value}' names no check", hints=['for example check="races,bounds"'])
    names: list[Any] = [value]
    if not isinstance(value, bytes):
        with suppress(TypeError):  # of what has no elements
            names = list(value)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise UsageError(f"check is True or names, not {wrong[0]!r}", hints=['for example check="races,bounds"'])
    return frozenset(parse_checks(",".join(names)))


def read_schedule(name: object) -> str:
    """Raises `UsageError` when no schedule has this name."""
    known = (*SCHEDULES, ALL)
    if isinstance(name, str) and (name in known or name.removeprefix(REPLAY) not in ("", name)):
        return name
    hints = [*did_you_mean(str(name), known), f"schedules: {', '.join(known)}, {REPLAY}FILE"]
    raise UsageError(f"no schedule is called {name!r}", hints=hints)


def read_shared_start(name: object) -> SharedStart:
    """Raises `UsageError` for what shared memory cannot begin with."""
    if isinstance(name, str):
        for known in SHARED_STARTS:
            if name == known:
                return known
    hints = ['shared="zero" for zeros; "poison", the default, for numbers that are none']
    raise UsageError(f"shared memory does not begin with {name!r}", hints=hints)


def read_seed(value: object) -> int:
    """Raises `UsageError` for what is no whole number from 0 on."""
    return _number(value, 0, "a seed")


def _spread(count: int, total: int, size: int, grid: Dim3, cluster: Dim3) -> Sequence[int]:
    """About `count` blocks, evenly spread: one of each of the clusters that then run whole."""
    if count >= total:
        return range(total)
    wanted, there = -(-count // size), total // size
    places = sorted({place * (there - 1) // max(1, wanted - 1) for place in range(wanted)})
    shape = clusters_of(grid, cluster)
    firsts = [index_of(place, shape) for place in places]
    return [linear((x * cluster[0], y * cluster[1], z * cluster[2]), grid) for x, y, z in firsts]


def _number(value: Any, least: int, what: str) -> int:
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # the last two are torch's
        number = None
    if number is None or number < least:
        raise UsageError(f"{what} is a number from {least} on, not {value!r}")
    return number


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{what} is True or False, not {value!r}")
    return value


def _limits(value: Any) -> Limits | None:
    if value is None or isinstance(value, Limits):
        return value
    raise UsageError(f"limits={value!r}", hints=["limits=cutecc.Limits(seconds=60)"])


def _no_blocks(text: str) -> UsageError:
    return UsageError(
        f"'{text}' names no blocks",
        hints=["16 blocks spread over the grid: 16; the first eight: 0:8; a single one: (0,1,0)"],
    )


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
