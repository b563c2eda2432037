"""The code of a record as listings: PTX, SASS or LLVM IR with the place of each line in the source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

import msgspec

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import FILE, FUNCTION, LOC, InlineAssembly, PtxText, named_file
from cutecc.record import Artifact, Compilation
from cutecc.report.frames import in_own_file
from cutecc.report.instruction_mix import classify
from cutecc.report.lost_accesses import access_of, place_accesses
from cutecc.report.stage_text import Function
from cutecc.report.warpgroup_products import place_products, product_of
from cutecc.sass import Inlined, SassFunction, is_warpgroup_product, read_sass
from cutecc.support.locations import Frame, InstructionPlace, Place, place_of

Kind = Literal["ptx", "sass", "llvm-ir"]


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


def listings_of(compilation: Compilation) -> Iterator[Listing]:
    """The listings of all code that the record holds."""
    ptx = ptx_of(compilation)
    makers: dict[str, Callable[[str, Artifact], Listing]] = {
        "llvm-ir": lambda text, artifact: llvm_ir_listing(text, artifact.file),
        "ptx": lambda text, artifact: ptx_listing(text, artifact.file, artifact.places),
        "sass": lambda text, artifact: sass_listing(text, artifact.file, ptx),
    }
    for artifact in compilation.artifacts:
        make, data = makers.get(artifact.kind), compilation.files.get(artifact.file)
        if make is not None and data is not None:
            listing = make(data.decode(errors="replace"), artifact)
            listing.table = [in_own_file(place, compilation.own_file) for place in listing.table]
            yield listing


def ptx_of(compilation: Compilation) -> list[PtxText]:
    """The PTX that the record holds."""
    return [PtxText(text, artifact.places) for artifact, text in _texts(compilation, "ptx")]


def functions_of(compilation: Compilation) -> list[SassFunction]:
    """The functions of the SASS that the record holds."""
    ptx = ptx_of(compilation)
    return [function for _, text in _texts(compilation, "sass") for function in sass_functions(text, ptx)]


def _texts(compilation: Compilation, kind: Kind) -> Iterator[tuple[Artifact, str]]:
    for artifact in compilation.artifacts:
        if artifact.kind == kind and artifact.file in compilation.files:
            yield artifact, compilation.files[artifact.file].decode(errors="replace")


class _Table:
    """Numbers for places, in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: dict[Place, int] = {}

    def number(self, place: Place | None) -> int:
        return -1 if place is None else self.numbers.setdefault(place, len(self.numbers))

    @property
    def places(self) -> list[Place]:
        return [*self.numbers]


def sass_functions(text: str, ptx: Sequence[PtxText] = ()) -> list[SassFunction]:
    """The functions in what nvdisasm prints of code that was made of `ptx`."""
    functions = read_sass(text, inlined_places(ptx))
    if any(is_warpgroup_product(each.text) for function in functions for each in function.instructions):
        products = {name: found for each in ptx for name, found in _read_lines(each, product_of)}
        for function in functions:
            place_products(function, products.get(function.name, []))
    for each in ptx:
        if each.places:
            accesses = dict(_read_lines(each, access_of))
            for function in functions:
                place_accesses(function, accesses.get(function.name, []), each.places)
    return functions


def inlined_places(ptx: Iterable[PtxText]) -> dict[Inlined, Place]:
    """The places of what PTX says is inlined at a line of another file: without columns, as those of SASS.

    The lines of inline assembly have that of its statement.
    """
    found: dict[Inlined, Place] = {}
    for each in ptx:
        lines, assembly = each.text.split("\n"), InlineAssembly(each.text)
        files, statement, position = _files(lines), None, 0
        for line in lines:
            if match := LOC.match(line):
                if not assembly.holds(position):
                    statement = _ptx_place(match, files)
                if match[4] and match[1] != match[4] and statement is not None:
                    place = tuple(frame._replace(column=0) for frame in statement)
                    found[files.get(match[1], ""), int(match[2]), int(match[5])] = place
            position += len(line) + 1
    return found


_Read = TypeVar("_Read")


def _read_lines(
    ptx: PtxText, read: Callable[[int, str, Place | None], _Read | None]
) -> Iterator[tuple[str, list[_Read]]]:
    """What is read of the lines of each function, from their numbers, from 1, texts and places by `.loc`."""
    listing = ptx_listing(ptx.text, "")
    lines, table = ptx.text.split("\n"), [*listing.table, None]
    for function in listing.functions:
        numbers = range(function.first, function.last + 1)
        found = (read(number + 1, lines[number], table[listing.places[number]]) for number in numbers)
        yield function.name, [each for each in found if each is not None]


def sass_listing(text: str, file: str, ptx: Sequence[PtxText] = ()) -> Listing:
    """A listing of what nvdisasm prints of code that was made of `ptx`."""
    table, names = _Table(), dict[str, int]()
    count = text.count("\n") + 1
    places, classes = [-1] * count, [-1] * count
    functions: list[Function] = []
    for function in sass_functions(text, ptx):
        functions.append(Function(function.name, function.first, function.last))
        for each in function.instructions:
            places[each.line] = table.number(each.place)
            classes[each.line] = names.setdefault(classify(each.text), len(names))
    return Listing("sass", file, text, table.places, places, classes, [*names], functions)


_PTX_NO_INSTRUCTION = re.compile(r"\s*(?://|\.|[(){}]|[\w$%]+\s*:(?!:)|$)")


def ptx_listing(text: str, file: str, own_places: Iterable[InstructionPlace] = ()) -> Listing:
    """A listing of PTX; `own_places` are those of instructions whose `.loc` is another's."""
    lines, assembly = text.split("\n"), InlineAssembly(text)
    files = _files(lines)
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
            current = table.number(_ptx_place(match, files))
        elif name and not _PTX_NO_INSTRUCTION.match(line):
            places[number] = current
        position += len(line) + 1
    for each in own_places:
        if each.line <= len(places):
            places[each.line - 1] = table.number(each.place)
    return Listing("ptx", file, text, table.places, places, functions=functions)


def _files(lines: Iterable[str]) -> dict[str, str]:
    """By index the files that PTX names, often at its end."""
    return {match[1]: named_file(match[2]) for line in lines if (match := FILE.match(line))}


def _ptx_place(match: re.Match[str], files: dict[str, str]) -> Place | None:
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
