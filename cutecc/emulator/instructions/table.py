"""The table of instructions: each row is a pattern of forms, and what makes a step of an instruction of that form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutecc.emulator.instructions.form import Form, compile_pattern

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes

Step = Callable[["Gang", "Lanes"], "Waiting | None"]
"""Executes one instruction for some threads of a gang, at least one. The guard has been applied."""
Build = Callable[["Operation"], Step]
Function = Callable[..., Any]
"""Of a pure instruction: operands → result, or a tuple of results. Operands are arrays `(warps, 32)`, or scalars of the
operand's type where the instruction has a constant; of braces, a tuple of them. Operands must not be changed in place.
A result must have the shape `(warps, 32)` unless all operands are scalars; its dtype is that of the result's type."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    pattern: str
    expression: re.Pattern[str]
    build: Build


TABLE: dict[str, list[Row]] = {}
"""Rows by opcode; the first that fits counts."""


def instruction(*patterns: str) -> Callable[[Build], Build]:
    """Make the function below build the steps of these forms."""

    def register(build: Build) -> Build:
        for pattern in patterns:
            opcode, expression = compile_pattern(pattern)
            TABLE.setdefault(opcode, []).append(Row(pattern, expression, build))
        return build

    return register


def find(form: Form) -> Build | None:
    """What builds the step of an instruction of this form; `None` when the emulator does not know it."""
    text = "".join(f".{modifier}" for modifier in form.modifiers)
    return next((row.build for row in TABLE.get(form.opcode, ()) if row.expression.fullmatch(text)), None)
