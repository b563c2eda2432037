"""Registers that are kept on the stack for want of registers, and what value each of them holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cutecc.report.flow import Flow
from cutecc.report.instruction_mix import classify
from cutecc.sass import SassFunction
from cutecc.sass.effects import effects
from cutecc.sass.stack import moved


@dataclass(frozen=True)
class Spill:
    """An instruction that stores registers to the stack, or loads them again."""

    is_store: bool
    registers: tuple[str, ...]
    values: tuple[int, ...]
    """The instructions that may have made what is stored or loaded, none of them a spill."""


def spills_of(function: SassFunction, flow: Flow, *, has_spills: bool) -> dict[int, Spill]:
    """The spills of a function, by instruction; `flow` is with the stack.

    They are those that nvdisasm marks. Where it marks none, and the function is known to have some, they are all
    accesses of fixed places of the stack.
    """
    instructions = function.instructions
    numbers = [number for number, each in enumerate(instructions) if each.is_spill]
    if not numbers and has_spills:
        numbers = [
            number for number, each in enumerate(instructions) if classify(each.text, spills=True).startswith("spill")
        ]
    stored = {number: frozenset(moved(effects(instructions[number].text))) for number in numbers}
    return {
        number: Spill(
            "STL" in effects(instructions[number].text).opcode,
            tuple(moved(effects(instructions[number].text))),
            _values(number, stored, flow),
        )
        for number in numbers
    }


def _values(number: int, spills: Mapping[int, Collection[str]], flow: Flow) -> tuple[int, ...]:
    """What made the value that a spill moves, through whatever other spills it came."""
    found, seen, waiting = set[int](), {number}, [number]
    while waiting:
        spill = waiting.pop()
        for register, sources in flow.readings[spill].items():
            if register.startswith("[") or register in spills[spill]:
                found |= {each for each in sources if each not in spills}
                more = {each for each in sources if each in spills} - seen
                seen |= more
                waiting += more
    return tuple(sorted(found))
