"""Loops that index register tensors are unrolled, where their hints say nothing: registers have no addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.limits import limited
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.lowering.values.leaves import definition
from cutecc.passes.lowering.values.loops import MOST_UNROLLED, UNROLLED
from cutecc.passes.registry import register

_HINT = "loop_annotation"


@register
@dataclass(frozen=True)
class UnrollRegisterLoops(ModulePass):
    """Ask for loops to be unrolled in full whose counter decides which element of a register tensor is accessed.

    Of a known number of turns, and without a hint of the user's. What stays in a loop with such an index is an array in
    local memory.
    """

    name: ClassVar[str] = "unroll-register-loops"

    def run(self, module: ir.Module) -> None:
        for _, function in device_functions(module):
            for loop in limited(walk(function, "scf.for")):
                if _HINT not in loop.attributes and _is_short(loop) and _indexes_registers(loop):
                    loop.attributes[_HINT] = ir.Attribute.parse(UNROLLED)


def _is_short(loop: ir.Operation) -> bool:
    """Whether the number of turns is known, and all of them together have not too many operations."""
    begin, end, step = (constant_of(value) for value in list(loop.operands)[:3])
    if begin is None or end is None or not step:
        return False
    turns = max(0, -((begin - end) // step))
    return turns > 1 and turns * sum(1 for _ in walk(loop)) <= MOST_UNROLLED


def _indexes_registers(loop: ir.Operation) -> bool:
    """Whether an index into an array of registers follows from the loop's counter."""
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
                if value != user.operands[0] and _is_array(user.operands[0]):
                    return True
            elif not len(user.regions):
                seen.add(editing.address_of(user))
                pending += user.results
    return False


def _is_array(pointer: ir.Value) -> bool:
    """Whether a pointer leads into an array of registers."""
    made = definition(pointer)
    while made is not None and made.name == "llvm.getelementptr":
        made = definition(made.operands[0])
    return made is not None and made.name == "llvm.alloca"
