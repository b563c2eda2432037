"""Choose lines of an IR dump or of PTX by what they are, and print them so that they can be read.

Lines are chosen by operation, by text and by the line of Python that they came from, never by number, so that an
excerpt survives changes elsewhere. They are printed as they stand, but for what `show` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

WIDTH = 108
LONGEST_NAME = 40
LONGEST_REPEATED_TYPE = 100
SHORTEST_FOLDED_LIST = 8
GAP = "…"

SSA_NAME = re.compile(r"%[A-Za-z0-9_$.]+")
PTX_REGISTER = re.compile(r"%(?:r|rd|rs|p|f|fd|rq)\d+\b")
OPERATION = re.compile(r'(?:%[^=]*? = )?"?([a-z]\w*(?:\.\w+)+|scf\.\w+)"?\b')
PTX_OPERATION = re.compile(r"(?:@!?%p\d+ )?([a-z]\w*(?:[.:]+\w+)*)")


class ExcerptError(Exception):
    """An excerpt that cannot be made: nothing matches, or what it asks for is not there."""


@dataclass
class Line:
    """One line of a dump."""

    text: str
    """Indented as in the dump, without its location."""
    operation: str = ""
    """`cute.slice`, `cp.async.bulk.tensor.2d…`; empty for closing braces, labels and attributes."""
    sources: frozenset[int] = frozenset()
    """Lines of the kernel's Python file that it came from, counted from 1."""
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    end: int | None = None
    """Where the region that this line opens is closed."""


@dataclass(frozen=True)
class Choice:
    """What an excerpt shows: the lines that satisfy all of it."""

    operations: tuple[str, ...] = ()
    """Patterns of operation names, one of which has to match."""
    texts: tuple[str, ...] = ()
    """What a line has to contain."""
    source: int | None = None
    """The line of Python that it came from."""
    pick: tuple[int, ...] = ()
    """Which of the matching lines, counted from 1, or from the last one as -1; all when empty."""
    needs: int = 0
    """How many levels of operands to show with them: 1 adds what defines their operands."""
    context: int = 0
    """How many lines to show before and after each."""
    used: bool = False
    """Leave out operations whose results nothing uses."""


# Reading


def read_dump(text: str, file: str) -> list[Line]:
    """The lines of an MLIR dump printed with locations; `file` is the name of the kernel's Python file."""
    aliases, locations, body = {}, {}, []
    for raw in text.splitlines():
        if match := re.match(r"(![\w.]+) = (.*)", raw):
            aliases[match[1]] = match[2]
        elif match := re.match(r"(#loc\d*) = (.*)", raw):
            locations[match[1]] = match[2]
        elif raw.strip() and not raw.startswith(("#", "//")):
            body.append(raw)
    lines: list[Line] = []
    open_lines: list[Line] = []
    for raw in body:
        bare, found = _without_locations(raw)
        sources = frozenset(_source_lines(found[-1], locations, file)) if found else frozenset[int]()
        line = Line(_expanded(bare, aliases), sources=sources)
        stripped = bare.strip()
        if stripped.startswith("}") and open_lines:
            opener = open_lines.pop()
            opener.end, opener.sources = len(lines), opener.sources | sources
        elif match := OPERATION.match(stripped):
            line.operation = match[1]
            before, equals, after = stripped.partition(" = ")
            if equals and before.startswith("%"):
                line.results = tuple(SSA_NAME.findall(before))
            line.operands = tuple(SSA_NAME.findall(after if line.results else stripped))
        if stripped.endswith("{"):
            open_lines.append(line)
        lines.append(line)
    return lines


def _without_locations(raw: str) -> tuple[str, list[str]]:
    """A line without its `loc(…)`, and what stood in them."""
    found: list[str] = []
    while (start := raw.find(" loc(")) >= 0:
        end = _closing(raw, start + len(" loc"))
        found.append(raw[start + len(" loc(") : end - 1])
        raw = raw[:start] + raw[end:]
    return raw.rstrip(), found


def _source_lines(location: str, locations: dict[str, str], file: str) -> Iterator[int]:
    """The lines of `file` in a location and in all that it refers to."""
    for match in re.finditer(r'"([^"]*)":(\d+):\d+', location):
        if match[1].rpartition("/")[2] == file:
            yield int(match[2])
    for name in re.findall(r"#loc\d*", re.sub(r'"(?:[^"\\]|\\.)*"', "", location)):
        yield from _source_lines(locations[name], locations, file)


def _expanded(text: str, aliases: dict[str, str]) -> str:
    """A line with what its type aliases stand for."""
    while True:
        expanded = re.sub(r"![a-z]\w*\b(?![.<])", lambda match: aliases.get(match[0], match[0]), text)
        if expanded == text:
            return text
        text = expanded


def read_ptx(text: str) -> list[Line]:
    """The instructions of a PTX file; `.loc` says which line of Python they came from."""
    lines: list[Line] = []
    source: frozenset[int] = frozenset()
    for raw in text.splitlines():
        stripped = " ".join(raw.split())
        if match := re.match(r"\.loc \d+ (\d+)", stripped):
            source = frozenset({int(match[1])})
        elif stripped and not stripped.startswith("//"):
            line = Line(stripped, sources=source)
            if (match := PTX_OPERATION.match(stripped)) and not stripped.endswith(":"):
                line.operation = match[1]
                target, rest = _split_destination(stripped[match.end() :])
                line.results = tuple(PTX_REGISTER.findall(target))
                line.operands = tuple(PTX_REGISTER.findall(rest))
            lines.append(line)
    return lines


def _split_destination(operands: str) -> tuple[str, str]:
    """The first operand of a PTX instruction, and the others."""
    end = operands.find("}" if operands.lstrip().startswith("{") else ",")
    if end < 0 or operands.lstrip().startswith("["):
        return "", operands
    return operands[:end], operands[end:]


# Choosing


def choose(lines: list[Line], choice: Choice) -> list[int]:
    """The numbers of the lines to show, in order.

    Raises:
        ExcerptError: no line matches, or not as many as `pick` asks for.
    """
    matching = [number for number, line in enumerate(lines) if line.operation and _matches(line, choice)]
    if choice.used:
        matching = [number for number in matching if _is_used(lines, number)]
    if not matching:
        raise ExcerptError("no line matches")
    if any(not 1 <= abs(ordinal) <= len(matching) for ordinal in choice.pick):
        raise ExcerptError(f"pick={','.join(map(str, choice.pick))} of {len(matching)} lines that match")
    chosen = {matching[ordinal - (ordinal > 0)] for ordinal in choice.pick} if choice.pick else set(matching)
    for number in sorted(chosen):
        chosen.update(_needed(lines, number, choice.needs))
    for number in sorted(chosen):
        chosen.update(range(max(0, number - choice.context), min(len(lines), number + choice.context + 1)))
    chosen.update(end for number in list(chosen) if (end := lines[number].end) is not None)
    return sorted(chosen)


def _matches(line: Line, choice: Choice) -> bool:
    return (
        (choice.source is None or choice.source in line.sources)
        and all(text in line.text for text in choice.texts)
        and (not choice.operations or any(fnmatchcase(line.operation, pattern) for pattern in choice.operations))
    )


def _is_used(lines: list[Line], number: int) -> bool:
    """Whether an operation has no result, or one that a later line takes before another takes its name."""
    wanted = set(lines[number].results)
    if not wanted:
        return True
    for later in lines[number + 1 :]:
        if wanted.intersection(later.operands):
            return True
        wanted.difference_update(later.results)
        if not wanted:
            break
    return False


def _needed(lines: list[Line], number: int, levels: int) -> Iterator[int]:
    """What defines the operands of a line, and theirs, `levels` deep."""
    if levels == 0:
        return
    for operand in lines[number].operands:
        # Names are used again in other functions and regions: the nearest definition before is the one.
        for before in range(number - 1, -1, -1):
            if operand in lines[before].results:
                yield before
                yield from _needed(lines, before, levels - 1)
                break


# Printing


def show(lines: list[Line], chosen: Iterable[int]) -> str:
    """The chosen lines as a page shows them.

    `…` stands for lines left out; type aliases are written out (`read_dump` does it) and locations left away; of a list
    of eight or more alike, the first two and the last stay; names over 40 characters are cut; a type over 100
    characters is written out once in an excerpt; long lines are broken.
    """
    numbers = list(chosen)
    indent = min(len(lines[number].text) - len(lines[number].text.lstrip()) for number in numbers)
    shown: list[str] = []
    known: set[str] = set()
    previous: int | None = None
    for number in numbers:
        text = lines[number].text[indent:]
        if previous is not None and number != previous + 1:
            shown.append(" " * (len(text) - len(text.lstrip())) + GAP)
        shown += _wrapped(_folded(_without_known_types(text, known)))
        previous = number
    return "\n".join(shown) + "\n"


def _without_known_types(text: str, known: set[str]) -> str:
    """A line without what is inside of long types that were shown before, which are `known`, or in itself."""
    shown, end = "", 0
    for match in re.finditer(r"!\w[\w.]*<", text):
        if match.start() < end:
            continue
        closing = _closing(text, match.end() - 1)
        long_type = text[match.start() : closing]
        if len(long_type) > LONGEST_REPEATED_TYPE:
            shown += text[end : match.start()] + (match[0] + GAP + ">" if long_type in known else long_type)
            known.add(long_type)
            end = closing
    return shown + text[end:]


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` has been closed."""
    return next((index + 1 for index, depth in _depths(text, start) if depth == 0), len(text))


def _depths(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """How many brackets and quotes are open after each character from `start`."""
    depth, quoted = 0, False
    for index in range(start, len(text)):
        character = text[index]
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "([{<":
            depth += 1
        elif not quoted and (character in ")]}" or (character == ">" and text[index - 1] != "-")):
            depth -= 1
        yield index, depth + quoted


def _folded(text: str) -> str:
    """A line with its long lists and long names shortened."""
    item = r"[%$]?=?\w+(?:#\d+)?"
    pieces = re.split(rf"({item}(?:,\s*{item}){{{SHORTEST_FOLDED_LIST - 1},}})", text)
    for index in range(1, len(pieces), 2):
        pieces[index] = _folded_list(pieces[index])
    return re.sub(rf"[@\w]{{{LONGEST_NAME},}}", lambda match: match[0][: LONGEST_NAME // 2] + GAP, "".join(pieces))


def _folded_list(text: str) -> str:
    """A list in which runs of items that differ by a number alone are shortened."""
    separators = re.findall(r",\s*", text)
    items = re.split(r",\s*", text)
    kept: list[str] = []
    start = 0
    while start < len(items):
        end = start
        while end < len(items) and re.sub(r"\d+", "0", items[end]) == re.sub(r"\d+", "0", items[start]):
            end += 1
        if end - start >= SHORTEST_FOLDED_LIST:
            kept += [items[start], items[start + 1], GAP, items[end - 1]]
        else:
            kept += items[start:end]
        start = end
    return separators[0].join(kept)


def _wrapped(line: str) -> list[str]:
    """A line broken before its types and results, and between its parts where they are too long."""
    indent = " " * (len(line) - len(line.lstrip()))
    if len(line) <= WIDTH:
        return [line]
    rows: list[str] = []
    row = ""
    for segment in _segments(line):
        if row and len(row) + len(segment) > WIDTH:
            rows.append(row)
            row = indent + "    " + segment.lstrip()
        else:
            row += segment
    return [part for long in [*rows, row] for part in _broken(long, indent + "      ")]


def _segments(line: str) -> Iterator[str]:
    """A line in parts, each but the first with the ` : ` or ` -> ` in front that stood outside brackets."""
    start = 0
    for index, depth in _depths(line):
        if depth == 0 and index > start and line.startswith((" : ", " -> "), index):
            yield line[start:index]
            start = index
    yield line[start:]


def _broken(row: str, indent: str) -> list[str]:
    """A row in pieces no wider than `WIDTH`, where it has a place to break at."""
    rows: list[str] = []
    while len(row) > WIDTH:
        places = [match.end() for match in re.finditer(r", |\\0A(?:\\09)?", row) if match.end() > len(indent) + 20]
        fitting = [place for place in places if len(row[:place].rstrip()) <= WIDTH]
        # After a line of inline assembly, or between two types, is better than anywhere else.
        best = [place for place in fitting if row[:place].endswith(("\\0A", "\\09"))]
        best = best or [place for place in fitting if row[place] in "!("] or fitting or places
        if not best:
            break
        place = best[-1] if fitting else best[0]
        rows.append(row[:place].rstrip())
        row = indent + row[place:]
    return [*rows, row]
