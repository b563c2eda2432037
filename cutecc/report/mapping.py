"""Which line of the user's each instruction of a record belongs to, and how many belong to one."""

from __future__ import annotations

import ast
from collections import Counter

import msgspec

from cutecc.record import Compilation
from cutecc.record.compilation import KernelResources
from cutecc.record.stages import UserLines
from cutecc.report.code import Code
from cutecc.report.frames import in_own_file
from cutecc.report.instruction_mix import classify
from cutecc.report.local_memory import LocalMemory, SpilledValue, local_memory
from cutecc.report.stage_text import functions
from cutecc.sass import SassFunction
from cutecc.support.locations import REASONS, SURE, Frame


class LineMix(msgspec.Struct):
    """The instructions of one line."""

    file: str
    line: int
    classes: dict[str, int]


class SpillingLine(msgspec.Struct):
    """The accesses of local memory that are one line's, for registers that spill."""

    file: str
    line: int
    stores: int
    loads: int


class KernelMix(msgspec.Struct):
    """The instructions of one kernel."""

    kernel: str
    instructions: int
    """SASS instructions, without the padding behind the last one."""
    mapped: int
    """Of these, those that are known to be of a line (`SURE`; without LLVM IR, by the line table) which is a statement
    in a kernel or a function it calls: no `def`, decorator or launch."""
    reasons: dict[str, int]
    """How many instructions are known to be whose in which way, by `REASONS`."""
    own: int
    """Of the mapped ones, those whose line is in a file of the user's, not a library's."""
    classes: dict[str, int]
    lines: list[LineMix]
    """By line of the user's, as places name it; in the order of the source."""
    spilled: list[SpilledValue] = []
    """What spills, by what made it, the most bytes first."""
    spilling: list[SpillingLine] = []
    """The lines of the loads and stores, the most first."""


class Mix(msgspec.Struct):
    """What kinds of instructions a record's kernels have, and where they come from."""

    line_info: bool
    """Whether the code was compiled with line information."""
    kernels: list[KernelMix]


def share_text(mapped: int, instructions: int) -> str:
    """How much of the code has a line, in words."""
    share = mapped / instructions
    return f"{share:.1%} of {instructions:,} SASS instructions belong to a line of the source"


def mix_of_record(compilation: Compilation, user_lines: UserLines, code: Code | None = None) -> Mix | None:
    """The instructions of a record by class and line; `None` when it has no SASS. `code` is the record's, if known."""
    functions = (code or Code(compilation)).functions
    if not functions:
        return None
    statements = Statements(user_lines)
    resources = {each.kernel: each for each in compilation.resources}
    kernels = [_kernel_mix(each, statements, resources.get(each.name), compilation.own_file) for each in functions]
    memory = local_memory(compilation, functions)
    for each in kernels:
        if each.kernel in memory:
            _add_spills(each, memory[each.kernel])
    return Mix(any(kernel.lines for kernel in kernels), kernels)


def _add_spills(kernel: KernelMix, memory: LocalMemory) -> None:
    kernel.spilled = memory.values
    lines = sorted(memory.spills.items(), key=lambda each: -each[1].bytes)
    kernel.spilling = [SpillingLine(*line, each.stores, each.loads) for line, each in lines if line]


def _kernel_mix(
    function: SassFunction, statements: Statements, resources: KernelResources | None, own_file: str | None
) -> KernelMix:
    spills = resources is not None and bool(resources.spill_load_bytes or resources.spill_store_bytes)
    classes: Counter[str] = Counter()
    lines: dict[tuple[str, int], Counter[str]] = {}
    mapped = own = 0
    reasons = Counter(each.reason for each in function.instructions)
    # Without LLVM IR, nothing is known beside the line table.
    counted = SURE if any(reasons[each] for each in SURE) else REASONS
    for each in function.instructions:
        kind = classify(each.text, spills=spills)
        classes[kind] += 1
        if each.place is not None:
            user = in_own_file(each.place, own_file)[-1]
            lines.setdefault((user.file, user.line), Counter())[kind] += 1
            if each.reason in counted and statements.holds(user):
                mapped += 1
                own += not statements.is_library(user)
    return KernelMix(
        function.name,
        len(function.instructions),
        mapped,
        {reason: reasons[reason] for reason in REASONS},
        own,
        dict(classes.most_common()),
        [LineMix(file, line, dict(lines[file, line].most_common())) for file, line in sorted(lines)],
    )


class Statements:
    """The lines that are statements of kernels and of functions that they may call."""

    def __init__(self, lines: UserLines) -> None:
        self._sources = lines.sources
        self._library = frozenset(lines.library)
        self._lines: dict[str, frozenset[int]] = {}

    def holds(self, place: Frame) -> bool:
        """Whether the line of `place` is one of them; that of a file whose source is not known is none."""
        if place.file not in self._lines:
            lines_of = operation_lines if place.file.endswith(".mlir") else statement_lines
            self._lines[place.file] = lines_of(self._sources.get(place.file, ""))
        return place.line in self._lines[place.file]

    def is_library(self, place: Frame) -> bool:
        """Whether the file of `place` is of an installed package or of cutecc."""
        return place.file in self._library


def operation_lines(module: str) -> frozenset[int]:
    """The lines, from 1, inside of the functions of a module's text."""
    found = functions(module.split("\n"))
    return frozenset(line for each in found for line in range(each.first + 2, each.last + 1))


def statement_lines(source: str) -> frozenset[int]:
    """The lines, from 1, of the statements inside of functions of a Python source; none of what does not parse.

    Not those of a `def` with its decorators and its docstring, nor of a function that launches a kernel.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.update(_span(node.body))
    # Outer functions come first, so that what is inside of them has the last word.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.difference_update(_span(node))
            if not _launches(node):
                found.update(_body(node))
        elif isinstance(node, ast.ClassDef):
            found.difference_update(_span(node))
    return frozenset(found)


def _span(node: ast.stmt | ast.expr) -> range:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    first, *rest = node.body
    if ast.get_docstring(node, clean=False) is None:
        start = first.lineno
    else:
        start = rest[0].lineno if rest else (node.end_lineno or node.lineno) + 1
    # A body on the line of its `def` is not told from it.
    return range(max(start, node.lineno + 1), (node.end_lineno or node.lineno) + 1)


def _launches(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function itself, not one inside of it, launches a kernel."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "launch":
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False
