"""Samples on the instructions and lines of kernels: whose each instruction is, the inspector knows."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from cutecc.backend.nvdisasm import disassemble
from cutecc.profiling.samples import KernelSamples, Reasons
from cutecc.record import Artifact, Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import stages_of
from cutecc.report.code import functions_of
from cutecc.report.flow import flow_of
from cutecc.report.frames import in_own_file
from cutecc.report.instruction_mix import classify
from cutecc.report.sass_places import sass_functions
from cutecc.report.stalls import Stall, explain, stall_of
from cutecc.sass import SassFunction
from cutecc.support.locations import Frame, Place, Reason


@dataclass(frozen=True)
class SampledInstruction:
    """An instruction of SASS, and its samples."""

    offset: int
    """Bytes from the function's beginning."""
    text: str
    place: Place | None
    owner: Reason
    """How it is known whose the instruction is."""
    reasons: Reasons
    awaited: tuple[str, ...] = ()
    """The instructions of no fixed latency that bring what it reads."""

    @property
    def samples(self) -> int:
        """Of all reasons."""
        return sum(self.reasons.values())

    def stalls(self, source: str) -> Counter[Stall]:
        """Its samples by what its warp waits for, in words; `source` is the text of its line of Python."""
        found: Counter[Stall] = Counter()
        for reason, count in self.reasons.items():
            found[explain(reason, self.text, awaited=self.awaited, source=source)] += count
        return found


@dataclass
class SampledLine:
    """A line of Python, and the samples of its instructions."""

    file: str | None
    """`None` for what belongs to no line."""
    line: int
    text: str
    """The line itself; empty where the source is not there."""
    instructions: list[SampledInstruction] = field(default_factory=list[SampledInstruction])
    """The most sampled first."""

    @property
    def samples(self) -> int:
        """Of all its instructions."""
        return sum(each.samples for each in self.instructions)

    @cached_property
    def reasons(self) -> Reasons:
        """Samples by reason, the most frequent first."""
        return _sum(self.instructions)

    @cached_property
    def stalls(self) -> list[tuple[Stall, int]]:
        """What warps waited for, in words, with the samples of it; the most frequent first."""
        found: Counter[Stall] = Counter()
        for each in self.instructions:
            found += each.stalls(self.text)
        return found.most_common()


@dataclass
class ProfiledKernel:
    """A kernel, and its samples."""

    samples: KernelSamples
    instructions: list[SampledInstruction]
    """In the order of the code, also those without samples; without any where the code is not known."""
    compilation: Compilation | None
    """Its record; `None` for a kernel that cutecc has not compiled."""
    sources: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The lines of the files that the record has."""

    @property
    def name(self) -> str:
        """As people call it."""
        return short_kernel_name(self.samples.symbol)

    @property
    def total(self) -> int:
        """Its samples."""
        return self.samples.total

    @property
    def has_lines(self) -> bool:
        """Whether any of its instructions has a line."""
        return any(each.place for each in self.instructions)

    @cached_property
    def stalls(self) -> list[tuple[Stall, int]]:
        """What its warps waited for, in words, with the samples of it; the most frequent first."""
        return [(stall_of(reason), count) for reason, count in self.reasons.items()]

    @cached_property
    def reasons(self) -> Reasons:
        """Samples by reason, the most frequent first."""
        found: Counter[str] = Counter()
        for reasons in self.samples.offsets.values():
            found.update(reasons)
        return dict(found.most_common())

    def lines(self) -> list[SampledLine]:
        """Its lines that have samples, the most sampled first."""
        found: dict[tuple[str | None, int], SampledLine] = {}
        for each in self.instructions:
            if each.samples:
                user = each.place[-1] if each.place else None
                key = (user.file, user.line) if user else (None, 0)
                line = found.setdefault(key, SampledLine(*key, self._text(user)))
                line.instructions.append(each)
        for line in found.values():
            line.instructions.sort(key=lambda each: -each.samples)
        return sorted(found.values(), key=lambda each: -each.samples)

    def _text(self, user: Frame | None) -> str:
        if user is None:
            return ""
        lines = self.sources.get(user.file)
        found = linecache.getline(user.file, user.line) if lines is None else "".join(lines[user.line - 1 : user.line])
        return found.strip()


def profiled(samples: KernelSamples, compilation: Compilation | None, cubin: bytes | None) -> ProfiledKernel:
    """A kernel's samples with its code: of its record, else of its cubin, which has lines if it was asked for.

    Raises `ToolError` where the code has to be disassembled and cannot be.
    """
    function, own_file = _function(samples.symbol, compilation, cubin)
    sources: dict[str, list[str]] = {}
    if compilation is not None and compilation.has_stages:
        texts = stages_of(compilation).user_lines.sources
        sources = {file: text.split("\n") for file, text in texts.items()}
    instructions = _instructions(function, samples, own_file) if function else []
    return ProfiledKernel(samples, instructions, compilation, sources)


def _instructions(function: SassFunction, samples: KernelSamples, own_file: str | None) -> list[SampledInstruction]:
    sources = flow_of(function).sources
    texts = [each.text for each in function.instructions]
    return [
        SampledInstruction(
            each.offset,
            each.text,
            None if each.place is None else in_own_file(each.place, own_file),
            each.reason,
            samples.offsets.get(each.offset, {}),
            tuple(texts[source] for source in sources[number] if classify(texts[source]) in _LATE),
        )
        for number, each in enumerate(function.instructions)
    ]


def _with_sass(compilation: Compilation) -> Compilation:
    """The record with its machine code, which is disassembled where nobody asked for it before."""
    cubin = compilation.artifact("cubin")
    if cubin is None or compilation.artifact("sass") is not None:
        return compilation
    files = {**compilation.files, _SASS: disassemble(cubin).encode()}
    return replace(compilation, artifacts=[*compilation.artifacts, Artifact("sass", _SASS)], files=files)


_SASS = "profiled.sass"
_DEBUG_LINE = b".debug_line"
"""The name of a section that says which lines instructions are of."""
_LATE = frozenset(
    {
        *("global load", "shared load", "local load", "generic load", "constant load", "matrix load", "atomic"),
        *("special function", "warp", "barrier and fence", "conversion", "texture and surface", "float 64"),
    }
)
"""What an instruction may wait for with a scoreboard, by `cutecc.report.instruction_mix`."""


def _function(
    symbol: str, compilation: Compilation | None, cubin: bytes | None
) -> tuple[SassFunction | None, str | None]:
    functions: list[SassFunction] = []
    if compilation is not None:
        cubin = compilation.artifact("cubin") if cubin is None else cubin
        functions = functions_of(_with_sass(compilation))
    # Disassembling the hundreds of kernels of a library takes seconds, and says nothing of lines that are not there.
    if not functions and cubin is not None and _DEBUG_LINE in cubin:
        functions = sass_functions(disassemble(cubin))
    found = next((each for each in functions if each.name == symbol), None)
    return found, compilation.own_file if compilation else None


def _sum(instructions: list[SampledInstruction]) -> Reasons:
    found: Counter[str] = Counter()
    for each in instructions:
        found.update(each.reasons)
    return dict(found.most_common())
