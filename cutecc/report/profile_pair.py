"""Two profiles side by side: what each line of Python costs in A and in B, and what its warps waited for.

Kernels belong together by their symbols, then by what people call them; lines by their files and texts, in their order,
wherever they have moved to. What a line costs is its share of the time of one call where both were timed, else of the
schedulers' cycles that were sampled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Generic, Literal, TypeVar

import msgspec

from cutecc.errors import UsageError
from cutecc.report.profile_file import FileKernel, FileLine, ProfileFile

Unit = Literal["µs", "cycles"]
_Of = TypeVar("_Of")


class Cost(msgspec.Struct, frozen=True):
    """What something takes in A and in B; `None` where one has no such thing."""

    a: float | None
    b: float | None

    @property
    def change(self) -> float:
        """How much more B takes; what is not there takes nothing."""
        return (self.b or 0.0) - (self.a or 0.0)


class WaitPair(msgspec.Struct, frozen=True):
    """What warps waited for."""

    waits: str
    cost: Cost


class LinePlace(msgspec.Struct, frozen=True):
    """A line of one of them."""

    file: str | None
    """`None` for what belongs to no line."""
    line: int
    text: str
    samples: int
    share: float
    """Of the samples of its kernel."""


class LinePair(msgspec.Struct, frozen=True):
    """A line in both, or one that only one has samples of."""

    a: LinePlace | None
    b: LinePlace | None
    cost: Cost
    waits: list[WaitPair]
    """Those whose cost changed most first."""


class KernelPair(msgspec.Struct, frozen=True):
    """A kernel of both, or of one alone."""

    name: str
    a: str | None
    """Its symbol."""
    b: str | None
    cost: Cost
    lines: list[LinePair]
    """Those whose cost changed most first."""


class RunPair(msgspec.Struct, frozen=True):
    """One profile of each file: of the same sizes, or of programs."""

    title: str
    devices: tuple[str, str]
    unit: Unit
    cost: Cost
    """Of one call with all its kernels, or of all that was sampled."""
    kernels: list[KernelPair]


class ProfilePair(msgspec.Struct, frozen=True):
    """The profiles of two files."""

    names: tuple[str, str]
    runs: list[RunPair]
    only_a: list[str]
    """The titles of profiles that A alone has."""
    only_b: list[str]


def compare_profiles(
    a: Sequence[ProfileFile], b: Sequence[ProfileFile], names: tuple[str, str] = ("A", "B")
) -> ProfilePair:
    """What differs between the profiles of two files. Raises `UsageError` where they have none of the same sizes."""
    # Of one each, whatever they are called: the processes of a program have numbers.
    pairs = [(a[0], b[0])] if len(a) == len(b) == 1 else _Matched(a, b, lambda each: each.title).both
    if not pairs:
        titles = "; ".join(
            f"{name} has {', '.join(p.title for p in of)}" for name, of in zip(names, (a, b), strict=True)
        )
        raise UsageError("the two have no profile of the same sizes", notes=[titles[:1000]])
    paired = {id(each) for pair in pairs for each in pair}
    return ProfilePair(
        names,
        [_run(*each) for each in pairs],
        [each.title for each in a if id(each) not in paired],
        [each.title for each in b if id(each) not in paired],
    )


def _run(a: ProfileFile, b: ProfileFile) -> RunPair:
    timed = a.microseconds is not None and b.microseconds is not None
    scales = [_scale(each, timed=timed) for each in (a, b)]
    kernels = [_kernel(one, other, (scales[0], scales[1])) for one, other in _kernels(a.kernels, b.kernels)]
    return RunPair(
        a.title if a.title == b.title else f"{a.title} → {b.title}",
        (a.device, b.device),
        "µs" if timed else "cycles",
        Cost(*(scale * _samples(each.kernels) for scale, each in zip(scales, (a, b), strict=True))),
        sorted(kernels, key=lambda each: -abs(each.cost.change)),
    )


def _scale(profile: ProfileFile, *, timed: bool) -> float:
    """What one sample stands for."""
    if not timed or profile.microseconds is None:
        return float(profile.period_cycles)
    return profile.microseconds / max(1, _samples(profile.kernels))


def _samples(kernels: Iterable[FileKernel]) -> int:
    return sum(map(_total, kernels))


def _total(kernel: FileKernel) -> int:
    return max(kernel.samples, sum(line.samples for line in kernel.lines))


def _kernels(a: Sequence[FileKernel], b: Sequence[FileKernel]) -> Iterator[tuple[FileKernel | None, FileKernel | None]]:
    """Kernels that belong together; a symbol may say something of arguments, and be another for that."""
    found = _Matched(a, b, lambda each: each.symbol)
    yield from found.both
    by_name = _Matched(found.only_a, found.only_b, lambda each: each.name)
    yield from by_name.both
    yield from ((each, None) for each in by_name.only_a)
    yield from ((None, each) for each in by_name.only_b)


class _Matched(Generic[_Of]):
    """The k-th of a key in A with the k-th of it in B; those that one alone has by themselves."""

    def __init__(
        self,
        a: Sequence[_Of],
        b: Sequence[_Of],
        key: Callable[[_Of], object],
        key_of_b: Callable[[_Of], object] | None = None,
    ) -> None:
        theirs: defaultdict[object, list[_Of]] = defaultdict(list)
        for each in reversed(b):
            theirs[(key_of_b or key)(each)].append(each)
        self.both: list[tuple[_Of, _Of]] = []
        self.only_a: list[_Of] = []
        for each in a:
            if same := theirs[key(each)]:
                self.both.append((each, same.pop()))
            else:
                self.only_a.append(each)
        left = {id(each) for found in theirs.values() for each in found}
        self.only_b = [each for each in b if id(each) in left]


def _kernel(a: FileKernel | None, b: FileKernel | None, scales: tuple[float, float]) -> KernelPair:
    lines = [_line(one, other, (a, b), scales) for one, other in _lines(a.lines if a else [], b.lines if b else [])]
    return KernelPair(
        next(each.name for each in (b, a) if each is not None),
        a.symbol if a else None,
        b.symbol if b else None,
        Cost(*(scale * _total(each) if each else None for scale, each in zip(scales, (a, b), strict=True))),
        sorted(lines, key=lambda each: -abs(each.cost.change)),
    )


def _lines(a: Sequence[FileLine], b: Sequence[FileLine]) -> Iterator[tuple[FileLine | None, FileLine | None]]:
    """Lines that belong together: of one text, then those that stand where the lines around them say."""
    same = _Matched(sorted(a, key=_order), sorted(b, key=_order), lambda each: (_file(each), each.text))
    yield from same.both
    edited = _Matched(same.only_a, same.only_b, lambda each: _moved(each, same.both), _position)
    yield from edited.both
    yield from ((each, None) for each in edited.only_a)
    yield from ((None, each) for each in edited.only_b)


def _moved(line: FileLine, both: Iterable[tuple[FileLine, FileLine]]) -> tuple[str, int]:
    """Where a line of A is in B, if it moved as far as the one before it."""
    before = [(one.line, other.line) for one, other in both if _file(one) == _file(line) and one.line < line.line]
    ours, theirs = max(before, default=(0, 0))
    return _file(line), line.line + theirs - ours


def _file(line: FileLine) -> str:
    """What a file is called, wherever it lies: the two may be of two checkouts."""
    return PurePath(line.file).name if line.file is not None else ""


def _position(line: FileLine) -> tuple[str, int]:
    return _file(line), line.line


def _order(line: FileLine) -> tuple[str, int, str]:
    """By position; files of one name by their folders."""
    return *_position(line), line.file or ""


def _line(
    a: FileLine | None,
    b: FileLine | None,
    kernels: tuple[FileKernel | None, FileKernel | None],
    scales: tuple[float, float],
) -> LinePair:
    costs = [scale * each.samples if each else None for scale, each in zip(scales, (a, b), strict=True)]
    waits = [_waits(each, scale) for scale, each in zip(scales, (a, b), strict=True)]
    pairs = [
        WaitPair(name, Cost(waits[0].get(name, 0.0), waits[1].get(name, 0.0)))
        for name in dict.fromkeys([*waits[0], *waits[1]])
    ]
    return LinePair(
        _place(a, kernels[0]),
        _place(b, kernels[1]),
        Cost(costs[0], costs[1]),
        sorted(pairs, key=lambda each: -abs(each.cost.change)),
    )


def _place(line: FileLine | None, kernel: FileKernel | None) -> LinePlace | None:
    if line is None or kernel is None:
        return None
    return LinePlace(line.file, line.line, line.text, line.samples, line.samples / max(1, _total(kernel)))


def _waits(line: FileLine | None, scale: float) -> Mapping[str, float]:
    found = Counter[str]()
    for each in line.waits if line else ():
        found[each.waits] += each.samples
    return {name: scale * count for name, count in found.items()}


def changed_waits(line: LinePair, *, least: float) -> list[WaitPair]:
    """The reasons of a line whose cost changed by `least` of what the line takes at most, or more."""
    most = max(line.cost.a or 0.0, line.cost.b or 0.0)
    return [each for each in line.waits if abs(each.cost.change) >= least * most > 0]
