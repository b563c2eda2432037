"""Reading the tables that `ncu --page source --csv` prints.

Of each launch there is a line `"Kernel Name","NAME",` (beside the source, `"File Path","FILE"` and `"Function
Name","NAME"`), a line of headings, among them `Address` and `Source`, or `SASS`, and a line for each instruction:

    "Kernel Name","add_kernel",
    "Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_wait",…
    "0x7fc48541d900","      IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ","42","3632","10",…

Beside the source (`--print-source cuda,sass`) lines of it stand among them, without an address, and an instruction
stands below each line that it was inlined through. What else is there, such as lines of the program's own, is left out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutecc.errors import RecordError, UsageError
from cutecc.record.plain_file import read_plain

_LONGEST = 1 << 27
"""Bytes of a file that is read."""
_MOST_COLUMNS = 512
_MOST_VALUES = 8_000_000
"""Besides zeros."""
_HIGHEST = 1e18
_LONGEST_CELL = 80
"""Characters of what shows a number."""
_NAMES = ("Kernel Name", "Function Name")
_CODE = ("Source", "SASS")
_NO_METRICS = {"#", "Line No", "Line", "Address", "File Path", "File Name", *_NAMES, *_CODE}
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}")
_HOW = "ncu --set full -o REPORT PROGRAM, and then: ncu --import REPORT.ncu-rep --page source --csv > FILE"


@dataclass
class NcuInstruction:
    """A line of a table."""

    address: int
    text: str
    values: dict[str, float]
    """By the heading. Zeros are left out, and what is no number."""


@dataclass
class NcuLaunch:
    """What was measured of one launch of a kernel."""

    kernel: str
    instructions: dict[int, NcuInstruction] = field(default_factory=dict[int, NcuInstruction])
    """By address."""
    columns: dict[str, str] = field(default_factory=dict[str, str])
    """The headings of what was measured, in order, each with its unit, which is mostly empty."""


def read_ncu(path: Path) -> list[NcuLaunch]:
    """The launches in a file. Raises `UsageError` where it cannot be read, or is no such table."""
    text = _text(path)
    try:
        launches = [*_launches(csv.reader(io.StringIO(text, newline="")), _decimal_comma(text))]
    except _TooMany:
        raise UsageError(f"{path} holds more than {_MOST_VALUES:,} numbers") from None
    except csv.Error as error:
        raise _no_table(path, f"it is damaged: {error}") from None
    if not any(each.instructions for each in launches):
        raise _no_table(path, "it has no line of headings with Address and Source, and instructions below it")
    return [each for each in launches if each.instructions]


class _TooMany(Exception):
    pass


def _no_table(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not what ncu --page source --csv prints: {why}", hints=[f"make one: {_HOW}"])


def _text(path: Path) -> str:
    try:
        data = read_plain(path, _LONGEST)
    except RecordError as error:
        raise UsageError(f"cannot read the counters of ncu: {error.message}") from None
    except (OSError, ValueError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise UsageError(f"cannot read the counters of ncu: {path}: {why}", hints=[f"make one: {_HOW}"]) from None
    # What PowerShell writes is UTF-16.
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding, errors="replace")


def _launches(rows: Iterator[list[str]], decimal_comma: bool) -> Iterator[NcuLaunch]:
    launch, headings, count = NcuLaunch(""), _Headings([]), 0
    for row in rows:
        cells = [cell.strip() for cell in row]
        if _is_name(cells):
            yield launch
            launch, headings = NcuLaunch(cells[1]), _Headings([])
        elif _is_headings(cells):
            headings = _Headings(cells[:_MOST_COLUMNS])
            launch.columns |= dict.fromkeys(headings.metrics, "")
        elif (address := headings.address(cells)) is not None:
            count += _add(launch, address, headings, cells, decimal_comma)
            if count > _MOST_VALUES:
                raise _TooMany
        elif not launch.instructions and (units := headings.units(cells)):
            launch.columns |= units
    yield launch


def _is_headings(cells: Sequence[str]) -> bool:
    return "Address" in cells and not set(_CODE).isdisjoint(cells)


def _is_name(cells: Sequence[str]) -> bool:
    return len(cells) > 1 and cells[0] in _NAMES and not _is_headings(cells)


def _add(launch: NcuLaunch, address: int, headings: _Headings, cells: Sequence[str], decimal_comma: bool) -> int:
    """Add an instruction; how many values it has."""
    # What was inlined stands below several lines, with the same numbers.
    if address in launch.instructions:
        return 0
    values: dict[str, float] = {}
    for name, column in headings.metrics.items():
        if column < len(cells) and (found := number(cells[column], decimal_comma=decimal_comma)) is not None:
            value, unit = found
            launch.columns[name] = launch.columns[name] or unit
            if value:
                values[name] = value
    code = cells[headings.code] if headings.code < len(cells) else ""
    launch.instructions[address] = NcuInstruction(address, code.rstrip(" ;"), values)
    return len(values)


class _Headings:
    """Which column is what."""

    def __init__(self, cells: Sequence[str]) -> None:
        self._address = cells.index("Address") if "Address" in cells else -1
        codes = [number for number, cell in enumerate(cells) if cell in _CODE]
        self.code = next((each for each in codes if each > self._address), codes[-1] if codes else -1)
        """Beside the source, the code stands behind the address."""
        self.metrics: dict[str, int] = {}
        """What was measured. ncu prints some columns twice, with the same numbers."""
        for number, cell in enumerate(cells):
            if cell and cell not in _NO_METRICS:
                self.metrics.setdefault(cell, number)

    def address(self, cells: Sequence[str]) -> int | None:
        if not 0 <= self._address < len(cells) or not _ADDRESS.fullmatch(cells[self._address]):
            return None
        return int(cells[self._address], 16)

    def units(self, cells: Sequence[str]) -> dict[str, str]:
        """Of a line that stands below the headings and has nothing but units."""
        if self._address < 0 or any(cells[: max(self._address, self.code) + 1]):
            return {}
        return {name: cells[column] for name, column in self.metrics.items() if column < len(cells)}


_NUMBER = re.compile(r"([+-]?[\d.,'\u00a0\u202f]*\d(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z%/#].{0,40})?")
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_GROUPED_BY_DOTS = re.compile(
    r'(?:^|,)"[+-]?(?:\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3},(?:\d{1,2}|\d{4,})|0,\d+)"(?=,|\r?$)',
    re.MULTILINE,
)
"""Cells of numbers that are written so, and in no other way."""


def _decimal_comma(text: str) -> bool:
    """Whether numbers are written as `1.234.567,8`."""
    return _GROUPED_BY_DOTS.search(text) is not None


def number(cell: str, *, decimal_comma: bool = False) -> tuple[float, str] | None:
    """The number that a cell shows, and its unit without a prefix: `1,234.5 Kbyte` is 1,234,500 bytes.

    `None` for what is no number, or beyond all that is counted: sums of several have to be finite.
    """
    match = _NUMBER.fullmatch(cell) if len(cell) <= _LONGEST_CELL else None
    if match is None:
        return None
    digits, unit = re.sub("['\u00a0\u202f]", "", match[1]), (match[2] or "").strip()
    digits = digits.replace(".", "").replace(",", ".") if decimal_comma else digits.replace(",", "")
    try:
        value = float(digits)
    except ValueError:
        return None
    if len(unit) > 1 and unit[0] in _PREFIXES and unit[1].islower():
        value, unit = value * _PREFIXES[unit[0]], unit[1:]
    if not abs(value) < _HIGHEST:
        return None
    return (int(value) if value.is_integer() else value), unit
