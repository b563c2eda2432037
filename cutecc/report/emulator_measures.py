"""What the emulator counted, as measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cutecc.record.counters import KeptCounters
from cutecc.report.listings import Listing
from cutecc.report.measures import Combine, Description, Level, Measure, Points

_Counts = Mapping[str, int | float]


class _Counter(NamedTuple):
    title: str
    meaning: str
    unit: str
    of: Callable[[_Counts], float]
    over: Callable[[_Counts], float] | None = None
    is_worse: bool = False

    @property
    def combine(self) -> Combine:
        return "sum" if self.over is None else "ratio"


def _sum_of(*names: str) -> Callable[[_Counts], float]:
    return lambda counts: sum(counts.get(name, 0) for name in names)


def _excess(taken: str, needed: str) -> Callable[[_Counts], float]:
    return lambda counts: counts.get(taken, 0) - counts.get(needed, 0)


def _idle(counts: _Counts) -> float:
    return 32 * counts.get("warps", 0) - counts.get("threads", 0)


_MEMORIES = ("global", "shared", "local", "tensor")
_COUNTERS: tuple[_Counter, ...] = (
    _Counter(
        "warp instructions",
        "Instructions that warps executed: one that a warp executes counts once.",
        "warp instructions",
        _sum_of("warps"),
    ),
    _Counter(
        "thread instructions",
        "Instructions that threads took part in, whether the guard held or not.",
        "thread instructions",
        _sum_of("threads"),
    ),
    _Counter(
        "guarded-on thread instructions",
        "Instructions that threads took part in and whose guard held.",
        "thread instructions",
        _sum_of("predicated_threads"),
    ),
    _Counter(
        "idle threads",
        "Threads of executing warps that took no part: what divergence costs.",
        "thread instructions",
        _idle,
        is_worse=True,
    ),
    _Counter(
        "sectors over needed",
        "How many times as many sectors of global memory as the bytes need: 1 for accesses side by side.",
        "×",
        _sum_of("global_sectors"),
        _sum_of("global_ideal_sectors"),
        is_worse=True,
    ),
    _Counter(
        "excess sectors",
        "Sectors of global memory, of 32 bytes, beyond those that the bytes need.",
        "sectors",
        _excess("global_sectors", "global_ideal_sectors"),
        is_worse=True,
    ),
    _Counter(
        "sectors a request",
        "Sectors of global memory that a warp's access touches.",
        "×",
        _sum_of("global_sectors"),
        _sum_of("global_requests"),
        is_worse=True,
    ),
    _Counter("global sectors", "Sectors of global memory, of 32 bytes.", "sectors", _sum_of("global_sectors")),
    _Counter(
        "global requests", "Accesses to global memory, one for each warp.", "requests", _sum_of("global_requests")
    ),
    _Counter(
        "wavefronts over needed",
        "How many times as many passes over the banks of shared memory as without conflicts.",
        "×",
        _sum_of("shared_wavefronts"),
        _sum_of("shared_ideal_wavefronts"),
        is_worse=True,
    ),
    _Counter(
        "bank conflicts",
        "Passes over the banks of shared memory that conflicts add.",
        "wavefronts",
        _excess("shared_wavefronts", "shared_ideal_wavefronts"),
        is_worse=True,
    ),
    _Counter(
        "shared wavefronts", "Passes over the banks of shared memory.", "wavefronts", _sum_of("shared_wavefronts")
    ),
    _Counter(
        "shared requests", "Accesses to shared memory, one for each warp.", "requests", _sum_of("shared_requests")
    ),
    *(
        _Counter(
            f"{memory} bytes",
            f"Bytes of {memory} memory that were read or written, asynchronous copies included.",
            "bytes",
            _sum_of(*(f"{way}{memory}_bytes_{done}" for way in ("", "async_") for done in ("read", "written"))),
            is_worse=memory == "local",
        )
        for memory in _MEMORIES
    ),
    _Counter(
        "matrix operations",
        "Matrix instructions; one of a warpgroup, or of a pair of blocks, counts once.",
        "instructions",
        _sum_of("matrix_operations"),
    ),
    _Counter("matrix flops", "Multiplications and additions of those.", "flops", _sum_of("matrix_flops")),
)
"""The most telling ones first."""


def emulator_measures(counters: KeptCounters, listings: Iterable[Listing]) -> list[Measure]:
    """The measures of which a run has anything, of each line of PTX.

    An earlier cutecc kept them by line of Python alone; then these have no inclusive values.
    """
    level, counted = _by_ptx(counters, listings)
    found: list[Measure] = []
    for counter in _COUNTERS:
        points = [each for file, lines in counted.items() if (each := _points(file, lines, counter)) is not None]
        if points:
            found.append(Measure(_described(counter, level, counters.title), points))
    return found


def _by_ptx(counters: KeptCounters, listings: Iterable[Listing]) -> tuple[Level, dict[str, list[tuple[int, _Counts]]]]:
    """By file its lines in order, with what was counted of them."""
    files = {
        function.name: each.file for each in listings if each.kind == "ptx" for function in reversed(each.functions)
    }
    if instructions := [each for each in counters.instructions if each.kernel in files]:
        return "ptx", _in_order((files[each.kernel], each.line - 1, each.counts) for each in instructions)
    return "line", _in_order((each.file, each.line, each.counts) for each in counters.lines)


def _in_order(counted: Iterator[tuple[str, int, _Counts]]) -> dict[str, list[tuple[int, _Counts]]]:
    sums: dict[str, dict[int, dict[str, float]]] = {}
    for file, line, counts in counted:
        # A device function is of every kernel that calls it.
        known = sums.setdefault(file, {}).setdefault(line, {})
        for name, value in counts.items():
            known[name] = known.get(name, 0) + value
    return {file: sorted(lines.items()) for file, lines in sums.items()}


def _points(file: str, lines: Sequence[tuple[int, _Counts]], counter: _Counter) -> Points | None:
    found = [(line, value, counts) for line, counts in lines if (value := counter.of(counts))]
    if not found:
        return None
    over = [] if counter.over is None else [counter.over(counts) for _, _, counts in found]
    return Points(file, [value for _, value, _ in found], [line for line, _, _ in found], over)


def _described(counter: _Counter, level: Level, run: str) -> Description:
    return Description(
        counter.title,
        counter.meaning,
        run,
        counter.unit,
        level=level,
        combine=counter.combine,
        is_worse=counter.is_worse,
    )
