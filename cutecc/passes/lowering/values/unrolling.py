"""How often loops are to be unrolled, and how long they are then."""

from __future__ import annotations

import re

from cutecc.ir import editing
from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.passes.lowering.values.loops import ROLLED, UNROLLED

HINT = "loop_annotation"
_UNROLL = r"\bunroll = <(?!disable = true)[^>]*\b"
_SHORT = 1_024
"""Operations up to which LLVM unrolls a loop in full that nothing is said about."""
_FULL = re.compile(_UNROLL + "full = true")
_COUNT = re.compile(_UNROLL + r"count = (\d+)")


def has_hint(loop: ir.Operation) -> bool:
    """Whether anything is said about how to unroll a loop."""
    return HINT in loop.attributes


def is_unrolled_in_full(loop: ir.Operation) -> bool:
    """Whether a loop asks for that."""
    return has_hint(loop) and bool(_FULL.search(str(loop.attributes[HINT])))


def turns_in_one(loop: ir.Operation) -> int:
    """How many turns of a loop its hint, `unroll=N`, asks to be one; 0 where nothing says it."""
    found = _COUNT.search(str(loop.attributes[HINT])) if has_hint(loop) else None
    return int(found[1]) if found else 0


def ask_for(loop: ir.Operation, turns: int) -> None:
    """Ask for so many turns of a loop to be one, or for all that it has; 1 leaves it a loop as it is."""
    several = f"#llvm.loop_annotation<unroll = <disable = false, count = {turns} : i32>>"
    text = UNROLLED if turns == known_turns(loop) else several if turns > 1 else ROLLED
    loop.attributes[HINT] = ir.Attribute.parse(text)


def known_turns(loop: ir.Operation) -> int | None:
    """The number of turns of an `scf.for`, if its bounds are constants."""
    begin, end, step = (constant_of(value) for value in list(loop.operands)[:3])
    return None if begin is None or end is None or not step else max(0, -((begin - end) // step))


class Lengths:
    """How many operations loops have, all turns together that are one in the end.

    A loop is learnt after those inside it, which count as what becomes of them.
    """

    def __init__(self) -> None:
        self._loops: dict[int, int] = {}

    def of_turn(self, loop: ir.Operation) -> int:
        """The operations of one turn of a loop, its own included."""
        return 1 + sum(
            self._loops.get(editing.address_of(each.operation)) or self.of_turn(each.operation)
            for region in loop.regions
            for block in region.blocks
            for each in block.operations
        )

    def add(self, loop: ir.Operation, turn: int, together: int) -> None:
        """Learn that so many turns of a loop become one, each of `turn` operations."""
        if together == 1 and not has_hint(loop) and (turns := known_turns(loop) or 1) * turn <= _SHORT:
            together = turns
        self._loops[editing.address_of(loop)] = max(1, together) * turn
