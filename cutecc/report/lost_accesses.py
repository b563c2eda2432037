"""SASS of accesses whose place the wheel's code generator loses (`cutecc.passes.nvidia.lost_locations`).

The assembler takes the `.loc` that such an access stands under for its place. The record knows the right one of the
PTX; what SASS it became follows from the `.loc`, the opcode and the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutecc.sass import SassFunction, SassInstruction
from cutecc.support.locations import InstructionPlace, Place, without_columns

_PTX = re.compile(r"\s*(?:@!?%?\w+\s+)?(ld|st)\.(?!param|local|async)([\w.:]+)")
_STRONG = re.compile(r"\b(?:relaxed|acquire|release|volatile|mmio|cg|cv)\b")
_SASS = re.compile(r"(?:@!?U?P\w+\s+)?(LD|ST)[GS]?\b(\.\S*)?")
_BEFORE_STORE = re.compile(r"(?:@!?U?P\w+\s+)?(?:MEMBAR|ERRBAR|CGAERRBAR)\b")
"""What a release is made of, in front of its store."""
_BEHIND_LOAD = re.compile(r"(?:@!?U?P\w+\s+)?CCTL\b")
"""What an acquire is made of, behind its load."""


class PtxAccess(NamedTuple):
    """A load or store of PTX."""

    line: int
    """From 1."""
    form: tuple[str, bool]
    """Its opcode; whether it is ordered, which SASS calls strong."""
    place: Place | None
    """By its `.loc`, without columns, as those of SASS."""


def access_of(line: int, instruction: str, place: Place | None) -> PtxAccess | None:
    """The access that a line of PTX is, `None` for all other lines."""
    match = _PTX.match(instruction)
    if match is None:
        return None
    return PtxAccess(line, (match[1], _STRONG.search(match[2]) is not None), place and without_columns(place))


def place_accesses(
    function: SassFunction, accesses: Sequence[PtxAccess], own_places: Iterable[InstructionPlace]
) -> None:
    """Give the accesses of `function` the places of those of its PTX that have another than their `.loc`.

    It is known where all of the PTX that are told by the same `.loc` and form have one place, and where there are as
    many, which are then in the same order. Others have none, nor have those whose place in the PTX is inferred.
    """
    own = {each.line: None if each.inferred else without_columns(each.place) for each in own_places}
    groups: dict[tuple[Place | None, tuple[str, bool]], list[PtxAccess]] = {}
    for access in accesses:
        groups.setdefault((access.place, access.form), []).append(access)
    made: dict[tuple[Place | None, tuple[str, bool]], list[int]] = {}
    for number, instruction in enumerate(function.instructions):
        if match := _SASS.match(instruction.text):
            form = (match[1].lower(), ".STRONG" in (match[2] or ""))
            made.setdefault((instruction.place, form), []).append(number)
    for key, numbers in made.items():
        group = groups.get(key, [])
        if not any(access.line in own for access in group):
            continue
        places = [own.get(access.line, access.place) for access in group]
        if len({*places}) == 1:
            places = places[:1] * len(numbers)
        elif len(places) != len(numbers):
            places = [None] * len(numbers)
        for number, place in zip(numbers, places, strict=True):
            _move(function.instructions, number, place)


def _move(instructions: Sequence[SassInstruction], number: int, place: Place | None) -> None:
    """Give an access a place, and what its order is made of."""
    access = instructions[number]
    step, around = (-1, _BEFORE_STORE) if "ST" in access.text.partition(".")[0] else (1, _BEHIND_LOAD)
    lost = access.place
    access.place = place
    number += step
    while 0 <= number < len(instructions) and around.match(instructions[number].text):
        if instructions[number].place != lost:
            break
        instructions[number].place = place
        number += step
