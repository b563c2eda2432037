"""Loops that index register tensors are unrolled, where their hints say nothing: registers have no addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.lowering.values.leaves import definition
from cutecc.passes.lowering.values.loops import MOST_UNROLLED
from cutecc.passes.lowering.values.unrolling import (
    Lengths,
    ask_for,
    has_hint,
    is_unrolled_in_full,
    known_turns,
    turns_in_one,
)
from cutecc.passes.registry import register

_MOST_ASKED_FOR = 32_768
"""Operations that a loop may have, all turns together, which is asked to be unrolled in full.

libNVVM stops at 16,384 of its instructions, which is about as much once they are simplified; LLVM 22 does not stop.
"""

_SHORT_TURN = 256
"""Operations of a turn up to which ptxas may unroll a loop that stays. A stencil that moves its window is 1.6 times as
fast then on an H200."""


@register
@dataclass(frozen=True)
class UnrollRegisterLoops(ModulePass):
    """Ask for loops to be unrolled in full whose counter decides which element of a register tensor is accessed.

    Of a known number of turns, and without a hint of the user's. A loop is as long as all its turns, with what becomes
    of the loops inside: one that would be too long stays a loop, and so do those that index only what such a loop
    indexes too, which is an array in local memory then. A long loop that stays around unrolled ones is to stay in ptxas
    too, which would unroll it. Where a hint asks for more than is of use, it asks for as many turns in one as fit and
    divide their number.
    """

    name: ClassVar[str] = "unroll-register-loops"

    def run(self, module: ir.Module) -> None:
        for _, function in device_functions(module):
            loops = [_Loop.of(each) for each in walk(function, "scf.for", inside_out=True)]
            in_memory = {array for each in _decided(loops) if each.stays for array in each.loop.arrays}
            asked = {each.loop.operation: each.asked for each in _decided(loops, in_memory) if each.asked}
            for operation in limited(list(asked)):
                ask_for(operation, asked[operation])


@dataclass(frozen=True)
class _Loop:
    operation: ir.Operation
    turns: int | None
    """How many it has, where that is known."""
    arrays: frozenset[int]
    """The arrays of registers that its counter indexes."""

    @classmethod
    def of(cls, operation: ir.Operation) -> _Loop:
        return cls(operation, known_turns(operation), frozenset(_indexed(operation)))


@dataclass(frozen=True)
class _Decision:
    loop: _Loop
    turn: int
    """The operations of a turn, with what becomes of the loops inside."""
    together: int
    """How many turns become one."""

    @property
    def stays(self) -> bool:
        """Whether there is a loop afterwards."""
        return self.together != self.loop.turns

    @property
    def asked(self) -> int | None:
        """How many turns the loop is to be asked to make one, if its hint does not say so."""
        operation, turns = self.loop.operation, self.loop.turns or 0
        if has_hint(operation):
            return self.together if self.stays and turns and is_unrolled_in_full(operation) else None
        holds_unrolled = self.turn > sum(1 for _ in walk(operation))
        if turns > 1 and (not self.stays or (holds_unrolled and self.turn > _SHORT_TURN)):
            return self.together
        return None


def _decided(loops: Sequence[_Loop], in_memory: AbstractSet[int] = frozenset()) -> Iterator[_Decision]:
    """What becomes of each loop, given inside out, when the arrays `in_memory` stay there whatever is unrolled."""
    lengths = Lengths()
    for loop in loops:
        turn = lengths.of_turn(loop.operation)
        decision = _Decision(loop, turn, _together(loop, turn, in_memory))
        lengths.add(loop.operation, turn, decision.together)
        yield decision


def _together(loop: _Loop, turn: int, in_memory: AbstractSet[int]) -> int:
    """How many turns, each of `turn` operations, become one."""
    turns = loop.turns or 1
    if is_unrolled_in_full(loop.operation):
        most = max(1, _MOST_ASKED_FOR // turn)
        return turns if turns <= most else max(count for count in range(1, most + 1) if turns % count == 0)
    if has_hint(loop.operation):
        return max(1, turns_in_one(loop.operation))
    return turns if turns * turn <= MOST_UNROLLED and loop.arrays - in_memory else 1


def _indexed(loop: ir.Operation) -> Iterator[int]:
    """The arrays of registers into which an index follows from the loop's counter."""
    body = loop.regions[0].blocks[0]
    pending: list[ir.Value] = [body.arguments[0]]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        for use in value.uses:
            user = use.owner.operation
            if editing.address_of(user) in seen:
                continue
            if user.name == "llvm.getelementptr":
                if value != user.operands[0] and (array := _array(user.operands[0])) is not None:
                    yield editing.address_of(array)
            elif not len(user.regions):
                seen.add(editing.address_of(user))
                pending += user.results


def _array(pointer: ir.Value) -> ir.Operation | None:
    """The array of registers that a pointer leads into."""
    made = definition(pointer)
    while made is not None and made.name == "llvm.getelementptr":
        made = definition(made.operands[0])
    return made if made is not None and made.name == "llvm.alloca" else None
