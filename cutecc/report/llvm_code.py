"""LLVM's own passes on the page: an index, and the code after each as a listing, loaded when it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from cutecc.record import Compilation
from cutecc.record.llvm_passes import CodeKind, LlvmPass, LlvmPasses, llvm_passes
from cutecc.report.chunks import Chunk
from cutecc.report.frames import in_own_file
from cutecc.report.listings import Listing
from cutecc.report.stage_text import Function
from cutecc.support.locations import Place

_HEAD = re.compile(r'define\s[^@]*@("[^"]*"|[\w.$-]+)\(|# Machine code for function ([^:]+):')


class LlvmRow(msgspec.Struct):
    """A pass of LLVM in the index."""

    name: str
    """As `cutecc show --after llvm:…` takes it."""
    kind: CodeKind
    function: str | None
    seconds: float | None
    before: int | None
    """The row, from 0, that has the code before it; `None` where no row has."""


class LlvmIndex(msgspec.Struct):
    """Chunk `llvm`."""

    rows: list[LlvmRow]
    partly: bool
    """Whether only the most important passes were looked at."""


def llvm_chunks(compilation: Compilation) -> Iterator[Chunk]:
    """The index, and a listing for each of its rows; nothing where the record keeps no passes of LLVM.

    Raises `RecordError`.
    """
    index = LlvmIndex([], False)
    for module in llvm_passes(compilation):
        index.partly = index.partly or (module.partly and bool(module.passes))
        first = len(index.rows)
        for each in module.passes:
            before = module.before(each)
            earlier = None if before is None else first + module.passes.index(before)
            number = len(index.rows)
            index.rows.append(LlvmRow(each.selector, each.kind, each.function, each.seconds, earlier))
            yield Chunk.of(f"llvm:{number}", _listing(module, each, compilation.own_file))
    if index.rows:
        yield Chunk.of("llvm", index)


def _listing(module: LlvmPasses, each: LlvmPass, own_file: str | None) -> Listing:
    numbers: dict[int, int] = {-1: -1}
    table: list[Place] = []
    for number in each.places:
        if number not in numbers:
            numbers[number] = len(table)
            table.append(in_own_file(module.table[number], own_file))
    places = [numbers[number] for number in each.places]
    lines = each.text.split("\n")
    # The text ends in a newline, behind which stands nothing.
    return Listing(each.kind, each.selector, each.text, table, [*places, -1], functions=[*_functions(lines)])


def _functions(lines: list[str]) -> Iterator[Function]:
    name, first = None, 0
    for number, line in enumerate(lines):
        if name is None and (match := _HEAD.match(line)):
            name, first = (match[1] or match[2]).strip('"'), number
        elif name is not None and (line == "}" or line.startswith("# End machine code")):
            yield Function(name, first, number)
            name = None
