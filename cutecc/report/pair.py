"""Two records side by side, as plain data: what they are, their passes, code, resources and instructions.

The command line prints it, `--json` is it, and a page can show it. `a` is the first record and `b` the second; numbers
that compare lines are of lines that only one of them has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeVar

import msgspec

from cutecc.errors import Error, RecordError
from cutecc.ptx.parse import parse_module
from cutecc.record import ArtifactKind, Compilation, KernelResources, Resumed, Step, Versions
from cutecc.record.naming import short_kernel_name
from cutecc.record.pipeline_text import pass_names, selectors_of
from cutecc.record.stages import Stages, UserLines, stages_of
from cutecc.report.comparing import compare, compare_sides, count
from cutecc.report.mapping import mix_of_record
from cutecc.report.pair_remarks import RemarkPair, remark_pairs
from cutecc.report.pair_source import SourcePair, source_pairs
from cutecc.report.ptx_names import ptx_side
from cutecc.report.stage_text import TRACED

PassState = Literal["changed", "unchanged", "unknown", "failed", "before", "input", "not run"]
"""What a pass did. `unknown`: nobody looked. `before`: it ran in the record that this one went on from. `input`: so did
it, and the module after it is what the run began with, as a traced module is. `not run`: the run ended before it."""


class Side(msgspec.Struct, frozen=True):
    """What one of the two records is."""

    record: str
    """The folder or bundle, as the user named it."""
    kernel: str
    target: str
    status: str
    source: str | None
    command: list[str]
    pipeline: str
    """The whole pipeline, of which the record may have run a part."""
    passes: int
    """How many passes the record has run."""
    options: dict[str, str | int | bool]
    versions: Versions
    resumed: Resumed | None
    failure: str | None
    outputs: list[str]
    """The parameters that the kernel writes, as its file says; none where it does not."""


class Lines(msgspec.Struct, frozen=True):
    """How two texts differ."""

    a: int
    """Lines that only the first has."""
    b: int

    def __bool__(self) -> bool:
        return bool(self.a or self.b)


class PassRun(msgspec.Struct, frozen=True):
    """A pass in one of the records."""

    index: int
    """Its position in the whole pipeline, from 1; 0 is the traced module."""
    selector: str
    """What it is called in the whole pipeline."""
    state: PassState
    text: str | None = None
    """With its options; `None` where it did not run."""
    seconds: float | None = None


class PassPair(msgspec.Struct, frozen=True):
    """The same pass in both records, or one that only one of them has, and the modules after it."""

    a: PassRun | None
    b: PassRun | None
    lines: Lines | None
    """How the modules differ; `None` where one of the records has no module here."""

    @property
    def same_options(self) -> bool:
        """Whether the pass has the same options in both, as far as both ran it."""
        texts = {each.text for each in (self.a, self.b) if each and each.text is not None}
        return len(texts) < 2


class Code(msgspec.Struct, frozen=True):
    """The PTX of both."""

    same: bool
    """Whether it is the same, byte for byte."""
    lines: Lines
    """Lines that differ, where names of registers and labels, comments and line information do not count."""
    a: int
    """Lines of such code in the first."""
    b: int


class ResourcePair(msgspec.Struct, frozen=True):
    """What a kernel takes of an SM in both records; `None` where one has no such kernel."""

    kernel: str
    a: KernelResources | None
    b: KernelResources | None


class MixPair(msgspec.Struct, frozen=True):
    """The instructions of a kernel by class, in both records; `None` where one has no such kernel."""

    kernel: str
    a: dict[str, int] | None
    b: dict[str, int] | None


class OutputPair(msgspec.Struct, frozen=True):
    """A tensor after a run of both on the same inputs."""

    name: str
    type: str
    shape: list[int]
    same_bits: bool
    max_absolute_error: float
    """Of the second against the first; infinite, `null` in JSON, where one has NaN and the other a number."""
    max_relative_error: float
    """The largest |x − y| / (|y| + s) for values y of the first, their root mean square s, and x of the second."""
    tolerance: float
    """The largest relative error that counts as equal."""
    allowed: str
    """That, or the steps of its type that an element may be off instead: `1 ulp or 0.0001`."""
    in_bounds: bool
    """Whether all elements are."""

    @property
    def verdict(self) -> Literal["same bits", "in bounds", "differs"]:
        """How the two compare."""
        if self.same_bits:
            return "same bits"
        return "in bounds" if self.in_bounds else "differs"


class RunPair(msgspec.Struct, frozen=True):
    """Both on the same inputs."""

    sizes: dict[str, int]
    seed: int
    outputs: list[OutputPair]
    """Every tensor; none where one of them did not end well."""
    a_problems: list[str]
    """Why the first did not end well, or what the emulator found in it."""
    b_problems: list[str]
    """The same of the second, and where its results are out of the first one's bounds."""

    @property
    def same(self) -> bool:
        """Whether both end well, with the same bits."""
        return not (self.a_problems or self.b_problems) and all(each.same_bits for each in self.outputs)


class Times(msgspec.Struct, frozen=True):
    """Medians of both, in microseconds, taking turns."""

    a: float
    b: float


class Results(msgspec.Struct, frozen=True):
    """What came of running both."""

    device: str
    runs: list[RunPair]
    microseconds: Times | None = None
    """On a GPU, at the first of the sizes."""
    chosen: str | None = None
    """What nobody has given of the values that they ran with, in words."""
    tolerance_from: str = "by type"
    """Who says how far results may be apart: `as given` where the user does, else `A`, the record of the first, or `by
    type` where that does not."""


class Pair(msgspec.Struct, frozen=True):
    """Two records side by side."""

    a: Side
    b: Side
    passes: list[PassPair]
    """In the order of the pipelines; first the traced modules, as a pass with number 0."""
    first_difference: int | None
    """The index in `passes` of the first after which the modules differ; `None` where none do, or none are there."""
    ptx: Code | None
    """`None` where one of the records has none."""
    same_cubin: bool | None
    resources: list[ResourcePair]
    instructions: list[MixPair]
    instructions_of: Literal["SASS", "PTX"] | None
    """What the classes are of: SASS if both have it, else PTX; `None` where one has neither."""
    remarks: list[RemarkPair] = []
    """Those of one alone first, then those whose numbers differ."""
    notes: list[str] = []
    """What could not be compared, and why."""
    results: Results | None = None
    """`None` where they were not run."""

    @property
    def differs(self) -> bool:
        """Whether passes, modules, code, resources or results differ; options, remarks and times do not count."""
        passes = any(not (each.a and each.b and each.same_options) or each.lines for each in self.passes)
        code = (self.ptx is not None and not self.ptx.same) or self.same_cubin is False
        resources = any(each.a != each.b for each in self.resources)
        mixes = any(each.a != each.b for each in self.instructions)
        results = self.results is not None and not all(run.same for run in self.results.runs)
        return passes or code or resources or mixes or results


def pair_of(a: Compilation, b: Compilation, names: tuple[str, str]) -> Pair:
    """Set two records side by side; `names` are what the user calls them.

    What one of them lacks is not compared, and a note says so. Raises `RecordError` for what is damaged.
    """
    notes: list[str] = []
    stages = [_stages(each, name, notes) for each, name in zip((a, b), names, strict=True)]
    passes = list(_passes(a, b, stages[0], stages[1]))
    first = next((index for index, each in enumerate(passes) if each.lines), None)
    instructions, of = _instructions(a, b, notes)
    return Pair(
        _side(a, names[0]),
        _side(b, names[1]),
        passes,
        first,
        compare_ptx(a, b),
        _same_cubin(a, b),
        _resources(a, b),
        instructions,
        of,
        remark_pairs(a, b, _sources(a, b, *stages)),
        notes,
    )


def sources_of(a: Compilation, b: Compilation) -> list[SourcePair]:
    """The Python of both, as far as they hold it. Raises `RecordError` for what is damaged."""
    return _sources(a, b, *(stages_of(each) if each.has_stages else None for each in (a, b)))


def _sources(a: Compilation, b: Compilation, ours: Stages | None, theirs: Stages | None) -> list[SourcePair]:
    lines = [each.user_lines if each else UserLines() for each in (ours, theirs)]
    return source_pairs(lines[0], lines[1], (a.source, b.source))


def _side(compilation: Compilation, name: str) -> Side:
    failure = compilation.failure
    return Side(
        name,
        compilation.name,
        compilation.target,
        compilation.status,
        compilation.source,
        compilation.command,
        compilation.whole_pipeline or compilation.pipeline,
        len(compilation.steps),
        compilation.options,
        compilation.versions,
        compilation.resumed,
        f"{failure.stage}: {failure.message}" if failure else None,
        compilation.workload.outputs if compilation.workload else [],
    )


def _stages(compilation: Compilation, name: str, notes: list[str]) -> Stages | None:
    if not compilation.has_stages:
        notes.append(f"{name} has no modules to compare: compile with --dump-after=all or --report")
        return None
    return stages_of(compilation)


# Passes and modules.

_MOST_PASSES = 2000
"""That are set side by side, which takes time by the square of their number."""
_ASSEMBLER_TIME = re.compile(r"Compile time = [\d.]+ ms")
"""In the assembler's log, which the last modules hold."""


def counterpart(a: Compilation, b: Compilation, index: int) -> int | None:
    """The position in the second record's pipeline of the pass at position `index` of the first one's, if it has it."""
    for ours, theirs in aligned(a, b):
        if ours and ours.index == index:
            return theirs and theirs.index
    return None


def _passes(a: Compilation, b: Compilation, a_stages: Stages | None, b_stages: Stages | None) -> Iterator[PassPair]:
    modules = _Modules(a_stages, b_stages)
    for ours, theirs in aligned(a, b):
        yield PassPair(ours, theirs, modules.lines(ours, theirs) if ours and theirs else None)


def aligned(a: Compilation, b: Compilation) -> Iterator[tuple[PassRun | None, PassRun | None]]:
    """The passes of both in their order, by name, those of one record alone beside nothing."""
    ours, theirs = list(_runs(a)), list(_runs(b))
    names = [[each.selector.partition("#")[0] for each in runs] for runs in (ours, theirs)]
    i = j = 0
    for first, second, size in SequenceMatcher(None, names[0], names[1], autojunk=False).get_matching_blocks():
        yield from ((each, None) for each in ours[i:first])
        yield from ((None, each) for each in theirs[j:second])
        i, j = first + size, second + size
        yield from zip(ours[first:i], theirs[second:j], strict=True)


def _runs(compilation: Compilation) -> Iterator[PassRun]:
    """The traced module and every pass of the whole pipeline, as it went in this record."""
    steps = {step.index: step for step in compilation.steps}
    names = pass_names(compilation.whole_pipeline or compilation.pipeline)
    if max([len(names), *steps]) > _MOST_PASSES:
        raise RecordError(f"the record of {compilation.name} has more than {_MOST_PASSES:,} passes")
    start = min(steps, default=1) - 1
    if steps and max(steps) > len(names):
        # An earlier cutecc did not write down what a run from a dump is a part of.
        names = [steps[index].name if index in steps else "" for index in range(1, max(steps) + 1)]
    yield PassRun(0, TRACED, "before" if start else "input")
    for index, selector in enumerate(selectors_of(names), start=1):
        step = steps.get(index)
        if step:
            yield PassRun(index, selector, _state(step), step.pass_text, step.seconds)
        else:
            yield PassRun(index, selector, "not run" if index > start else "input" if index == start else "before")


def _state(step: Step) -> PassState:
    if step.status == "failed":
        return "failed"
    return "unknown" if step.changed is None else "changed" if step.changed else "unchanged"


class _Modules:
    """Compares the modules of two records, each two once."""

    def __init__(self, a: Stages | None, b: Stages | None) -> None:
        self._stages = (a, b)
        self._known: dict[tuple[int, int], Lines] = {}
        self._texts: dict[tuple[int, int], list[str]] = {}

    def lines(self, a: PassRun, b: PassRun) -> Lines | None:
        """How the modules after a pass differ."""
        first, second = self._index(0, a), self._index(1, b)
        if first is None or second is None:
            return None
        if (first, second) not in self._known:
            texts = self._text(0, first), self._text(1, second)
            differing = (0, 0) if texts[0] == texts[1] else count(compare(*texts))
            self._known[first, second] = Lines(*differing)
        return self._known[first, second]

    def _index(self, side: int, run: PassRun) -> int | None:
        """The number of the stage that holds the module; `None` where there is none."""
        stages = self._stages[side]
        known = stages.indices if stages else []
        if not known or run.index < known[0] or run.state in ("failed", "not run"):
            return None
        return max(index for index in known if index <= run.index)

    def _text(self, side: int, index: int) -> list[str]:
        stages = self._stages[side]
        assert stages is not None
        if (side, index) not in self._texts:
            text = _ASSEMBLER_TIME.sub("Compile time", stages.after(index).text)
            self._texts[side, index] = text.split("\n")[:-1]
        return self._texts[side, index]


# Code.

_NO_CODE = re.compile(r"\s*(?://|\.loc\b|\.file\b|$)")
_COMMENT = re.compile(r"\s*//.*")


def _data(compilation: Compilation, kind: ArtifactKind) -> list[bytes]:
    """The files of a kind that the record has. Raises `RecordError` for one that is not there."""
    return [compilation.content(artifact.file) for artifact in compilation.artifacts if artifact.kind == kind]


def compare_ptx(a: Compilation, b: Compilation, *, names: bool = True) -> Code | None:
    """The PTX of both; `None` where one has none. Without `names`, what kernels are called does not count.

    Raises `RecordError` for a file that is not there.
    """
    ours, theirs = _data(a, "ptx"), _data(b, "ptx")
    if not ours or not theirs:
        return None
    before, after = (
        list(_code_lines(texts, [] if names else [each.kernel for each in record.resources]))
        for texts, record in ((ours, a), (theirs, b))
    )
    differing = (0, 0) if before == after else count(compare_sides(ptx_side(before), ptx_side(after)))
    return Code(ours == theirs, Lines(*differing), len(before), len(after))


def _code_lines(texts: Iterable[bytes], kernels: Sequence[str]) -> Iterator[str]:
    """PTX without line information and comments; `kernels` have numbers for names, in the order in which they come."""
    # One may begin as another does, and those of parameters begin with their kernel's.
    named = re.compile("|".join(map(re.escape, sorted(kernels, key=len, reverse=True))))
    numbers: dict[str, str] = {}
    for text in texts:
        code = text.decode(errors="replace").partition("\n\t.section")[0]
        if kernels:
            code = named.sub(lambda name: numbers.setdefault(name[0], f"kernel{len(numbers)}"), code)
        for line in code.split("\n"):
            if not _NO_CODE.match(line):
                yield _COMMENT.sub("", line)


def _same_cubin(a: Compilation, b: Compilation) -> bool | None:
    ours, theirs = _data(a, "cubin"), _data(b, "cubin")
    return ours == theirs if ours and theirs else None


_Of = TypeVar("_Of")


def _resources(a: Compilation, b: Compilation) -> list[ResourcePair]:
    ours = {each.kernel: each for each in a.resources}
    theirs = {each.kernel: each for each in b.resources}
    return [ResourcePair(*each) for each in _kernels(ours, theirs)]


def _kernels(ours: Mapping[str, _Of], theirs: Mapping[str, _Of]) -> Iterator[tuple[str, _Of | None, _Of | None]]:
    """The kernels of both: a name, and what there is of it in each, `None` where one has none.

    Kernels belong together by symbol, and where a symbol says something about arguments or is numbered otherwise, by
    what the user called them, in their order.
    """
    left = [symbol for symbol in theirs if symbol not in ours]
    for symbol in ours:
        other = symbol if symbol in theirs else ""
        if not other:
            name = short_kernel_name(symbol)
            other = next((each for each in left if short_kernel_name(each) == name), "")
            if other:
                left.remove(other)
        yield short_kernel_name(symbol), ours[symbol], theirs.get(other)
    yield from ((short_kernel_name(each), None, theirs[each]) for each in left)


def _instructions(
    a: Compilation, b: Compilation, notes: list[str]
) -> tuple[list[MixPair], Literal["SASS", "PTX"] | None]:
    """The instructions by class, of SASS if both have it, else of PTX."""
    if _data(a, "sass") and _data(b, "sass"):
        return [MixPair(*each) for each in _kernels(_sass_mix(a), _sass_mix(b))], "SASS"
    ours, theirs = _data(a, "ptx"), _data(b, "ptx")
    if not ours or not theirs:
        return [], None
    try:
        return [MixPair(*each) for each in _kernels(_ptx_mix(ours), _ptx_mix(theirs))], "PTX"
    except Error as failure:
        notes.append(f"the PTX cannot be read: {failure.message}")
        return [], None


def _sass_mix(compilation: Compilation) -> dict[str, dict[str, int]]:
    mix = mix_of_record(compilation, UserLines())
    return {each.kernel: each.classes for each in mix.kernels} if mix else {}


_WITH_SPACE = ("ld", "st", "atom", "red", "cp", "mma", "wgmma", "mbarrier", "cvt")
"""Opcodes whose next word says what they work on."""


def _ptx_mix(texts: Iterable[bytes]) -> dict[str, dict[str, int]]:
    """By function, its instructions by opcode. Raises `Error` for what is no PTX."""
    found: dict[str, dict[str, int]] = {}
    for text in texts:
        for function in parse_module(text.decode(errors="replace")).functions.values():
            if not function.instructions:
                continue
            names = Counter[str]()
            for each in function.instructions:
                words = (each.opcode, *each.modifiers[: each.opcode in _WITH_SPACE])
                names[".".join(words)] += 1
            found[function.name] = dict(names.most_common())
    return found
