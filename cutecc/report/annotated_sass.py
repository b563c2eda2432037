"""A SASS function with what can be told of each instruction: its control code, what lives, its loops, spills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.report.code import functions_of
from cutecc.report.flow import Flow, flow_of
from cutecc.report.spills import Spill, spills_of
from cutecc.sass import SassFunction
from cutecc.sass.blocks import ControlFlow, control_flow
from cutecc.sass.control import INSTRUCTION_BYTES, Control, controls
from cutecc.sass.cubin import code_sections
from cutecc.sass.liveness import Liveness, liveness
from cutecc.target import Target


@dataclass(frozen=True)
class AnnotatedFunction:
    """Lists are by the number of an instruction in the function."""

    function: SassFunction
    flow: ControlFlow
    data: Flow
    """With the words of the stack."""
    liveness: Liveness
    controls: list[Control] | None
    """`None` where there is no cubin, or its target's are not known."""
    spills: dict[int, Spill]
    """The instructions that store a register to local memory for want of registers, or load it again."""
    labels: dict[int, str]
    """Of the instructions that are branched to, and the first of each subroutine."""
    registers: int | None
    """That a thread of the kernel has; `None` where the record does not say."""

    def loop_at(self, number: int) -> int | None:
        """How many instructions are in the loop that begins with an instruction; `None` where none does."""
        blocks = self.flow.blocks
        for loop in self.flow.loops:
            if blocks[loop.header].first == number:
                return sum(blocks[each].end - blocks[each].first for each in loop.blocks)
        return None


def annotated_code(
    compilation: Compilation, functions: Iterable[SassFunction] | None = None
) -> list[AnnotatedFunction]:
    """The functions in the SASS of a record, with the control codes of its cubin. Raises `ToolError` for a bad one.

    `functions` are those, with their owners, where they were read already.
    """
    code: dict[str, bytes] = {}
    for artifact in compilation.artifacts:
        if artifact.kind == "cubin" and artifact.file in compilation.files:
            code |= code_sections(compilation.files[artifact.file])
    return annotated_functions(compilation, code, functions)


def annotated_functions(
    compilation: Compilation, code: Mapping[str, bytes], functions: Iterable[SassFunction] | None = None
) -> list[AnnotatedFunction]:
    """The functions in the SASS of a record; `code` is the content of its cubin's sections, by function."""
    try:
        target = Target.of_ptx(compilation.target)
    except UsageError:
        target = None
    resources = {each.kernel: each for each in compilation.resources}
    found: list[AnnotatedFunction] = []
    for function in functions_of(compilation) if functions is None else functions:
        flow, used = control_flow(function), resources.get(function.name)
        data = flow_of(function, flow, stack=True)
        has_spills = used is not None and bool(used.spill_load_bytes or used.spill_store_bytes)
        found.append(
            AnnotatedFunction(
                function,
                flow,
                data,
                liveness(function, flow),
                _controls(function, code.get(function.name), target),
                spills_of(function, data, has_spills=has_spills),
                _labels(function, flow),
                used.registers if used else None,
            )
        )
    return found


def _controls(function: SassFunction, code: bytes | None, target: Target | None) -> list[Control] | None:
    if code is None or target is None or (found := controls(code, target)) is None:
        return None
    numbers = [each.offset // INSTRUCTION_BYTES for each in function.instructions]
    return [found[number] for number in numbers] if max(numbers, default=0) < len(found) else None


def _labels(function: SassFunction, flow: ControlFlow) -> dict[int, str]:
    named = {target for targets in flow.targets.values() for target in targets}
    named |= {flow.blocks[entry].first for entry in flow.subroutines}
    return {number: label for label, number in function.labels.items() if number in named}
