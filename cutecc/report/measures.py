"""Measures: any quantity of instructions or lines, as the page shows it beside them.

A measure is told at one level: of each instruction of SASS, of each line of PTX, or of each line of Python. What a line
of Python has follows from its instructions: `self` is of those that belong to the line, `inclusive` also of those that
came about through a call in it. The page knows both by the places of its listings and the chains of inlined calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from cutecc.report.listings import Listing
from cutecc.sass import SassFunction
from cutecc.sass.liveness import liveness

Level = Literal["sass", "ptx", "line"]
Combine = Literal["sum", "max", "ratio"]
"""How the values of several instructions are those of one line. Of a `ratio`, both its parts are summed."""


class Points(msgspec.Struct, omit_defaults=True):
    """The values in one file. What is left out is 0; no value is NaN or infinite."""

    file: str
    """Of a listing; at the level of lines, of the Python source."""
    values: list[float]
    at: list[int] | None = None
    """What each value is of, ascending. Of SASS, the number of the instruction in the listing, from 0; of PTX, the
    line, from 0; of Python, the line, from 1. `None`: of every instruction of the listing, in order."""
    over: list[float] = []
    """Of a ratio, what each value is divided by."""
    parts: dict[str, list[float]] = {}
    """What each value is made of, by the name of the part."""


class Description(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a measure means."""

    title: str
    meaning: str
    """In words, for those who see it for the first time."""
    source: str
    """Who measured, and of which run."""
    unit: str = ""
    """Of its values; the unit of a ratio is `×`."""
    level: Level = "sass"
    combine: Combine = "sum"
    is_worse: bool = False
    """Whether more of it is worse, not only more."""
    is_sampled: bool = False
    """Whether it is a sample of what happened, and not exact."""
    is_static: bool = False
    """Whether it is of the code, and not of a run."""
    parts: dict[str, str] = {}
    """What the parts mean, by their names."""


class Measure(NamedTuple):
    """A quantity and its values."""

    description: Description
    points: list[Points]


class Reading(NamedTuple):
    """What was measured of one instruction."""

    value: float
    parts: Mapping[str, float] = {}


_NOTHING = Reading(0)


def points_at_offsets(
    functions: Mapping[str, Sequence[SassFunction]], readings: Mapping[str, Mapping[int, Reading]]
) -> list[Points]:
    """What was measured at instructions of SASS, by kernel and offset in bytes.

    `functions` are those of each listing, in its order. A reading of no instruction is left out.
    """
    found = [_measured(file, each, readings) for file, each in functions.items()]
    return [each for each in found if each.values]


def _measured(file: str, functions: Iterable[SassFunction], readings: Mapping[str, Mapping[int, Reading]]) -> Points:
    numbered = enumerate(_offsets(functions))
    found = [(number, readings.get(kernel, {}).get(offset, _NOTHING)) for number, (kernel, offset) in numbered]
    found = [(number, reading) for number, reading in found if reading.value]
    names = dict.fromkeys(name for _, reading in found for name, part in reading.parts.items() if part)
    parts = {name: [reading.parts.get(name, 0) for _, reading in found] for name in names}
    return Points(file, [reading.value for _, reading in found], [number for number, _ in found], parts=parts)


def _offsets(functions: Iterable[SassFunction]) -> Iterable[tuple[str, int]]:
    return ((function.name, each.offset) for function in functions for each in function.instructions)


def static_measures(functions: Mapping[str, Sequence[SassFunction]], listings: Iterable[Listing]) -> list[Measure]:
    """What is known of the code without running it: live registers, and how many instructions there are."""
    ptx = [Points(each.file, [1] * len(at), at) for each in listings if each.kind == "ptx" and (at := _placed(each))]
    instructions = [Points(file, [1] * count) for file, each in functions.items() if (count := _count(each))]
    live = [Points(each.file, _occupied(functions[each.file])) for each in instructions]
    measures = [Measure(_LIVE, live), Measure(_SASS, instructions), Measure(_PTX, ptx)]
    return [each for each in measures if each.points]


def _count(functions: Iterable[SassFunction]) -> int:
    return sum(len(function.instructions) for function in functions)


def _occupied(functions: Iterable[SassFunction]) -> list[float]:
    return [lives for function in functions for lives in liveness(function).occupied]


def _placed(listing: Listing) -> list[int]:
    return [line for line, place in enumerate(listing.places) if place >= 0]


_LIVE = Description(
    "live registers",
    "Registers that hold a value which is still needed; of a line, the most at any of its instructions.",
    "data flow of the SASS",
    "registers",
    combine="max",
    is_worse=True,
    is_static=True,
)
_SASS = Description(
    "SASS instructions", "How many instructions of the machine there are.", "the code", "instructions", is_static=True
)
_PTX = Description(
    "PTX instructions",
    "How many instructions of PTX have a line of Python.",
    "the code",
    "instructions",
    level="ptx",
    is_static=True,
)
