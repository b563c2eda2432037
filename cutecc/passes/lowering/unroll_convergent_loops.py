"""Loops with instructions that threads execute together are unrolled here, as often as they are asked to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.building import before
from cutecc.ir.mlir import arith, ir
from cutecc.ir.names import matcher
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.lowering.values.integers import (
    Predicate,
    compare,
    computed,
    constant_of_type,
    without_overflow,
)
from cutecc.passes.lowering.values.loops import MOST_UNROLLED, ROLLED, carrying_loop, write_copies
from cutecc.passes.lowering.values.unrolling import HINT, turns_in_one
from cutecc.passes.registry import register

_is_convergent = matcher(("nvvm.*", "llvm.inline_asm", "llvm.call", "llvm.call_intrinsic"))
_reads_register = matcher(("nvvm.read.ptx.sreg.*",))


@register
@dataclass(frozen=True)
class UnrollConvergentLoops(ModulePass):
    """Unroll loops that have `unroll=N` and convergent operations: N turns in one, and another loop for the rest.

    LLVM does so for all other loops. Of these it leaves each as it is whose number of turns is no known multiple of N,
    for it takes no branch that could part threads in between.
    """

    name: ClassVar[str] = "unroll-convergent-loops"

    def run(self, module: ir.Module) -> None:
        for _, function in device_functions(module):
            for loop in limited(walk(function, "scf.for", inside_out=True)):
                count = turns_in_one(loop)
                if count > 1 and _converges(loop) and count * sum(1 for _ in walk(loop)) <= MOST_UNROLLED:
                    with before(loop):
                        editing.replace(loop, _unrolled(loop, count))


def _converges(loop: ir.Operation) -> bool:
    return any(_is_convergent(each.name) and not _reads_register(each.name) for each in walk(loop))


def _unrolled(loop: ir.Operation, count: int) -> Sequence[ir.Value]:
    """Write both loops; get what they result in."""
    begin, end, step, *initial = list(loop.operands)
    block = loop.regions[0].blocks[0]
    counter, *arguments = list(block.arguments)
    *body, last = [view.operation for view in block.operations]

    def turn(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        values: dict[ir.Value, ir.Value] = {counter: number, **dict(zip(arguments, carried, strict=True))}
        write_copies(body, values)
        return [values.get(each, each) for each in last.operands]

    def turns(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        carried = turn(number, carried)
        for _ in range(count - 1):
            # It stays below the end.
            number = computed("arith.addi", number, step, attributes=without_overflow())
            carried = turn(number, carried)
        return list(carried)

    rolled = {HINT: ir.Attribute.parse(ROLLED)}
    middle = _middle(begin, end, step, count)
    steps = computed("arith.muli", step, constant_of_type(count, step.type))
    carried = carrying_loop([begin, middle, steps], initial, turns, rolled)
    return carrying_loop([middle, end, step], carried, turn, rolled)


def _middle(begin: ir.Value, end: ir.Value, step: ir.Value, count: int) -> ir.Value:
    """Where the rest begins that is no `count` turns: the end where there is none, so that no number overflows."""

    def number(value: int) -> ir.Value:
        return constant_of_type(value, begin.type)

    between = computed("arith.subi", computed("arith.subi", end, begin), number(1))
    # A loop without a turn may have any step.
    before_last = computed("arith.divui", between, computed("arith.maxui", step, number(1)))
    turns = computed("arith.addi", before_last, number(1))
    rest = computed("arith.remui", turns, number(count))
    whole = computed("arith.muli", computed("arith.subi", turns, rest), step)
    has_rest = computed(
        "arith.andi",
        compare(Predicate.LESS, begin, end),
        compare(Predicate.NOT_EQUAL, rest, number(0)),
    )
    return arith.select(has_rest, computed("arith.addi", begin, whole), end)
