"""SASS: its functions and instructions, and the places that nvdisasm prints above them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cutecc.ptx.locations import named_file
from cutecc.support.locations import Frame, Place, Reason, place_of

_SECTION = re.compile(r"\t\.section\t\.text\.([^,\s]+)")
_RULE = re.compile(r"//-{5,} \.")
_FILE = re.compile(r'\s*//## File "((?:[^"\\]|\\.)*)", line (\d{1,10})\b')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(\S[^;]*?)\s*;")
_SUBROUTINE = re.compile(r"(\$[^\s:]+):")
_LABEL = re.compile(r"(\.L_\w+):")
_WARPGROUP_PRODUCT = re.compile(r"(?:@!?U?P\w+\s+)?[HIQB]GMMA\.")
_SPILL = re.compile(r'\s*\(\*"SpillRefill"\*\)$')
"""What newer versions of nvdisasm print behind an access of local memory that ptxas made for want of registers."""
_CALL = re.compile(r"CALL\.\S+ .*`\((\$[^)\s]+)\)")


@dataclass
class SassInstruction:
    """An instruction that can be executed."""

    line: int
    """Of the text, from 0."""
    offset: int
    """In its function, in bytes."""
    text: str
    """With its guard, as nvdisasm prints it: `@!P0 LDG.E.128 R4, desc[UR4][R2.64]`; without its remark on a spill."""
    place: Place | None
    """Without columns, which nvdisasm does not know. A subroutine of the compiler's, such as a division, has the place
    of its calls when that is one. A warpgroup's product has none: see `cutecc.report.warpgroup_products`."""
    reason: Reason = "order"
    """How the place is known; of what was only read, by the line table."""
    detail: str = ""
    """What the compiler made it for, as `cutecc.support.locations.Owner` has it."""
    is_spill: bool = False
    """Whether nvdisasm says that it is one; older versions never do."""


@dataclass
class SassFunction:
    """A kernel or a device function, with the compiler's subroutines that it calls."""

    name: str
    first: int
    """The line of its section's head, from 0."""
    last: int
    instructions: list[SassInstruction] = field(default_factory=list[SassInstruction])
    """Without the padding behind the last one, a branch to itself and `NOP`s that nothing reaches."""
    labels: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the instruction that each label stands before: `.L_x_1`, or the name of a subroutine."""


def is_warpgroup_product(instruction: str) -> bool:
    """Whether a SASS instruction, with its guard, is a matrix product of a warpgroup: what `wgmma` becomes."""
    return _WARPGROUP_PRODUCT.match(instruction) is not None


Placing = Callable[[Sequence[Frame]], Place | None]
"""From the frames that nvdisasm names, that of the code and, where it was inlined, that of the user's, to a place."""


def read_sass(text: str, placing: Placing = place_of) -> list[SassFunction]:
    """The functions in what nvdisasm prints with `--print-line-info-inline`, or without lines."""
    lines = text.split("\n")
    return [_function(name, lines, first, last, placing) for name, first, last in _sections(lines)]


def _sections(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    name, first = None, 0
    for number, line in enumerate([*lines, "//----- ."]):
        if _RULE.match(line) and name is not None:
            last = number - 1
            while last > first and not lines[last].strip():
                last -= 1
            yield name, first, last
            name = None
        elif match := _SECTION.match(line):
            name, first = match[1], number


def _function(name: str, lines: list[str], first: int, last: int, placing: Placing) -> SassFunction:
    found: list[SassInstruction] = []
    subroutines: list[tuple[str, int]] = []
    group: list[Frame] = []
    place: Place | None = None
    labels: dict[str, int] = {}
    for number in range(first, last + 1):
        line = lines[number]
        if match := _FILE.match(line):
            # Innermost first. Of what was inlined, lines follow for where it was, and where that was.
            group.append(Frame(named_file(match[1]), int(match[2]), 0))
            continue
        if match := _INSTRUCTION.match(line):
            has_line = bool(group)
            if group:
                place = _place(group, placing)
                group = []
            own = None if is_warpgroup_product(match[2]) and not has_line else place
            code, spills = _SPILL.subn("", match[2])
            found.append(SassInstruction(number, int(match[1], 16), code, own, is_spill=spills > 0))
        elif match := _SUBROUTINE.match(line):
            subroutines.append((match[1], len(found)))
            labels[match[1]] = len(found)
            place, group = None, []
        elif match := _LABEL.match(line):
            labels[match[1]] = len(found)
    _place_subroutines(found, subroutines)
    return SassFunction(name, first, last, found[: _end(found, labels)], labels)


def _place(group: list[Frame], placing: Placing) -> Place | None:
    inner, user = group[0], group[-1]
    if user.line == 0:
        return None
    return placing((inner, user) if inner.line and len(group) > 1 else (user,))


def _place_subroutines(instructions: list[SassInstruction], subroutines: list[tuple[str, int]]) -> None:
    """Give each subroutine, which has no lines of its own, the place of its calls when they have one in common."""
    ends = [start for _, start in subroutines[1:]] + [len(instructions)]
    # A subroutine may be called by one that stands behind it.
    for _ in subroutines:
        for (name, start), end in zip(subroutines, ends, strict=True):
            calls = {each.place for each in instructions if (match := _CALL.search(each.text)) and match[1] == name}
            if len(calls) == 1:
                (place,) = calls
                for each in instructions[start:end]:
                    each.place = each.place or place


def _end(instructions: list[SassInstruction], labels: dict[str, int]) -> int:
    end = len(instructions)
    while end and instructions[end - 1].text == "NOP":
        end -= 1
    if end and (text := instructions[end - 1].text).startswith("BRA"):
        is_here = any(index == end - 1 and f"({label})" in text for label, index in labels.items())
        if is_here or text.endswith(f"0x{instructions[end - 1].offset:x}"):
            end -= 1
    return end
