"""Pointer arithmetic: how far an offset in elements is in bytes, and what a swizzle does to an address."""

from __future__ import annotations

from typing import Any

from cutecc.ir.mlir import ir
from cutecc.ir.types import Scalar, Vector
from cutecc.ir.types.values import Element
from cutecc.layout.integers import Integer, divide
from cutecc.layout.swizzle import Swizzle
from cutecc.passes.lowering.values.arithmetic import Arithmetic, constant

_DYNAMIC = -(2**31)
"""Stands among the constant indices of a `getelementptr` for an operand."""


def advance(pointer: ir.Value, element: Element, arithmetic: Arithmetic, offset: Integer) -> ir.Value:
    """`pointer` moved by `offset` elements."""
    if offset == 0:
        return pointer
    type, per = step(element)
    if per != 1:
        # Several elements to a byte: a pointer only ever moves by whole bytes.
        offset = divide(offset, per)
    if isinstance(pointer.type, ir.IntegerType):
        # An address of tensor memory.
        bits = ir.IntegerType(pointer.type).width
        moved = arithmetic.value(offset, bits)
        return ir.Operation.create("arith.addi", [pointer.type], [pointer, moved]).result
    if isinstance(offset, int):
        return element_pointer(pointer, type, [], [offset])
    return element_pointer(pointer, type, [arithmetic.value(offset, offset.width)], [_DYNAMIC])


def element_pointer(pointer: ir.Value, type: ir.Type, operands: list[ir.Value], indices: list[int]) -> ir.Value:
    """`llvm.getelementptr` with one index."""
    attributes: dict[str, Any] = {
        "elem_type": ir.TypeAttr.get(type),
        "rawConstantIndices": ir.DenseI32ArrayAttr.get(indices),
        "noWrapFlags": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0),
    }
    return ir.Operation.create("llvm.getelementptr", [pointer.type], [pointer, *operands], attributes=attributes).result


def step(element: Element) -> tuple[ir.Type, int]:
    """The type that a pointer to `element` steps by, and how many elements that holds."""
    match element:
        case Scalar(name):
            bits = element.bits
            if name == "i1":
                return ir.IntegerType.get_signless(8), 1
            if bits < 8:
                return ir.IntegerType.get_signless(8), 8 // bits
            if name == "tf32":
                return ir.F32Type.get(), 1
            return ir.Type.parse(name if "E" not in name else f"i{bits}"), 1
        case Vector():
            return ir.Type.parse(str(element)), 1
        case _:
            return ir.IntegerType.get_signless(element.bits), 1


def swizzled(pointer: ir.Value, swizzle: Swizzle | None) -> ir.Value:
    """The address that a swizzled pointer, its offset added, stands for: some bits of it flip others."""
    if swizzle is None:
        return pointer
    bits = 32 if str(pointer.type) == "!llvm.ptr<3>" else 64
    mask = ((1 << swizzle.bits) - 1) << (swizzle.base + max(swizzle.shift, 0))
    integer = ir.IntegerType.get_signless(bits)
    address = ir.Operation.create("llvm.ptrtoint", [integer], [pointer]).result
    picked = ir.Operation.create("arith.andi", [integer], [address, constant(mask, bits)]).result
    direction = "arith.shrui" if swizzle.shift >= 0 else "arith.shli"
    moved = ir.Operation.create(direction, [integer], [picked, constant(abs(swizzle.shift), bits)]).result
    flipped = ir.Operation.create("arith.xori", [integer], [address, moved]).result
    return ir.Operation.create("llvm.inttoptr", [pointer.type], [flipped]).result
