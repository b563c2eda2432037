"""A SASS function with what can be told of each instruction: its control code, what lives, its loops, spills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.report.code import functions_of
from cutecc.report.instruction_mix import classify
from cutecc.sass import SassFunction
from cutecc.sass.blocks import ControlFlow, control_flow
from cutecc.sass.control import INSTRUCTION_BYTES, Control, controls
from cutecc.sass.liveness import Liveness, liveness
from cutecc.target import Target


@dataclass(frozen=True)
class AnnotatedFunction:
    """Lists are by the number of an instruction in the function."""

    function: SassFunction
    flow: ControlFlow
    liveness: Liveness
    controls: list[Control] | None
    """`None` where there is no cubin, or its target's are not known."""
    spills: frozenset[int]
    """The instructions that store a register to local memory for want of registers, or load it again."""
    labels: dict[int, str]
    """Of the instructions that are branched to, and the first of each subroutine."""
    registers: int | None
    """That a thread of the kernel has; `None` where the record does not say."""


def annotated_functions(compilation: Compilation, code: Mapping[str, bytes]) -> list[AnnotatedFunction]:
    """The functions in the SASS of a record; `code` is the content of its cubin's sections, by function."""
    try:
        target = Target.of_ptx(compilation.target)
    except UsageError:
        target = None
    resources = {each.kernel: each for each in compilation.resources}
    found: list[AnnotatedFunction] = []
    for function in functions_of(compilation):
        flow, used = control_flow(function), resources.get(function.name)
        has_spills = used is not None and bool(used.spill_load_bytes or used.spill_store_bytes)
        found.append(
            AnnotatedFunction(
                function,
                flow,
                liveness(function, flow),
                _controls(function, code.get(function.name), target),
                _spills(function) if has_spills else frozenset(),
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


def _spills(function: SassFunction) -> frozenset[int]:
    return frozenset(
        number
        for number, each in enumerate(function.instructions)
        if classify(each.text, spills=True).startswith("spill")
    )


def _labels(function: SassFunction, flow: ControlFlow) -> dict[int, str]:
    named = {target for targets in flow.targets.values() for target in targets}
    named |= {flow.blocks[entry].first for entry in flow.subroutines}
    return {number: label for label, number in function.labels.items() if number in named}
