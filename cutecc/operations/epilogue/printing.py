"""An epilogue as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.operations.epilogue.values import ACCUM, Input, Output, Step
from cutecc.support.locations import Frame

if TYPE_CHECKING:
    from cutecc.operations.epilogue.graph import Epilogue


def text(epilogue: Epilogue) -> str:
    """One line for each operand and step, with the place that it comes from.

    gelu: accum f32, in f32
      alpha: scalar f32 = 1.0
      %0 = mul alpha, accum    # kernel.py:12:9
      D: full f16:row:8 = round(%0)
    """
    lines = [(f"{epilogue.name or 'epilogue'}: {ACCUM} {epilogue.accumulator}, in {epilogue.compute}", None)]
    lines += [(f"  {_input(each)}", each.place) for each in epilogue.inputs]
    lines += [(f"  {_step(each)}", each.place) for each in epilogue.steps]
    lines += [(f"  {_output(each)}", each.place) for each in epilogue.outputs]
    width = max(len(line) for line, _ in lines)
    return "\n".join(f"{line:{width}}  # {_place(place)}" if place else line for line, place in lines)


def _input(operand: Input) -> str:
    words = f"{operand.name}: {operand.kind} {_memory(operand)}"
    if operand.kind == "scalar" and operand.in_memory:
        words += " in memory"
    return words if operand.default is None else f"{words} = {operand.default}"


def _step(step: Step) -> str:
    arguments = ", ".join(str(each) for each in step.arguments)
    kind = "" if step.kind == "full" else f" : {step.kind}"
    return f"{step.name} = {step.operation} {arguments}{f', {step.dtype}' if step.dtype else ''}{kind}"


def _output(operand: Output) -> str:
    value = operand.value if operand.reduction == "none" else f"{operand.reduction} {operand.value}"
    return f"{operand.name}: {operand.kind} {_memory(operand)} = {operand.conversion}({value})"


def _memory(operand: Input | Output) -> str:
    return f"{operand.dtype}:{operand.layout}:{operand.alignment}" if operand.kind == "full" else operand.dtype


def _place(place: Frame) -> str:
    return f"{place.file}:{place.line}:{place.column}"
