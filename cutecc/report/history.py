"""What each pass did to the operations of a line of Python.

SSA values, block labels and aliases are numbered anew by every pass; that, and indentation, is no change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from cutecc.record.stages import Stage, Stages
from cutecc.report.frames import Frames, Line
from cutecc.report.listings import Listing

EventKind = Literal["appeared", "changed", "split", "merged", "removed"]


class HistoryEvent(msgspec.Struct, frozen=True):
    """What one pass did to the operations of one line."""

    step: int
    """Position of the pass."""
    kind: EventKind
    """`split` and `merged`: there are more or fewer of them than before."""
    before: int
    """Operations of the line."""
    after: int


class LineHistory(msgspec.Struct):
    """What became of one line."""

    file: str
    line: int
    traced: int
    """Operations in the first module of the record."""
    events: list[HistoryEvent] = []
    ptx: int = 0
    """Instructions."""
    sass: int = 0


def histories(stages: Stages, listings: Iterable[Listing] = ()) -> list[LineHistory]:
    """What became of each line that operations or instructions name, in the order of the source.

    An operation counts for every line of its call chain. Code generation takes a kernel out of the module, which is the
    last event of each of its lines. Raises `RecordError`.
    """
    frames = Frames(stages.user_lines)
    lines_of = [frames.lines(place) for place in stages.places]
    found: dict[Line, LineHistory] = {}
    before: dict[Line, Digest] | None = None
    aliases: dict[str, str] = {}
    for index in stages.indices:
        after = digests(stages.after(index), lines_of, aliases)
        for line in after.keys() | (before or {}).keys():
            there = after.get(line, _NOTHING)
            history = found.get(line)
            if history is None:
                history = found[line] = LineHistory(*line, traced=there[0] if before is None else 0)
            if before is not None and (here := before.get(line, _NOTHING)) != there:
                history.events.append(HistoryEvent(index, _kind(here[0], there[0]), here[0], there[0]))
        before = after
    for listing in listings:
        if listing.kind in ("ptx", "sass"):
            _count(listing, frames, found)
    return [found[line] for line in sorted(found)]


Digest = tuple[int, int]
"""How many operations, and the sum of the hashes of their texts: their order may change."""
_NOTHING: Digest = (0, 0)


def digests(stage: Stage, lines_of: Sequence[frozenset[Line]], aliases: dict[str, str]) -> dict[Line, Digest]:
    """What each line has for operations in a module; `lines_of` are the lines of each place.

    Comparable between all modules, of whatever record, that had the same `aliases`, which grows.
    """
    by_place: dict[int, list[int]] = {}
    open_: dict[int, list[int]] = {}
    """By indentation, the digest of the operation whose regions are still open."""
    for text, number in zip(_abstract(stage.text, aliases).split("\n"), stage.places, strict=False):
        start = text.lstrip(" ")
        if number >= 0:
            digest = by_place.setdefault(number, [0, 0])
            digest[0] += 1
            digest[1] += hash(start)
            if start.endswith("{"):
                open_[len(text) - len(start)] = digest
        elif start.startswith("}") and start != "}" and (digest := open_.get(len(text) - len(start))):
            # The attributes of a loop stand behind its body.
            digest[1] += hash(start)
    found: dict[Line, Digest] = {}
    for number, (count, content) in by_place.items():
        for line in lines_of[number]:
            earlier = found.get(line, _NOTHING)
            found[line] = (earlier[0] + count, earlier[1] + content)
    return found


_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?", re.ASCII)
"""Also one of several results, `%0#1`, which another pass may give a name of its own."""
_LABEL = re.compile(r"\^[\w$.-]+", re.ASCII)
_DEFINED = re.compile(r"^([!#][A-Za-z_$][\w$]*) = (.*)$", re.ASCII | re.MULTILINE)
_ALIAS = re.compile(r"[!#][A-Za-z_$][\w$]*(?![\w$.<])", re.ASCII)


def _abstract(text: str, numbers: dict[str, str]) -> str:
    """The text without names; an alias becomes a number that stands for its definition in all stages.

    As `cutecc.report.comparing` does it line by line, for a whole text at once; what strings hold may be taken for
    names here, which hides a change only where nothing but that has changed.
    """
    known: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return known.get(match[0], match[0])

    # MLIR defines an alias before those that use it.
    for alias, definition in _DEFINED.findall(text):
        expanded = _ALIAS.sub(number, definition)
        known[alias] = numbers.setdefault(expanded, f"{alias[0]}{len(numbers)}")
    # Two plain replacements take a quarter of the time of one with a group.
    text = _LABEL.sub("^", _VALUE.sub("%", text))
    return _ALIAS.sub(number, text) if known else text


def _kind(before: int, after: int) -> EventKind:
    if before == after:
        return "changed"
    if before == 0:
        return "appeared"
    if after == 0:
        return "removed"
    return "split" if after > before else "merged"


def _count(listing: Listing, frames: Frames, found: dict[Line, LineHistory]) -> None:
    counts = [0] * len(listing.table)
    for number in listing.places:
        if number >= 0:
            counts[number] += 1
    for place, count in zip(listing.table, counts, strict=True):
        for line in frames.lines(place):
            history = found.setdefault(line, LineHistory(*line, traced=0))
            if listing.kind == "ptx":
                history.ptx += count
            else:
                history.sass += count
