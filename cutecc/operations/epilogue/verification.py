"""What every epilogue keeps to, whether a function, a rewrite or a text made it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.values import (
    ACCUM,
    ACCUMULATORS,
    ARITY,
    INFINITIES,
    Input,
    Kind,
    Operation,
    Output,
    Step,
    is_float,
)
from cutecc.operations.operand import OPERAND_TYPES

if TYPE_CHECKING:
    from cutecc.operations.epilogue.graph import Epilogue


def joined(kinds: Iterable[Kind]) -> Kind:
    """The shape of what is computed element by element from values of these shapes."""
    found = set(kinds) - {"scalar"}
    if not found:
        return "scalar"
    return found.pop() if len(found) == 1 else "full"


def compute_type(accumulator: str, steps: Sequence[Step], outputs: Sequence[Output]) -> str:
    """The type that an epilogue computes in: that of integers, where it only converts them."""
    if accumulator == "i32":
        return "f32" if steps or any(each.reduction != "none" for each in outputs) else "i32"
    return "f64" if accumulator == "f64" else "f32"


def verify(epilogue: Epilogue) -> None:
    """Raise `EpilogueError` unless each reference is to something earlier, and kinds and types fit."""
    if epilogue.accumulator not in ACCUMULATORS:
        _refuse(f"there are no accumulators of type {epilogue.accumulator}", f"types: {', '.join(ACCUMULATORS)}")
    if epilogue.compute != (expected := compute_type(epilogue.accumulator, epilogue.steps, epilogue.outputs)):
        _refuse(f"{epilogue.accumulator} accumulators are computed with in {expected}, not in {epilogue.compute}")
    kinds: dict[str, Kind] = {ACCUM: "full"}
    conditions: set[str] = set()
    names = {ACCUM, *INFINITIES}
    for operand in epilogue.operands:
        if operand.name in names or not re.fullmatch(r"[^\W\d]\w*", operand.name):
            _refuse(f"an operand cannot be called {operand.name}", "names are identifiers, each for one operand")
        names.add(operand.name)
        _verify_operand(operand)
    for operand in epilogue.inputs:
        kinds[operand.name] = operand.kind
    for index, step in enumerate(epilogue.steps):
        if step.name != f"%{index}":
            _refuse(f"step {index} is called {step.name}, not %{index}")
        _verify_step(step, kinds, conditions)
        kinds[step.name] = step.kind
        if step.is_condition:
            conditions.add(step.name)
    if not epilogue.outputs:
        _refuse("an epilogue without results")
    for output in epilogue.outputs:
        if kinds.get(output.value) != "full" or output.value in conditions:
            _refuse(f"the output {output.name} is of {output.value}, which is no number for each element")


def _verify_operand(operand: Input | Output) -> None:
    name = operand.name
    if operand.dtype not in OPERAND_TYPES:
        _refuse(f"{name} cannot be of type {operand.dtype}", f"types: {', '.join(OPERAND_TYPES)}")
    if operand.layout == "column" and operand.kind != "full":
        _refuse(f"{name} has a layout, but is no full operand")
    if not 1 <= operand.alignment <= 128 or operand.alignment & (operand.alignment - 1):
        _refuse(f"{name} has an alignment of {operand.alignment} elements", "powers of two from 1 to 128")
    if isinstance(operand, Output):
        _verify_output(operand)
    else:
        _verify_input(operand)


def _verify_output(operand: Output) -> None:
    name = operand.name
    if (operand.reduction == "none") != (operand.kind == "full"):
        _refuse(f"the output {name} is {operand.kind} with the reduction {operand.reduction}")
    conversions = {True: ("round", "clamp"), False: ("clamp", "fast_clamp")}[is_float(operand.dtype)]
    if operand.conversion not in conversions or (operand.conversion == "fast_clamp" and operand.dtype == "i32"):
        _refuse(f"the output {name} of type {operand.dtype} cannot be converted by {operand.conversion}")


def _verify_input(operand: Input) -> None:
    name = operand.name
    if operand.kind != "scalar" and not operand.in_memory:
        _refuse(f"{name} is {operand.kind}, and not in memory")
    if operand.default is not None and (operand.in_memory or not math.isfinite(operand.default)):
        _refuse(f"{name} cannot have {operand.default} as its default", "only numbers of a launch have one, finite")


def takes_condition(operation: Operation, index: int) -> bool:
    """Whether the argument of this index is true or false, not a number."""
    return operation in ("and", "or", "not") or (operation == "where" and index == 0)


def _verify_step(step: Step, kinds: dict[str, Kind], conditions: set[str]) -> None:
    if len(step.arguments) != ARITY[step.operation]:
        _refuse(f"{step.name}: {step.operation} takes {ARITY[step.operation]} arguments, not {len(step.arguments)}")
    if (step.dtype in OPERAND_TYPES) != (step.operation == "to") or (step.dtype and step.dtype not in OPERAND_TYPES):
        _refuse(f"{step.name}: {step.operation} of type {step.dtype or 'none'}")
    found: list[Kind] = []
    for index, argument in enumerate(step.arguments):
        if isinstance(argument, str):
            if argument not in kinds and argument not in INFINITIES:
                _refuse(f"{step.name} refers to {argument}, which is nothing before it")
            found.append(kinds.get(argument, "scalar"))
        elif not math.isfinite(argument):
            _refuse(f"{step.name} has the constant {argument}", "infinities are written 'inf' and '-inf'")
        wants_condition = takes_condition(step.operation, index)
        if (argument in conditions) != wants_condition:
            _refuse(f"{step.name}: {step.operation} {'needs' if wants_condition else 'cannot take'} a condition there")
    if step.kind != joined(found):
        _refuse(f"{step.name} is {joined(found)}, not {step.kind}")


def _refuse(message: str, *hints: str) -> NoReturn:
    raise EpilogueError(message, hints=list(hints))
