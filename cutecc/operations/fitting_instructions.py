"""Which instructions a target has for the types of A and B, the fastest first, and why none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from cutecc.errors import UsageError
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, instruction_type
from cutecc.operations.instruction_set import KINDS, kind_of, memory_type, multiplied_type, why_not
from cutecc.operations.operand import Operand, type_name
from cutecc.operations.words import known_word
from cutecc.target import Target

USUAL_ACCUMULATORS = {"f64": "f64", "i8": "i32", "u8": "i32"}
"""By the type of A; f32 for all others."""
_UNITS: tuple[Unit, ...] = ("wgmma", "tensor_op", "simt")
"""The fastest first."""


def fitting_instructions(
    a: Operand,
    b: Operand,
    *,
    target: str,
    accumulator: str | None = None,
    arithmetic: Arithmetic | None = None,
    unit: Unit | None = None,
) -> list[MathInstruction]:
    """The instructions that a target has for these types: the fastest unit and the best shape first.

    Accumulator and arithmetic, where not given, are the usual ones; `wgmma` is listed once, with an N of 128. Those
    that round f32 to tf32, a third of its digits, only where that is asked for: by operands of type `tf32`, or by a
    unit. Raises `UsageError` when there is none.
    """
    if unit is not None:
        unit = known_word(unit, _UNITS, "unit")  # type: ignore[assignment]
    if arithmetic is not None:
        arithmetic = known_word(arithmetic, get_args(Arithmetic), "arithmetic")  # type: ignore[assignment]
    usual = USUAL_ACCUMULATORS.get(a.dtype, "f32")
    wanted = usual if accumulator is None else instruction_type(type_name(accumulator))
    found = {each: [*_instructions(each, (a, b), wanted, arithmetic, Target.parse(target))] for each in _UNITS}
    units = [unit] if unit else [each for each in _UNITS if not _rounds(each, (a, b), arithmetic)]
    asked = [one for each in units for one in found[each]]
    if not asked:
        where = f"{unit} of {target}" if unit else target
        how = f" with {arithmetic}" if arithmetic else ""
        hints = _hints(target, unit, arithmetic, (a, b), [*filter(found.get, _UNITS)])
        raise UsageError(f"{where} does not multiply {a.dtype} by {b.dtype} into {wanted}{how}", hints=hints)
    return asked


def _multiplied(unit: Unit, operands: tuple[Operand, Operand], arithmetic: Arithmetic | None) -> tuple[str, str]:
    a, b = operands
    return multiplied_type(unit, a.dtype, arithmetic), multiplied_type(unit, b.dtype, arithmetic)


def _rounds(unit: Unit, operands: tuple[Operand, Operand], arithmetic: Arithmetic | None) -> bool:
    """Whether a unit rounds f32 to tf32, and nobody has asked for that."""
    dtypes = tuple(each.dtype for each in operands)
    is_rounded = _multiplied(unit, operands, arithmetic) != dtypes and arithmetic != "multiply_add_fast_f32"
    return is_rounded and "tf32" not in dtypes


def _instructions(
    unit: Unit,
    operands: tuple[Operand, Operand],
    accumulator: str,
    arithmetic: Arithmetic | None,
    target: Target,
) -> Iterator[MathInstruction]:
    """The instructions of one unit of a target that multiply these operands."""
    types = _multiplied(unit, operands, arithmetic)
    kind = kind_of(unit, *types)
    if kind is None or not kind.exists_on(target) or accumulator not in kind.accumulators:
        return
    if (how := arithmetic or kind.arithmetics[0]) in kind.arithmetics:
        for shape in kind.shapes:
            if unit != "wgmma" or shape[1] == 128:
                yield MathInstruction(unit, shape, *types, accumulator, how)


def _hints(
    target: str,
    unit: Unit | None,
    arithmetic: Arithmetic | None,
    operands: tuple[Operand, Operand],
    able: Sequence[Unit],
) -> list[str]:
    """What is multiplied on a target; first, where other units are `able` to do what is asked, why this one is not."""
    hints = [f"on {target} there is {each}" for each in _on_offer(target, unit)]
    kind = unit and kind_of(unit, *_multiplied(unit, operands, arithmetic))
    if kind and arithmetic and able:
        return [why_not(kind, arithmetic), f"{able[0]} of {target} does", *hints]
    return hints


def _on_offer(target: str, unit: Unit | None) -> list[str]:
    """What is multiplied on a target, one line a unit."""
    lines: dict[Unit, list[str]] = {}
    for kind in KINDS:
        if kind.exists_on(Target.parse(target)) and unit in (None, kind.unit):
            types = memory_type(kind.a) if kind.a == kind.b else f"{kind.a} by {kind.b}"
            lines.setdefault(kind.unit, []).append(f"{types} into {' or '.join(kind.accumulators)}")
    return [f"{each} on {', '.join(dict.fromkeys(types))}" for each, types in lines.items()]
