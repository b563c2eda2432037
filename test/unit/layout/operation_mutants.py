"""Mutants of an operation: some numbers of its operands are known only to the kernel."""

from __future__ import annotations

import re
from random import Random

from wheel_oracle import Expression, Leaves

# Everything in a type that is not a number of the algebra: what swizzles, `?`, `@`, alignments and element types have.
_PARTS = re.compile(r"S<[^>]*>|\{[^}]*\}|@\d+|align<\d+>|[a-z]+\d+|(?P<number>-?\d+)")

# The operand whose numbers the wheel always wants to know.
_KNOWN = {"tile_to_shape": 2, "local_partition": 1}

_ADDRESS = 4096


def mutant(case: Expression, chance: float, random: Random) -> tuple[Expression, Leaves]:
    """`case` with each number of its operands `?` by `chance`, and the values of its leaves: what stood there."""
    values: list[int] = []

    def hide(part: re.Match[str]) -> str:
        if part["number"] is None or random.random() >= chance:
            return part[0]
        values.append(int(part["number"]))
        return _unknown(values[-1], random)

    operands: list[str | Expression] = []
    for place, operand in enumerate(case.operands):
        assert isinstance(operand, str)
        if operand.startswith("!cute.tiled_"):
            operands.append(operand)
            # Whether the product is added to what there is, which the warpgroup's instruction is told.
            values += [0] if "sm90" in operand else []
            continue
        if operand.startswith("i32 "):
            operands.append("i32")
            values.append(int(operand.removeprefix("i32 ")))
            continue
        if operand.startswith(("!cute.memref", "!cute.ptr")):
            values.append(_ADDRESS)
        operands.append(operand if place == _KNOWN.get(case.operation) else _PARTS.sub(hide, operand))
    return Expression(case.operation, tuple(operands), case.attributes), tuple(values)


def _unknown(value: int, random: Random) -> str:
    known = ["i64"] if random.random() < 0.25 else []
    if value and random.random() < 0.4:
        divisors = [each for each in range(1, abs(value) + 1) if value % each == 0]
        known.append(f"div={random.choice(divisors)}")
    return f"?{{{' '.join(known)}}}" if known else "?"
