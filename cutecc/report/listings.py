"""Code as listings: PTX, SASS or LLVM IR with the place of each line in the source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import FILE, FUNCTION, LOC, InlineAssembly, named_file
from cutecc.report.instruction_mix import classify
from cutecc.report.stage_text import Function
from cutecc.sass import SassFunction
from cutecc.support.locations import REASONS, Frame, InstructionPlace, Owner, Place, place_of

Kind = Literal["ptx", "sass", "llvm-ir", "machine-ir"]


class Listing(msgspec.Struct):
    """A text of code, and for each of its lines where it comes from."""

    kind: Kind
    file: str
    text: str
    table: list[Place] = []
    """The places that lines name. Those of SASS have no columns."""
    places: list[int] = []
    """For each line an index into `table`, -1 for none. Only lines with an instruction have a place."""
    classes: list[int] = []
    """Of SASS, for each line an index into `class_names`, -1 where there is no instruction that can be executed."""
    class_names: list[str] = []
    functions: list[Function] = []
    reasons: list[int] = []
    """Of PTX and SASS, for each line an index into `REASONS`: how its place is known; -1 without an instruction."""
    details: list[int] = []
    """For each line an index into `detail_names`: what the compiler made it for; -1 for nothing."""
    detail_names: list[str] = []
    values: list[list[int]] = []
    """Of SASS that is to be compared, for each line the values in its registers, as `InstructionValues.encoded` says;
    empty lists without an instruction. The numbers of one function go on behind those of the one before."""


class _Table:
    """Numbers for places, in the order in which they come."""

    def __init__(self, places: Iterable[Place] = ()) -> None:
        self.numbers: dict[Place, int] = {place: number for number, place in enumerate(places)}

    def number(self, place: Place | None) -> int:
        return -1 if place is None else self.numbers.setdefault(place, len(self.numbers))

    @property
    def places(self) -> list[Place]:
        return [*self.numbers]


def sass_listing(text: str, file: str, functions: Sequence[SassFunction]) -> Listing:
    """A listing of what nvdisasm prints, with its functions."""
    table, names = _Table(), dict[str, int]()
    count = text.count("\n") + 1
    places, classes = [-1] * count, [-1] * count
    found = Listing("sass", file, text, table.places, places, classes, functions=[])
    owners: dict[int, Owner] = {}
    for function in functions:
        found.functions.append(Function(function.name, function.first, function.last))
        for each in function.instructions:
            places[each.line] = table.number(each.place)
            classes[each.line] = names.setdefault(classify(each.text), len(names))
            owners[each.line] = Owner(each.place, each.reason, each.detail)
    found.table, found.class_names = table.places, [*names]
    _add_reasons(found, owners)
    return found


def with_owners(listing: Listing, owners: Mapping[int, Owner]) -> Listing:
    """A listing whose lines, from 0, belong to these owners."""
    table = _Table(listing.table)
    places = [-1] * len(listing.places)
    for line, owner in owners.items():
        places[line] = table.number(owner.place)
    found = msgspec.structs.replace(listing, table=table.places, places=places)
    _add_reasons(found, owners)
    return found


def _add_reasons(listing: Listing, owners: Mapping[int, Owner]) -> None:
    names: dict[str, int] = {}
    listing.reasons, listing.details = [-1] * len(listing.places), [-1] * len(listing.places)
    for line, owner in owners.items():
        listing.reasons[line] = REASONS.index(owner.reason)
        if owner.detail:
            listing.details[line] = names.setdefault(owner.detail, len(names))
    listing.detail_names = [*names]


_PTX_NO_INSTRUCTION = re.compile(r"\s*(?://|\.|[(){}]|[\w$%]+\s*:(?!:)|$)")


def is_instruction(line: str) -> bool:
    """Whether a line of a PTX function is an instruction: no directive, label, brace or comment."""
    return _PTX_NO_INSTRUCTION.match(line) is None


def ptx_listing(text: str, file: str, own_places: Iterable[InstructionPlace] = ()) -> Listing:
    """A listing of PTX; `own_places` are those of instructions whose `.loc` is another's."""
    lines, assembly = text.split("\n"), InlineAssembly(text)
    files = files_of(lines)
    table, places = _Table(), [-1] * len(lines)
    functions: list[Function] = []
    name, first, current, position = "", 0, -1, 0
    for number, line in enumerate(lines):
        if match := FUNCTION.match(line):
            name, first, current = match[1] or "", number, -1
        elif line.startswith("}") and name and not assembly.holds(position):
            functions.append(Function(name, first, number))
            name = ""
        elif (match := LOC.match(line)) and not assembly.holds(position):
            current = table.number(ptx_place(match, files))
        elif name and is_instruction(line):
            places[number] = current
        position += len(line) + 1
    for each in own_places:
        if each.line <= len(places):
            places[each.line - 1] = table.number(each.place)
    return Listing("ptx", file, text, table.places, places, functions=functions)


def files_of(lines: Iterable[str]) -> dict[str, str]:
    """By index the files that PTX names, often at its end."""
    return {match[1]: named_file(match[2]) for line in lines if (match := FILE.match(line))}


def ptx_place(match: re.Match[str], files: Mapping[str, str]) -> Place | None:
    """The place that a match of `LOC` says, with the files by their indices."""
    inner = _frame(files.get(match[1]), match[2], match[3])
    user = _frame(files.get(match[4]), match[5], match[6]) if match[4] else inner
    if user is None:
        return None
    return place_of((user,) if inner is None or inner == user else (inner, user))


def _frame(file: str | None, line: str, column: str | None) -> Frame | None:
    if file is None or line == "0" or max(len(line), len(column or "")) > _MOST_DIGITS:
        return None
    location = SourceLocation.of_debug_information(file, int(line), int(column or 0))
    return Frame(file, int(line), location.column or 0)


_MOST_DIGITS = 10
"""Of a line or column: debug information has 32 bits for them."""
_DEFINE = re.compile(r'define\s[^@]*@("[^"]*"|[\w.$-]+)\(')
_DEBUG = re.compile(r", !dbg !(\d+)")
_NODE = re.compile(r"!(\d+) = (?:distinct )?!DI(\w+)\((.*)\)$")
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|[^,]+)')
_HEXADECIMAL = re.compile(r"\\([0-9A-Fa-f]{2})")


def llvm_ir_listing(text: str, file: str) -> Listing:
    """A listing of LLVM IR."""
    lines = text.split("\n")
    debug = _DebugInformation(lines)
    table, places = _Table(), [-1] * len(lines)
    functions: list[Function] = []
    name, first = "", 0
    for number, line in enumerate(lines):
        if match := _DEFINE.match(line):
            name, first = match[1].strip('"'), number
        elif line == "}" and name:
            functions.append(Function(name, first, number))
            name = ""
        elif name and (match := _DEBUG.search(line)):
            places[number] = table.number(debug.place(match[1]))
    return Listing("llvm-ir", file, text, table.places, places, functions=functions)


class _DebugInformation:
    """The metadata of a module that says where instructions come from."""

    def __init__(self, lines: list[str]) -> None:
        self._nodes: dict[str, tuple[str, dict[str, str]]] = {}
        for line in lines:
            if line.startswith("!") and (match := _NODE.match(line)):
                self._nodes[match[1]] = (match[2], dict(_FIELD.findall(match[3])))
        self._places: dict[str, Place | None] = {}

    def place(self, number: str) -> Place | None:
        if number not in self._places:
            self._places[number] = self._place(number)
        return self._places[number]

    def _place(self, number: str) -> Place | None:
        frames: list[Frame] = []
        seen: set[str] = set()
        while number not in seen and number in self._nodes:
            seen.add(number)
            fields = self._nodes[number][1]
            frame = _frame(self._file(fields.get("scope", "")), fields.get("line", "0"), fields.get("column"))
            frames += [frame] if frame else []
            number = fields.get("inlinedAt", "").lstrip("!")
        return place_of((frames[0], frames[-1])) if frames else None

    def _file(self, scope: str) -> str | None:
        kind, fields = self._nodes.get(scope.lstrip("!"), ("", {}))
        if "file" in fields and kind != "File":
            kind, fields = self._nodes.get(fields["file"].lstrip("!"), ("", {}))
        if kind != "File":
            return None
        directory, name = (_text(fields.get(key, '""')) for key in ("directory", "filename"))
        return f"{directory}/{name}" if directory and not name.startswith("/") else name


def _text(quoted: str) -> str:
    data = _HEXADECIMAL.sub(lambda match: chr(int(match[1], 16)), quoted[1:-1])
    return data.encode("latin-1", "replace").decode(errors="replace") if not data.isascii() else data
