"""The modules of two records, pass by pass: where they part, and which passes lines part with for good."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import Stage, stages_of
from cutecc.report.comparing import compare
from cutecc.report.digests import Digest, digests
from cutecc.report.frames import Frames, Line
from cutecc.report.pair import PassRun, aligned
from cutecc.report.stage_text import functions
from cutecc.support.locations import Place
from cutecc.versions.sources import Sources
from cutecc.versions.tidy import tidied


class PassPlace(msgspec.Struct, frozen=True):
    """Where modules part."""

    selector: str
    """The pass after which they do, `traced` for the traced modules."""
    only_in: str | None = None
    """The column that alone has that pass; `None` where both do."""
    function: str | None = None
    """The user's name for the function; `None` outside of any."""
    operation: str | None = None
    """The first operation that differs, of the later column where that has one there."""
    location: str | None = None
    """Its line of Python, `file:line`."""


@dataclass(frozen=True)
class _Step:
    """A pass of either record, and the stages that hold the modules of both after it."""

    selector: str
    only_in: str | None
    a: int
    b: int


@dataclass(frozen=True)
class _Text:
    """A module, or what is left of it."""

    lines: list[str]
    places: list[int]
    """For each line, as stages have them."""
    functions: list[str | None]
    """For each line the user's name of the function that it is in."""


class Walk:
    """Two records from the trace until a code generator takes the kernels out of the module."""

    def __init__(self, a: Compilation, b: Compilation, names: tuple[str, str]) -> None:
        """Raises `RecordError` for records without stages."""
        self.a, self.b = _Side(a), _Side(b)
        self._steps = list(self._walk(a, b, names))

    def _walk(self, a: Compilation, b: Compilation, names: tuple[str, str]) -> Iterator[_Step]:
        first = second = None
        for ours, theirs in aligned(a, b):
            run = theirs or ours
            assert run is not None
            if run.selector.partition("#")[0] in CODE_GENERATION:
                return
            first, second = self.a.index(ours, first), self.b.index(theirs, second)
            if first is not None and second is not None:
                yield _Step(run.selector, None if ours and theirs else names[theirs is not None], first, second)

    def partings(self) -> tuple[PassPlace | None, PassPlace | None]:
        """The first pass after which the modules differ, and that from which on their kernels do to the end."""
        first: PassPlace | None = None
        since: PassPlace | None = None
        known: dict[tuple[int, int], tuple[PassPlace | None, PassPlace | None]] = {}
        for step in self._steps:
            key = step.a, step.b
            if key not in known:
                place = self._difference(self.a.stage(step.a), self.b.stage(step.b), step)
                inside = place and self._difference(self.a.kernels(step.a), self.b.kernels(step.b), step)
                known[key] = place, inside
            place, inside = known[key]
            # What one of them alone has run may be made up for by the next pass of the other.
            if not step.only_in:
                first = first or place
            since = None if inside is None else since or inside
        return first, since

    def line_passes(self, sources: Sources) -> dict[Line, str]:
        """For each of the later record's lines whose operations differ to the end, the pass from which on they do."""
        aliases: dict[str, str] = {}
        found: dict[Line, str] = {}
        before = after = -1
        ours: dict[Line, Digest] = {}
        theirs: dict[Line, Digest] = {}
        for step in self._steps:
            if step.a != before:
                before = step.a
                lines = self.a.digests(before, aliases)
                ours = {sources.in_later(line): digest for line, digest in lines.items()}
            if step.b != after:
                after, theirs = step.b, self.b.digests(step.b, aliases)
            for line in ours.keys() | theirs.keys() | found.keys():
                if ours.get(line) == theirs.get(line):
                    found.pop(line, None)
                else:
                    found.setdefault(line, step.selector)
        return found

    def parting_at(self, passes: Mapping[Line, str], line: Line) -> PassPlace:
        """Where a line parts for good, by `passes`. What is different only for a while is left out."""
        step = next(each for each in self._steps if each.selector == passes[line])
        place = self._difference(self.a.kernels(step.a), self.b.kernels(step.b), step, line)
        return place or PassPlace(step.selector, step.only_in, location=f"{line[0]}:{line[1]}")

    def _difference(self, a: _Text, b: _Text, step: _Step, at: Line | None = None) -> PassPlace | None:
        """The first operation that differs, of the line `at` if that is given; `None` where there is none."""
        for line, position in _differing(a.lines, b.lines):
            # Of what is only gone, the line that now stands there says where.
            number = next((each for each in b.places[position:] if each >= 0), None)
            place = None if number is None else self.b.places[number]
            where = place and (place[-1].file, place[-1].line)
            if at is None or where == at:
                location = f"{where[0]}:{where[1]}" if where else None
                return PassPlace(step.selector, step.only_in, b.functions[position], _operation(line), location)
        return None


def _differing(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The lines that differ, of the later text where it has one there, and where that is."""
    if before == after or not after:
        return
    for edit in compare(before, after):
        if edit.tag == "equal":
            continue
        for number in range(edit.after, max(edit.after_end, edit.after + 1)):
            line = before[edit.before] if edit.tag == "delete" else after[number]
            if line[:1] not in ("!", "#"):
                yield line, min(number, len(after) - 1)


_OPERATION = re.compile(r'(?:%[^=]* = )?"?(?P<name>[a-z_]\w*(?:\.\w+)+|\w+)"?')


def _operation(line: str) -> str | None:
    match = _OPERATION.match(line.strip())
    return match["name"] if match else None


_SYMBOL = re.compile(r"@kernel_cutlass_\w+")
_SPACES = re.compile(r"(?<=\S) {2,}")
_HEAD = re.compile(r"( *(?:[\w.]*(?:func|kernel)|gpu\.module|builtin\.module|module)\b[^{]*?) attributes \{.*\} \{$")
"""A function or module, whose attributes each version has others of."""


def _plain(text: str) -> str:
    """A module's text in which what versions only spell otherwise is the same."""
    text = _SYMBOL.sub(lambda match: f"@{short_kernel_name(match[0][1:])}", text)
    return "\n".join(_HEAD.sub(r"\1 {", _SPACES.sub(" ", line)) for line in text.split("\n"))


class _Side:
    """One of the two records."""

    def __init__(self, compilation: Compilation) -> None:
        self._stages = stages_of(compilation)
        self._kernels = {short_kernel_name(each.kernel) for each in compilation.resources}
        self._frames = Frames(self._stages.user_lines)
        self._last: tuple[int, _Text] | None = None
        self._users: list[frozenset[Line]] | None = None

    @property
    def sources(self) -> Mapping[str, str]:
        """The user's files."""
        return self._stages.user_lines.sources

    @property
    def places(self) -> Sequence[Place]:
        """What the places of stages are numbers of."""
        return self._stages.places

    def index(self, run: PassRun | None, before: int | None) -> int | None:
        """The stage that holds the module after a pass, if this record ran it, else that `before`."""
        if run is None or run.state in ("failed", "not run"):
            return before
        return max((each for each in self._stages.indices if each <= run.index), default=None)

    def stage(self, index: int) -> _Text:
        """A stage, its text spelled plainly."""
        if self._last is None or self._last[0] != index:
            stage = self._stages.after(index)
            lines = _plain(stage.text).split("\n")[:-1]
            names: list[str | None] = [None] * len(lines)
            for each in functions(lines):
                names[each.first : each.last + 1] = [short_kernel_name(each.name)] * (each.last + 1 - each.first)
            self._last = index, _Text(lines, stage.places, names)
        return self._last[1]

    def kernels(self, index: int) -> _Text:
        """The same stage, of which only what is inside of the kernels is left, tidied, and what aliases mean."""
        stage = self.stage(index)
        kept = [(number, line) for number, line in enumerate(stage.lines) if line[:1] in ("!", "#")]
        for each in functions(stage.lines):
            # What did not come to machine code tells no names; GPU modules are inside of the module.
            if each.name in self._kernels or (not self._kernels and stage.lines[each.first].startswith("    ")):
                first = each.first + 1
                kept += [(first + number, line) for number, line in tidied(stage.lines[first : each.last + 1])]
        numbers = [number for number, _ in kept]
        return _Text(
            [line for _, line in kept],
            [stage.places[number] for number in numbers],
            [stage.functions[number] for number in numbers],
        )

    def digests(self, index: int, aliases: dict[str, str]) -> dict[Line, Digest]:
        """What each of the user's lines has for operations in the kernels."""
        if self._users is None:
            self._users = [
                frozenset(line for line in self._frames.lines(each) if line[0] in self.sources) for each in self.places
            ]
        kernels = self.kernels(index)
        text = "".join(f"{line}\n" for line in kernels.lines)
        return digests(Stage(index, text, kernels.places), self._users, aliases)
