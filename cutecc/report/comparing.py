"""What differs between two modules as text, where renumbering of SSA values is not a difference.

The report page does the same in TypeScript; both follow these rules and are tested with `test/inputs/diff-cases.json`.

1. **Keys.** Lines are compared by key: the line with each value name `%name` replaced by `%`, each block label `^name`
   by `^`, and each alias of a type or attribute (`!name`, `#name`, defined by a line `!name = …`) by its definition, in
   which aliases are replaced too. The key of a line that defines an alias is `!` or `#`, ` = ` and the definition.
   Result counts and numbers (`%0:2`, `%0#1`) and whatever stands in strings stay as they are. Spaces at both ends are
   left out, and of a line that begins with a label its comment, `  // pred: ^bb0`.
2. **Matching** lines of equal key, over ranges of both texts, first the whole ones: (a) match the common prefix, then
   the common suffix. (b) Pairs: the k-th line of a key before with the k-th of it after, for all keys that occur once
   in both ranges; if there are none, for those that occur equally often; if there are none, for all, as far as both
   have some. (c) Of these, by their position before, the longest run whose positions after rise matches (patience
   sorting; of several as long, that in which each position after is the smallest possible). (d) The same for the
   ranges between the matches, until there are no pairs.
3. **Names.** A value is defined where its name is one of the results that begin a line, or comes directly before `: `
   or ` = `; other names are uses, of the last definition of that name before them, or of the next one if there is
   none. A label is defined where it begins a line. A label belongs to the last line before it with as little
   indentation as the definition of the label that begins with no `^`; an operation's labels are indented two less than
   itself.
4. **Operands.** Definitions in matched lines correspond in their order. In each matched pair, in order, uses correspond
   in theirs, and labels as values do: when either definition corresponds to one already, it has to be the other one,
   else they correspond from now on. A pair in which that does not hold does not match.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tag = Literal["equal", "replace", "delete", "insert"]

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|%(?P<value>[\w$.-]+)(?P<count>:\d+)?"
    r"|\^(?P<label>[\w$.-]+)"
    r"|[!#](?P<alias>[A-Za-z_$][\w$]*)(?![\w$.<])",
    re.ASCII,
)
_ALIAS = re.compile(r"([!#])([A-Za-z_$][\w$]*) = (.*)", re.ASCII)
_RESULTS = re.compile(r" *%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)* = ", re.ASCII)
_LABEL_COMMENT = re.compile(r"( *\^.*?)  // ")


class Edit(NamedTuple):
    """A stretch of both texts, lines from 0 on, without the ends."""

    tag: Tag
    before: int
    before_end: int
    after: int
    after_end: int


class Abstract(NamedTuple):
    """A line without the names of its values and labels."""

    key: str
    names: tuple[str, ...]
    """Values with `%` and labels with `^`, in their order."""
    definitions: tuple[bool, ...]
    """Which of them are defined here."""


class Abstraction:
    """Abstracts the lines of one module."""

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` are those of the whole module, whose aliases count."""
        self._raw: dict[str, str] = {}
        for line in lines:
            if line[:1] in ("!", "#") and (match := _ALIAS.fullmatch(line)):
                self._raw[match[1] + match[2]] = match[3]
        self._expanded: dict[str, str] = {}
        self._lines: dict[str, Abstract] = {}

    def of(self, line: str) -> Abstract:
        """The abstract form of a line of the module."""
        known = self._lines.get(line)
        if known is None:
            known = self._lines[line] = self._abstract(line)
        return known

    def _abstract(self, line: str) -> Abstract:
        if line[:1] in ("!", "#") and (match := _ALIAS.fullmatch(line)):
            return Abstract(f"{match[1]} = {self._definition(match[1] + match[2])}", (), ())
        if match := _LABEL_COMMENT.match(line):
            line = match[1]
        pieces: list[str] = []
        names: list[str] = []
        definitions: list[bool] = []
        results = _RESULTS.match(line)
        results_end = results.end() if results else 0
        position = 0
        for match in _TOKEN.finditer(line):
            kind = match.lastgroup
            if kind is None:
                continue
            start, end = match.span()
            if kind == "alias":
                if match[0] in self._raw:
                    pieces += [line[position:start], self._definition(match[0])]
                    position = end
                continue
            if kind == "label":
                name, is_definition = match[0], not line[:start].strip()
                pieces += [line[position:start], "^"]
            else:
                count = match["count"] or ""
                name = f"%{match['value']}"
                is_definition = start < results_end or (not count and line.startswith((": ", " = "), end))
                pieces += [line[position:start], "%", count]
            names.append(name)
            definitions.append(is_definition)
            position = end
        pieces.append(line[position:])
        return Abstract("".join(pieces).strip(" "), tuple(names), tuple(definitions))

    def _definition(self, alias: str) -> str:
        if alias not in self._expanded:
            self._expanded[alias] = alias  # a definition that leads back to itself stays a name
            self._expanded[alias] = _TOKEN.sub(
                lambda match: self._definition(match[0]) if match["alias"] and match[0] in self._raw else match[0],
                self._raw[alias],
            )
        return self._expanded[alias]


def compare(
    before: Sequence[str],
    after: Sequence[str],
    *,
    before_module: Iterable[str] | None = None,
    after_module: Iterable[str] | None = None,
) -> list[Edit]:
    """How `before` becomes `after`, both lines of modules, by the rules above; one stretch after the other.

    Of a part of a module, `before_module` and `after_module` are all its lines, which define the aliases.
    """
    return compare_sides(_Side(before, before_module), _Side(after, after_module))


@dataclass
class Sided:
    """A text without names, line by line."""

    lines: list[Abstract]
    resolved: list[list[int]]
    """For each line and name in it, a number that stands for the definition."""


def compare_sides(old: Sided, new: Sided) -> list[Edit]:
    """The same of two texts whose names were told apart by the rules of their own language."""
    pairs = _checked(old, new, _matches(old, new))
    return _edits(pairs, len(old.lines), len(new.lines))


def count(edits: Iterable[Edit]) -> tuple[int, int]:
    """How many lines are in the first text alone, and how many in the second alone."""
    differing = [edit for edit in edits if edit.tag != "equal"]
    return (
        sum(edit.before_end - edit.before for edit in differing),
        sum(edit.after_end - edit.after for edit in differing),
    )


class _Side(Sided):
    """Lines of a module."""

    def __init__(self, lines: Sequence[str], module: Iterable[str] | None) -> None:
        abstraction = Abstraction(lines if module is None else module)
        super().__init__([abstraction.of(line) for line in lines], [])
        self._resolve(_owners(lines))

    def _resolve(self, owners: list[tuple[int, int]]) -> None:
        values: dict[str, int] = {}
        labels: dict[tuple[str, int], int] = {}
        waiting: defaultdict[str, list[tuple[list[int], int]]] = defaultdict(list)
        number = 0
        for line, (own, branches) in zip(self.lines, owners, strict=True):
            found: list[int] = []
            for name, is_definition in zip(line.names, line.definitions, strict=True):
                number += 1
                if name[0] == "^":
                    found.append(labels.setdefault((name, own if is_definition else branches), number))
                elif is_definition:
                    found.append(number)
                    for places, index in waiting.pop(name, ()):
                        places[index] = number
                elif name in values:
                    found.append(values[name])
                else:
                    waiting[name].append((found, len(found)))
                    found.append(-number)
            # What a line defines is not yet there for its own operands.
            for name, is_definition, definition in zip(line.names, line.definitions, found, strict=True):
                if is_definition and name[0] == "%":
                    values[name] = definition
            self.resolved.append(found)


def _owners(lines: Sequence[str]) -> list[tuple[int, int]]:
    """For each line, whose labels it defines and whose it names, as the number of a line."""
    owners: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        start = line.lstrip(" ")
        indentation = len(line) - len(start)
        if start[:1] == "^":
            owners.append((_owner(stack, indentation), -1))
            continue
        owners.append((-1, _owner(stack, indentation - 2)))
        if start:
            while stack and stack[-1][0] >= indentation:
                stack.pop()
            stack.append((indentation, index))
    return owners


def _owner(stack: list[tuple[int, int]], indentation: int) -> int:
    return next((index for level, index in reversed(stack) if level <= indentation), -1)


def _matches(old: Sided, new: Sided) -> list[tuple[int, int]]:
    numbers: dict[str, int] = {}
    before = [numbers.setdefault(line.key, len(numbers)) for line in old.lines]
    after = [numbers.setdefault(line.key, len(numbers)) for line in new.lines]
    matched: list[tuple[int, int]] = []
    ranges = [(0, len(before), 0, len(after))]
    while ranges:
        start, end, first, last = ranges.pop()
        while start < end and first < last and before[start] == after[first]:
            matched.append((start, first))
            start, first = start + 1, first + 1
        while start < end and first < last and before[end - 1] == after[last - 1]:
            end, last = end - 1, last - 1
            matched.append((end, last))
        if start == end or first == last:
            continue
        anchors = _rising(_pairs(before, start, end, after, first, last))
        if not anchors:
            continue
        matched += anchors
        for i, j in anchors:
            ranges.append((start, i, first, j))
            start, first = i + 1, j + 1
        ranges.append((start, end, first, last))
    return sorted(matched)


def _pairs(before: list[int], start: int, end: int, after: list[int], first: int, last: int) -> list[tuple[int, int]]:
    """What may match between two ranges, by the position before."""
    here, there = Counter(before[start:end]), Counter(after[first:last])
    common = here.keys() & there.keys()
    chosen = {key for key in common if here[key] == there[key] == 1}
    chosen = chosen or {key for key in common if here[key] == there[key]} or common
    if not chosen:
        return []
    positions: defaultdict[int, list[int]] = defaultdict(list)
    for index in range(last - 1, first - 1, -1):
        if after[index] in chosen:
            positions[after[index]].append(index)
    pairs: list[tuple[int, int]] = []
    for index in range(start, end):
        if before[index] in chosen and (left := positions[before[index]]):
            pairs.append((index, left.pop()))
    return pairs


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs in which the second numbers rise too."""
    tails: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        previous.append(last[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            last.append(index)
        else:
            tails[length] = j
            last[length] = index
    run: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def _checked(old: Sided, new: Sided, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs whose operands correspond."""
    forward: dict[int, int] = {}
    backward: dict[int, int] = {}
    for i, j in pairs:
        for is_definition, before, after in zip(
            old.lines[i].definitions, old.resolved[i], new.resolved[j], strict=False
        ):
            if is_definition:
                forward[before], backward[after] = after, before
    kept: list[tuple[int, int]] = []
    for i, j in pairs:
        holds = True
        for before, after in zip(old.resolved[i], new.resolved[j], strict=True):
            if before not in forward and after not in backward:
                forward[before], backward[after] = after, before
            elif forward.get(before) != after:
                holds = False
        if holds:
            kept.append((i, j))
    return kept


def _edits(pairs: list[tuple[int, int]], before_end: int, after_end: int) -> list[Edit]:
    edits: list[Edit] = []
    before = after = 0

    def differing(i: int, j: int) -> None:
        if i > before or j > after:
            tag = "replace" if i > before and j > after else "delete" if i > before else "insert"
            edits.append(Edit(tag, before, i, after, j))

    for i, j in pairs:
        differing(i, j)
        if edits and edits[-1].tag == "equal" and edits[-1][2::2] == (i, j):
            edits[-1] = edits[-1]._replace(before_end=i + 1, after_end=j + 1)
        else:
            edits.append(Edit("equal", i, i + 1, j, j + 1))
        before, after = i + 1, j + 1
    differing(before_end, after_end)
    return edits
