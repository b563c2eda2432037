"""The page of two records side by side: one HTML file, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from cutecc.errors import Error
from cutecc.record import Compilation
from cutecc.record.counters import read_counters
from cutecc.record.stages import stages_of
from cutecc.record.whole_file import write_whole
from cutecc.report import page
from cutecc.report.chunks import Chunk, stage_chunks
from cutecc.report.code import Code
from cutecc.report.destination import check_destination
from cutecc.report.listings import Kind, Listing
from cutecc.report.live_ranges import live_ranges
from cutecc.report.pair import Pair, pair_of, sources_of
from cutecc.report.pair_profiles import SideCosts, pair_costs
from cutecc.report.pair_summary import summary, title
from cutecc.report.stage_text import Function
from cutecc.report.writing import Compiled, Report


def write_pair_report(
    a: Compiled | Compilation,
    b: Compiled | Compilation,
    path: str | Path,
    *,
    names: tuple[str, str] = ("A", "B"),
    pair: Pair | None = None,
    profiles: tuple[str | Path, str | Path] | None = None,
) -> Report:
    """Write the page that shows two kernels or records side by side to the HTML file `path`.

    `pair` is what `cutecc.workbench.compared.compare` made of the two, with the results of a run if there was one;
    without, it is made here, and `names` are what the page calls them. Modules are there of records that hold stages,
    as those of `--report` and `--dump-after` do. The same two give the same bytes. An earlier report at `path` is
    replaced. `profiles` are files of `cutecc profile --json`, of each of the two: lines have what they cost. Raises
    `UsageError` when something else is there, or a profile is not of its record, and `RecordError` for a damaged
    record and when the file cannot be written.
    """
    path = Path(path)
    check_destination(path)
    ours, theirs = _records(a, b)
    costs = pair_costs((ours, theirs), (Path(profiles[0]), Path(profiles[1]))) if profiles else None
    return Report(path, write_whole(path, _page(ours, theirs, names, pair, costs), "the report"), None)


def encode_pair_report(
    a: Compiled | Compilation, b: Compiled | Compilation, *, names: tuple[str, str] = ("A", "B")
) -> bytes:
    """The page that `write_pair_report` writes. Raises `RecordError` for a damaged record."""
    return b"".join(_page(*_records(a, b), names, None, None))


def _records(a: Compiled | Compilation, b: Compiled | Compilation) -> tuple[Compilation, Compilation]:
    ours, theirs = (each if isinstance(each, Compilation) else each.compilation for each in (a, b))
    return ours, theirs


def _page(
    ours: Compilation,
    theirs: Compilation,
    names: tuple[str, str],
    pair: Pair | None,
    costs: tuple[SideCosts, SideCosts] | None,
) -> Iterator[bytes]:
    pair = pair or pair_of(ours, theirs, names)
    listings: list[list[Listing]] = []
    for record, side in ((ours, pair.a), (theirs, pair.b)):
        try:
            code = Code(record)
            listings.append([code_of(each, _values(each, code), _columns(each, code)) for each in code.listings()])
        except Error as failure:
            note = f"the code of {side.record} is not shown: {failure.message}"
            pair = msgspec.structs.replace(pair, notes=[*pair.notes, note])
            listings.append([])
    yield page.head(title(pair), summary(pair))
    yield Chunk.of("pair", pair).element()
    if sources := sources_of(ours, theirs):
        yield Chunk.of("sources", sources).element()
    for side, record, of_record in (("a", ours, listings[0]), ("b", theirs, listings[1])):
        for chunk in _chunks(record, of_record):
            yield Chunk(f"{side}:{chunk.name}", chunk.data).element()
    for side, of_side in zip(("a", "b"), costs or (), strict=False):
        yield Chunk.of(f"{side}:costs", of_side).element()
    yield b"</body>\n</html>\n"


def _chunks(compilation: Compilation, listings: list[Listing]) -> Iterator[Chunk]:
    """The source, the modules, the code and the counters of one of the records."""
    if compilation.has_stages:
        yield from stage_chunks(stages_of(compilation).blocks)
    for listing in listings:
        yield Chunk.of(f"listing:{listing.file}", listing)
    if counters := read_counters(compilation):
        yield Chunk.of("counters", counters)


_NO_CODE: dict[Kind, re.Pattern[str]] = {
    "ptx": re.compile(r"\s*\.(?:loc|file)\b"),
    "sass": re.compile(r"\s*//## "),
    "llvm-ir": re.compile(r"!\d+ = (?:distinct )?!DI|!llvm\.dbg\.cu = "),
}
"""Lines with nothing but line information."""
_ADDRESS = re.compile(r"^ *(/\*[0-9a-f]+\*/) {2,}(?=\S)")
_DEBUG = re.compile(r",? !dbg !\d+")


def _values(listing: Listing, code: Code) -> dict[int, list[int]]:
    """By line of a listing of SASS the values in the registers of its instruction."""
    found: dict[int, list[int]] = {}
    for function in code.functions_by_file[listing.file] if listing.kind == "sass" else ():
        start = 1 + max((value for encoded in found.values() for value in encoded[2:]), default=-1)
        for each, values in zip(function.instructions, live_ranges(function), strict=True):
            found[each.line] = values.encoded(start)
    return found


def _columns(listing: Listing, code: Code) -> dict[int, str]:
    """By line of a listing of SASS its instruction in columns: guard, opcode, operands."""
    functions = code.functions_by_file[listing.file] if listing.kind == "sass" else ()
    return {each.line: in_columns(each.text) for function in functions for each in function.instructions}


_INSTRUCTION = re.compile(r"(@\S+ +)?(\S+) *(.*)", re.DOTALL)


def in_columns(text: str) -> str:
    """An instruction of SASS: its guard, opcode and operands, below those of other lines."""
    match = _INSTRUCTION.fullmatch(text)
    assert match is not None
    return f"        {(match[1] or '').strip():<6}{match[2]:<16} {match[3]}".rstrip()


def code_of(
    listing: Listing,
    values: Mapping[int, list[int]] = MappingProxyType({}),
    columns: Mapping[int, str] = MappingProxyType({}),
) -> Listing:
    """A listing for comparing, without what follows from other lines: line information, addresses of instructions.

    How places are known is left out. `values` are those of its lines, as `Listing.values` has them; `columns` are what
    stands in place of lines.
    """
    kept, lines = list[int](), list[str]()
    for number, line in enumerate(listing.text.split("\n")):
        if listing.kind == "ptx" and line.startswith("\t.section"):
            # Debug sections are the last ones.
            break
        if not _NO_CODE[listing.kind].match(line):
            kept.append(number)
            plain = _ADDRESS.sub("        ", line) if listing.kind == "sass" else _DEBUG.sub("", line)
            lines.append(columns.get(number, plain))
    numbers = {number: index for index, number in enumerate(kept)}
    functions = [
        Function(each.name, numbers[each.first], numbers[each.last])
        for each in listing.functions
        if each.first in numbers and each.last in numbers
    ]
    places, classes = (
        [column[each] for each in kept] if column else [] for column in (listing.places, listing.classes)
    )
    found = Listing(
        listing.kind,
        listing.file,
        "\n".join(lines),
        listing.table,
        places,
        classes,
        listing.class_names,
        functions=functions,
    )
    if values:
        found.values = [values.get(number, []) for number in kept]
    return found
