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
from cutecc.report.frames import Frames, Line
from cutecc.report.history import Digest, digests
from cutecc.report.pair import PassRun, aligned
from cutecc.report.stage_text import functions
from cutecc.support.locations import Place
from cutecc.versions.sources import Sources


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

    def parting_of(self, passes: Mapping[Line, str], preferred: Sequence[Line]) -> PassPlace | None:
        """The earliest of the `passes` that lines part with for good, of the `preferred` lines if any of them do.

        What is different only for a while is left out. `None` where no line parts: order or operands differ alone.
        """
        chosen = [line for line in preferred if line in passes] or sorted(passes)
        for step in self._steps:
            for line in chosen:
                if passes[line] == step.selector:
                    place = self._difference(self.a.kernels(step.a), self.b.kernels(step.b), step, line)
                    return place or PassPlace(step.selector, step.only_in, location=f"{line[0]}:{line[1]}")
        return None

    def _difference(self, a: Stage, b: Stage, step: _Step, at: Line | None = None) -> PassPlace | None:
        """The first operation that differs, of the line `at` if that is given; `None` where there is none."""
        for line, place, function in _differing(a, b, self.b.places):
            where = place and (place[-1].file, place[-1].line)
            if at is None or where == at:
                location = f"{where[0]}:{where[1]}" if where else None
                name = function and short_kernel_name(function)
                return PassPlace(step.selector, step.only_in, name, _operation(line), location)
        return None


def _differing(a: Stage, b: Stage, places: Sequence[Place]) -> Iterator[tuple[str, Place | None, str | None]]:
    """The lines of modules that differ, each with its place and its function."""
    before, after = a.text.split("\n")[:-1], b.text.split("\n")[:-1]
    if before == after or not after:
        return
    known = functions(after)
    for edit in compare(before, after):
        if edit.tag == "equal":
            continue
        for number in range(edit.after, max(edit.after_end, edit.after + 1)):
            line = before[edit.before] if edit.tag == "delete" else after[number]
            if line[:1] in ("!", "#"):
                continue
            # Of what is only gone, the line that now stands there says where.
            position = min(number, len(after) - 1)
            place = next((places[each] for each in b.places[position:] if each >= 0), None)
            yield line, place, next((each.name for each in known if each.first <= position <= each.last), None)


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
        self._stage: Stage | None = None
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

    def stage(self, index: int) -> Stage:
        """A stage, its text spelled plainly."""
        if self._stage is None or self._stage.index != index:
            stage = self._stages.after(index)
            self._stage = Stage(index, _plain(stage.text), stage.places)
        return self._stage

    def kernels(self, index: int) -> Stage:
        """The same stage, of which only what is inside of the kernels is left, and what aliases mean."""
        stage = self.stage(index)
        lines = stage.text.split("\n")
        kept = [number for number, line in enumerate(lines) if line[:1] in ("!", "#")]
        for each in functions(lines):
            if each.name in self._kernels:
                kept += range(each.first, each.last + 1)
        text = "".join(f"{lines[number]}\n" for number in kept)
        return Stage(index, text, [stage.places[number] for number in kept])

    def digests(self, index: int, aliases: dict[str, str]) -> dict[Line, Digest]:
        """What each of the user's lines has for operations in the kernels."""
        if self._users is None:
            self._users = [
                frozenset(line for line in self._frames.lines(each) if line[0] in self.sources) for each in self.places
            ]
        return digests(self.kernels(index), self._users, aliases)
