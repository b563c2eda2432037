"""`check-spills`: where a kernel's code keeps registers, or arrays, in local memory. Looks at the finished record."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import FILE, LOC, LineTable
from cutecc.record import Analysis, ArtifactKind, Compilation, Remark
from cutecc.sass import read_sass

NAME = "check-spills"
SUMMARY = "Warn of registers that spill to local memory, at the lines of the loads and stores."

_LOCAL = re.compile(r"(?:@!?\w+\s+)?(LDL|STL)((?:\.\w+)*) ")
_PTX_LOCAL = re.compile(r"\s*(?:@!?%\w+\s+)?(?:ld|st)(?:\.\w+)*\.local\b")
_BYTES = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}

_Line = tuple[str, int] | None


@dataclass
class _Traffic:
    """Accesses of local memory that belong to one line, of one kernel."""

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

    def __str__(self) -> str:
        parts = [(self.loads, "load", self.load_bytes), (self.stores, "store", self.store_bytes)]
        return " and ".join(
            f"{count} {what}{'' if count == 1 else 's'} ({size} bytes)" for count, what, size in parts if count
        )


def check_spills(compilation: Compilation) -> Analysis:
    """What the SASS of `compilation` says of local memory: a warning for each line with spills.

    Loads and stores where the PTX has accesses of local memory itself are those of an array, a remark. Bytes are of
    one thread and each instruction once, however often it runs. Without SASS in the record the entry says so; the lines
    are there when the code was compiled with line information.
    """
    start = time.perf_counter()
    found = Analysis(NAME, max((step.index for step in compilation.steps), default=0))
    sass = _texts(compilation, "sass")
    if not sass:
        found.failure = "not run: the record has no SASS"
        return found
    arrays = {line for text in _texts(compilation, "ptx") for line in _lines_of_arrays(text)}
    registers = {each.kernel: each.registers for each in compilation.resources}
    remarks: list[Remark] = []
    for (kernel, line), traffic in _local_traffic(sass).items():
        is_array = line in arrays
        numbers: dict[str, int | float | str] = {
            "loads": traffic.loads,
            "load bytes": traffic.load_bytes,
            "stores": traffic.stores,
            "store bytes": traffic.store_bytes,
        }
        if kernel in registers:
            numbers["registers"] = registers[kernel]
        message = (
            f"{traffic} of local memory, for an array that is not in registers: a printed value, or an index that only "
            "the running kernel knows"
            if is_array
            else f"registers spill to local memory: {traffic}"
        )
        place = f"{line[0]}:{line[1]}" if line else None
        remarks.append(Remark("remark" if is_array else "warning", message, place, NAME, numbers))
    found.remarks = sorted(remarks, key=lambda each: (each.severity != "warning", -_all_bytes(each)))
    found.seconds = time.perf_counter() - start
    return found


def _all_bytes(remark: Remark) -> int:
    return int(remark.numbers["load bytes"]) + int(remark.numbers["store bytes"])


def _texts(compilation: Compilation, kind: ArtifactKind) -> list[str]:
    """The files of a kind, one for each module of device code."""
    return [
        compilation.files[each.file].decode(errors="replace") for each in compilation.artifacts if each.kind == kind
    ]


def _local_traffic(sass: Iterable[str]) -> dict[tuple[str, _Line], _Traffic]:
    """Accesses of local memory by kernel and line of the user's."""
    found: dict[tuple[str, _Line], _Traffic] = {}
    for kernel in (each for text in sass for each in read_sass(text)):
        for instruction in kernel.instructions:
            if access := _LOCAL.match(instruction.text):
                user = instruction.place[-1] if instruction.place else None
                line = (user.file, user.line) if user else None
                found.setdefault((kernel.name, line), _Traffic()).add(access[1], access[2])
    return found


def _lines_of_arrays(ptx: str) -> set[_Line]:
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
