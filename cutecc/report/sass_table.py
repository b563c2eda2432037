"""What the page's view of machine code shows beside each instruction, as arrays: chunk `columns:FILE`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from cutecc.record.naming import short_kernel_name
from cutecc.report.annotated_sass import AnnotatedFunction
from cutecc.report.loop_brackets import loop_brackets
from cutecc.sass.effects import effects


class FunctionTable(msgspec.Struct):
    """A function. Lists without another word are by the number of an instruction in it."""

    name: str
    title: str
    """The name for people."""
    registers: int | None
    """That a thread of the kernel has."""
    lines: list[int]
    """The line of each instruction in the listing's text, from 0."""
    live: list[int]
    """How many of the thread's registers hold a value at each."""
    controls: list[int]
    """Indices into `SassTable.control_names`; empty where they are not known."""
    loops: list[int]
    """Indices into `SassTable.loop_names`."""
    written: list[int]
    """How many operands of each, from the first, are written."""
    sources: list[list[int]]
    """Of each, pairs: a register that it reads, as an index into `SassTable.registers`, and how many instructions
    before it stands one that may have written that; behind it for a negative number."""
    blocks: list[int]
    """The first instruction of each basic block."""
    labels: list[tuple[int, str, int]]
    """An instruction, its label, and how many instructions the loop has that begins there, 0 where none does."""
    targets: list[tuple[int, int]]
    """A branch, and an instruction that it may go to."""
    spills: list[list[int]]
    """An instruction that spills or loads again, and those that made the value."""


class SassTable(msgspec.Struct):
    """The functions of a listing of SASS; what many instructions say alike is in the lists of names."""

    control_names: list[str]
    """As `cutecc.sass.control.Control` prints them."""
    loop_names: list[str]
    """What is drawn at the left of an instruction, two characters for each loop around it."""
    registers: list[str]
    """Names, with words of the stack: `R4`, `UP0`, `[R1+0x8]`."""
    functions: list[FunctionTable]


class _Names:
    """Numbers for texts, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        return [*self._numbers]


def sass_table(functions: Iterable[AnnotatedFunction]) -> SassTable:
    """The columns of the functions of one listing."""
    controls, loops, registers = _Names(), _Names(), _Names()
    tables = [_function(each, controls, loops, registers) for each in functions]
    return SassTable(controls.all(), loops.all(), registers.all(), tables)


def _function(annotated: AnnotatedFunction, controls: _Names, loops: _Names, registers: _Names) -> FunctionTable:
    instructions, flow = annotated.function.instructions, annotated.flow
    return FunctionTable(
        name=annotated.function.name,
        title=short_kernel_name(annotated.function.name),
        registers=annotated.registers,
        lines=[each.line for each in instructions],
        live=annotated.liveness.occupied,
        controls=[controls.number(str(each)) for each in annotated.controls or ()],
        loops=[loops.number(each) for each in loop_brackets(flow)],
        written=[effects(each.text).written for each in instructions],
        sources=[[*_sources(annotated, number, registers)] for number in range(len(instructions))],
        blocks=[each.first for each in flow.blocks],
        labels=[(number, label, annotated.loop_at(number) or 0) for number, label in sorted(annotated.labels.items())],
        targets=[(number, target) for number, found in flow.targets.items() for target in found],
        spills=[[number, *spill.values] for number, spill in annotated.spills.items()],
    )


def _sources(annotated: AnnotatedFunction, number: int, registers: _Names) -> Iterator[int]:
    for register, sources in annotated.data.readings[number].items():
        for source in sorted(sources, key=lambda each: (abs(number - each), each)):
            yield from (registers.number(register), number - source)
