"""What a kernel keeps in local memory: registers that spill, by the lines of the accesses and by value, and arrays.

The one count of spills that remarks, the verdict and the page tell. Accesses belong to the lines that own them; bytes
are of one thread, and each instruction once, however often it runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import FILE, LOC, LineTable
from cutecc.record import Compilation
from cutecc.report.code import functions_of
from cutecc.report.flow import flow_of
from cutecc.report.frames import Line, in_own_file
from cutecc.report.spills import Spill, spills_of
from cutecc.sass import SassFunction, SassInstruction

_LOCAL = re.compile(r"(?:@!?\w+\s+)?(LDL|STL)((?:\.\w+)*) ")
_PTX_LOCAL = re.compile(r"\s*(?:@!?%\w+\s+)?(?:ld|st)(?:\.\w+)*\.local\b")
_BYTES = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
_OPCODE = re.compile(r"(?:@!?\w+\s+)?([\w.]+)")


@dataclass
class Traffic:
    """Loads and stores."""

    loads: int = 0
    load_bytes: int = 0
    stores: int = 0
    store_bytes: int = 0

    def add(self, opcode: str, modifiers: str) -> None:
        size = next((_BYTES[each] for each in modifiers.split(".") if each in _BYTES), 4)
        if opcode == "LDL":
            self.loads += 1
            self.load_bytes += size
        else:
            self.stores += 1
            self.store_bytes += size

    @property
    def bytes(self) -> int:
        """Loaded and stored."""
        return self.load_bytes + self.store_bytes

    def __str__(self) -> str:
        parts = [(self.loads, "load", self.load_bytes), (self.stores, "store", self.store_bytes)]
        return " and ".join(
            f"{count} {what}{'' if count == 1 else 's'} ({size} bytes)" for count, what, size in parts if count
        )


class SpilledValue(msgspec.Struct, frozen=True):
    """Values that spill which instructions of one line and opcode made."""

    file: str
    """Of the line; empty for values that are of no line."""
    line: int
    opcode: str
    """Empty for what came into the kernel in a register."""
    values: int
    """How many instructions made them."""
    stores: int
    loads: int
    bytes: int
    """Stored and loaded."""


@dataclass
class LocalMemory:
    """What one kernel has there; `None` is no line."""

    spills: dict[Line | None, Traffic] = field(default_factory=dict[Line | None, Traffic])
    arrays: dict[Line | None, Traffic] = field(default_factory=dict[Line | None, Traffic])
    values: list[SpilledValue] = field(default_factory=list[SpilledValue])
    """Those that spill, the most bytes first."""


def local_memory(compilation: Compilation, functions: Iterable[SassFunction] | None = None) -> dict[str, LocalMemory]:
    """By kernel what those have in local memory that have something there; `functions` where they were read already.

    Spills are what nvdisasm marks; where it marks none, they are on lines whose PTX does not access local memory.
    """
    arrays: set[Line | None] | None = None
    found: dict[str, LocalMemory] = {}
    for function in functions_of(compilation) if functions is None else functions:
        if accesses := _accesses(function):
            if arrays is None:
                arrays = {line for text in _texts(compilation) for line in _lines_of_arrays(text)}
            found[function.name] = _of_kernel(function, accesses, arrays, compilation.own_file)
    return found


_Accesses = Mapping[int, re.Match[str]]


def _accesses(function: SassFunction) -> _Accesses:
    found = ((number, _LOCAL.match(each.text)) for number, each in enumerate(function.instructions))
    return {number: match for number, match in found if match}


def _of_kernel(
    function: SassFunction, accesses: _Accesses, arrays: Container[Line | None], own_file: str | None
) -> LocalMemory:
    found, instructions = LocalMemory(), function.instructions
    marked = {number for number in accesses if instructions[number].is_spill}
    for number, match in accesses.items():
        line = _line(instructions[number], own_file)
        is_spill = number in marked if marked else line not in arrays
        (found.spills if is_spill else found.arrays).setdefault(line, Traffic()).add(match[1], match[2])
    if found.spills:
        found.values = _values(function, accesses, own_file)
    return found


def _line(instruction: SassInstruction, own_file: str | None) -> Line | None:
    if instruction.place is None:
        return None
    user = in_own_file(instruction.place, own_file)[-1]
    return user.file, user.line


def _values(function: SassFunction, accesses: _Accesses, own_file: str | None) -> list[SpilledValue]:
    spills = spills_of(function, flow_of(function, stack=True), has_spills=True)
    traffic: dict[tuple[Line | None, str], Traffic] = {}
    makers: dict[tuple[Line | None, str], set[int]] = {}
    for number, spill in spills.items():
        key = _made_by(function, spill, own_file)
        traffic.setdefault(key, Traffic()).add(accesses[number][1], accesses[number][2])
        makers.setdefault(key, set()).update(spill.values)
    found = [
        SpilledValue(*(line or ("", 0)), opcode, len(makers[line, opcode]), each.stores, each.loads, each.bytes)
        for (line, opcode), each in traffic.items()
    ]
    return sorted(found, key=lambda each: -each.bytes)


def _made_by(function: SassFunction, spill: Spill, own_file: str | None) -> tuple[Line | None, str]:
    """The line and opcode that most of what made a value have."""
    instructions = [function.instructions[each] for each in spill.values]
    keys = Counter((_line(each, own_file), _opcode(each.text)) for each in instructions)
    return keys.most_common(1)[0][0] if keys else (None, "")


def _opcode(text: str) -> str:
    match = _OPCODE.match(text)
    return match[1] if match else ""


def _texts(compilation: Compilation) -> Sequence[str]:
    """The PTX, a text for each module of device code."""
    return [
        compilation.files[each.file].decode(errors="replace")
        for each in compilation.artifacts
        if each.kind == "ptx" and each.file in compilation.files
    ]


def _lines_of_arrays(ptx: str) -> set[Line | None]:
    """The lines whose PTX accesses local memory: a spill is the assembler's, and has none."""
    if ".local" not in ptx:
        return set()
    return {(place.file, place.line) if place and place.line else None for place in _places(ptx)}


def _places(ptx: str) -> Iterator[SourceLocation | None]:
    lines = LineTable()
    current = None
    found: list[tuple[int, int, int] | None] = []
    for text in ptx.splitlines():
        if match := FILE.match(text):
            lines.add_file(match)
        elif match := LOC.match(text):
            current = lines.add_loc(match)
        elif _PTX_LOCAL.match(text):
            found.append(current)
    return (lines.location(place) for place in found)
