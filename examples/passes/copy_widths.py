"""Passes about how many bits copies move at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import cute, ir
from cutecc.ir.types import CopyAtom, MemRef, TiledCopy, to_type, view
from cutecc.layout import Layout, coalesce, divisibility, leaves
from cutecc.passes import ModulePass, Rewriter, error, note, register, remark, rewrite, rewrites, walk, warning


@dataclass(frozen=True)
class Width:
    """How wide the accesses of a copy are."""

    atom: CopyAtom
    bits: int
    """What each access moves."""
    possible: int
    """What it could move, for all that is known of both tensors."""


def width_of(copy: ir.Operation) -> Width | None:
    """The width of a `cute.copy`; `None` where the instruction or a predicate leaves no choice."""
    match [view(operand.type) for operand in copy.operands]:
        case [
            (CopyAtom("universal_copy") as atom) | TiledCopy(CopyAtom("universal_copy") as atom),
            MemRef() as source,
            MemRef() as destination,
        ]:
            possible = min(possible_bits(source), possible_bits(destination))
            # Without bits of its own, the atom takes all that are possible.
            return Width(atom, atom.parameters.get("copy_bits", possible), possible)
        case _:
            return None


def possible_bits(tensor: MemRef) -> int:
    """Bits of the widest accesses that a tensor can be cut into, at most 128."""
    match tensor:
        case MemRef(layout=Layout() as layout, alignment=int(alignment), swizzle=None):
            pass
        case _:
            return tensor.element.bits
    # An access stays inside of the first mode, whose modes may continue each other.
    first = coalesce(layout[0])
    (size, *_), (stride, *steps) = leaves(first.shape), leaves(first.stride)
    if stride != 1:
        return tensor.element.bits
    # No step to another access may lead to an address that is less aligned.
    for mode in range(1, layout.rank):
        steps += leaves(layout[mode].stride)
    elements = math.gcd(*map(divisibility, [size, *steps]))
    return math.gcd(128, 8 * alignment, tensor.element.bits * elements)


@register
@dataclass(frozen=True)
class CheckCopies(ModulePass):
    """Warn of copies that could move more bits at a time."""

    name: ClassVar[str] = "check-copies"

    least: int = 0
    """Bits that every copy has to move at a time; one that moves fewer is an error."""

    def run(self, module: ir.Module) -> None:
        for copy in walk(module, "cute.copy"):
            width = width_of(copy)
            if width is None:
                continue
            if width.bits < width.possible:
                warning(copy, f"moves {width.bits} bits at a time, {width.possible} are possible")
                note(copy.operands[0], "by this atom")
            if width.bits < self.least:
                hint = "widen its atom" if width.possible >= self.least else "change its tensors' alignment or layout"
                raise error(copy, f"moves {width.bits} bits at a time, not {self.least}", hints=[hint])


@register
@dataclass(frozen=True)
class WidenCopies(ModulePass):
    """Have copies move as many bits at a time as possible."""

    name: ClassVar[str] = "widen-copies"

    def run(self, module: ir.Module) -> None:
        rewrite(module, [widen, erase_unused_atom])


@rewrites("cute.copy")
def widen(copy: ir.Operation, rewriter: Rewriter) -> bool:
    width = width_of(copy)
    if width is None or width.bits >= width.possible:
        return False
    atom = CopyAtom(width.atom.kind, width.atom.element, width.atom.parameters.with_(copy_bits=width.possible))
    copy.operands[0] = cute.make_atom(to_type(atom), [])
    remark(copy, f"moves {width.possible} bits at a time now, {width.bits} before")
    return True


@rewrites("cute.make_atom")
def erase_unused_atom(atom: ir.Operation, rewriter: Rewriter) -> None:
    if not list(atom.result.uses):
        rewriter.erase(atom)
