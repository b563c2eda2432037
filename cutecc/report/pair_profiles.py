"""What each line of two records costs, by profiles of them, for the page of both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.report.code import Code
from cutecc.report.frames import Line, in_own_file
from cutecc.report.profile_file import FileKernel, FileLine, ProfileFile, read_profiles
from cutecc.report.profile_measures import fitting
from cutecc.sass import SassFunction

_STEPS = 1000
"""Of all that a call takes: costs are told in steps of no more."""


class LineCost(msgspec.Struct):
    """What a line costs."""

    file: str
    line: int
    cost: float
    waits: dict[str, float]
    """In words, what of it its warps waited for."""


class SideCosts(msgspec.Struct):
    """What the lines of one record cost."""

    title: str
    """The sizes."""
    device: str
    unit: str
    """`µs` of a call, or `%` of the samples where one of the two was not timed."""
    total: float
    lines: list[LineCost]


def pair_costs(records: tuple[Compilation, Compilation], paths: tuple[Path, Path]) -> tuple[SideCosts, SideCosts]:
    """What lines of both cost, by the first profiles of the same sizes in the files.

    Raises `UsageError` where a file is no profile, has none of its record's kernels or is of another build, and where
    the two have no profile of the same sizes.
    """
    functions = tuple(_functions(each) for each in records)
    ours, theirs = (fitting(read_profiles(path), path, of) for path, of in zip(paths, functions, strict=True))
    titles = [profile.title for profile, _ in theirs]
    if len(ours) == len(theirs) == 1:
        pair = ours[0], theirs[0]
    else:
        found = next((each for each in ours if each[0].title in titles), None)
        if found is None:
            raise UsageError(f"{paths[0]} and {paths[1]} have no profile of the same sizes")
        pair = found, theirs[titles.index(found[0].title)]
    timed = all(profile.microseconds is not None for profile, _ in pair)
    sides = [
        _side(profile, kernels, of, record.own_file, timed=timed)
        for (profile, kernels), of, record in zip(pair, functions, records, strict=True)
    ]
    return sides[0], sides[1]


def _functions(record: Compilation) -> dict[str, SassFunction]:
    return {each.name: each for each in Code(record).functions}


def _side(
    profile: ProfileFile,
    kernels: Sequence[FileKernel],
    functions: Mapping[str, SassFunction],
    own_file: str | None,
    *,
    timed: bool,
) -> SideCosts:
    samples = sum(each.samples for kernel in profile.kernels for each in kernel.lines)
    total = profile.microseconds if timed and profile.microseconds is not None else 100.0
    digits = max(0, math.ceil(-math.log10(total / _STEPS))) if total else 0
    costs = Counter[Line]()
    waits: dict[Line, Counter[str]] = {}
    for kernel in kernels:
        for line in kernel.lines:
            if (key := _line(line, functions[kernel.symbol], own_file)) is None:
                continue
            costs[key] += line.samples
            waits.setdefault(key, Counter()).update({each.waits: each.samples for each in line.waits})

    def cost(count: int) -> float:
        return round(total * count / max(1, samples), digits)

    lines = [
        LineCost(*key, cost(count), {name: cost(part) for name, part in waits[key].most_common()})
        for key, count in sorted(costs.items())
    ]
    return SideCosts(profile.title, profile.device, "µs" if timed else "%", round(total, digits), lines)


def _line(line: FileLine, function: SassFunction, own_file: str | None) -> Line | None:
    """The line of the record's that its instructions belong to."""
    offsets = {each.offset for each in line.instructions}
    place = next((each.place for each in function.instructions if each.offset in offsets and each.place), None)
    if place is None:
        return None
    user = in_own_file(place, own_file)[-1]
    return user.file, user.line
