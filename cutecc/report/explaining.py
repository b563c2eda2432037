"""What became of one line of Python: passes, instructions, remarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cutecc.errors import SourceLocation, UsageError
from cutecc.record import Compilation, Remark
from cutecc.record.stages import CallFrame, Stages
from cutecc.report.code import listings_of
from cutecc.report.frames import Frames, Line
from cutecc.report.history import LineHistory, histories
from cutecc.report.listings import Kind, Listing
from cutecc.report.paths import find_file, short_names
from cutecc.report.stage_text import Function
from cutecc.support.locations import Frame


@dataclass(frozen=True)
class Instruction:
    """A line of PTX or SASS."""

    number: int
    """From 1."""
    text: str
    function: str
    """The symbol of its kernel."""
    inferred: bool = False
    """Whether it is only likely to be of the line."""


@dataclass(frozen=True)
class Explanation:
    """What is known of a line."""

    file: str
    line: int
    source: str | None
    """Its text."""
    history: LineHistory
    instructions: dict[Kind, list[Instruction]]
    """Of PTX and SASS, those that the record holds."""
    chains: list[list[CallFrame]]
    """The call chains that lead through it, innermost frame first."""
    remarks: list[Remark] = field(default_factory=list[Remark])


def explain(compilation: Compilation, stages: Stages, file: str, line: int) -> Explanation:
    """What became of `line` of the file that ends in the path `file`.

    Raises `UsageError` for a file that the record does not name and for a line that nothing was made of, which names
    the nearest lines of which something was, and `RecordError` for a record that is damaged.
    """
    listings = [listing for listing in listings_of(compilation) if listing.kind in ("ptx", "sass")]
    known = histories(stages, listings)
    files = {each.file for each in known} | stages.user_lines.sources.keys()
    path = find_file(files, file)
    history = next((each for each in known if (each.file, each.line) == (path, line)), None)
    if history is None:
        has_lines = bool(stages.user_lines.sources) or not path.endswith(".py")
        raise _no_operations(known, short_names(files)[path], path, line, has_lines=has_lines)
    frames = Frames(stages.user_lines)
    chains = [chain for chain in stages.user_lines.chains if any(each[:2] == (path, line) for each in chain)]
    doubtful = {(each.file, place.line) for each in compilation.artifacts for place in each.places if place.inferred}
    return Explanation(
        path,
        line,
        _source(stages, path, line),
        history,
        _by_kind(listings, frames, (path, line), doubtful),
        chains,
        [*_remarks(compilation, frames, (path, line))],
    )


def _no_operations(known: list[LineHistory], name: str, path: str, line: int, *, has_lines: bool) -> UsageError:
    lines = [each.line for each in known if each.file == path]
    if not lines:
        return UsageError(f"{name}: no line of this file has operations")
    near = {max((each for each in lines if each < line), default=None)}
    near.add(min((each for each in lines if each > line), default=None))
    if not has_lines:
        hints = ["the program traced without lines: record it with cutecc watch --lines"]
        return UsageError(f"{name}:{line} has no operations in the traced module", hints=hints)
    hints = [f"the nearest with some: {', '.join(f'{name}:{each}' for each in sorted(filter(None, near)))}"]
    return UsageError(f"{name}:{line} has no operations in the traced module", hints=hints)


def _source(stages: Stages, path: str, line: int) -> str | None:
    lines = stages.user_lines.sources.get(path, "").split("\n")
    return lines[line - 1].rstrip() if line <= len(lines) and lines[line - 1].strip() else None


def _by_kind(
    listings: list[Listing], frames: Frames, line: Line, doubtful: set[tuple[str, int]]
) -> dict[Kind, list[Instruction]]:
    found: dict[Kind, list[Instruction]] = {}
    for listing in listings:
        found.setdefault(listing.kind, []).extend(_instructions(listing, frames, line, doubtful))
    return found


def _instructions(
    listing: Listing, frames: Frames, line: Line, doubtful: set[tuple[str, int]]
) -> Iterator[Instruction]:
    wanted = {number for number, place in enumerate(listing.table) if line in frames.lines(place)}
    functions = iter([*listing.functions, Function("", 1 << 62, 1 << 62)])
    function = next(functions)
    lines = listing.text.split("\n")
    for number, place in enumerate(listing.places):
        while number > function.last:
            function = next(functions)
        if place in wanted:
            name = function.name if number >= function.first else ""
            yield Instruction(number + 1, lines[number], name, (listing.file, number + 1) in doubtful)


def _remarks(compilation: Compilation, frames: Frames, line: Line) -> Iterator[Remark]:
    """Those about the line, and about code of functions that it calls."""
    sources = [each.remarks for each in (*compilation.steps, *compilation.analyses)]
    for remark in (each for remarks in [*sources, compilation.further_warnings] for each in remarks):
        place = SourceLocation.parse(remark.location or "")
        if not place.file or not place.line:
            continue
        is_here = place.line == line[1] and line[0].endswith(f"/{place.file}")
        if is_here or line in frames.lines((Frame(place.file, place.line, place.column or 0),)):
            yield remark
