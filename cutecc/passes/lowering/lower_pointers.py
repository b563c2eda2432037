"""Pointers become LLVM's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.types import Pointer, view
from cutecc.passes.leaf_conversion import LeafConversion, converts_leaves
from cutecc.passes.lowering.values.integers import constant, converted
from cutecc.passes.lowering.values.leaves import Leaves, type_of_leaf
from cutecc.passes.lowering.values.materialize import plain_attributes
from cutecc.passes.lowering.values.pointers import swizzled
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerPointers(LeafConversion):
    """Write casts of pointers as LLVM's, swizzles as arithmetic on the address.

    CuTe's pointers say what they point to, and how it is aligned; LLVM's only where, by the number of an address space.
    """

    name: ClassVar[str] = "lower-pointers"

    @converts_leaves("cute.recast_iter")
    def recast(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        (pointer,) = leaves.of(operation.operands[0])
        type = type_of_leaf(operation.results[0])
        if pointer.type == type:
            return pointer
        if any(isinstance(each, ir.IntegerType) for each in (pointer.type, type)):
            raise Error("tensor memory has addresses of its own: no other pointer is one into it")
        return llvm.addrspacecast(type, pointer)

    @converts_leaves("cute.ptrtoint")
    def to_integer(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        (pointer,) = leaves.of(operation.operands[0])
        type = type_of_leaf(operation.results[0])
        if isinstance(pointer.type, ir.IntegerType):
            # An address of tensor memory is a number already.
            return pointer if pointer.type == type else converted("arith.extui", pointer, type)
        return llvm.ptrtoint(type, pointer)

    @converts_leaves("cute.inttoptr")
    def from_integer(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        (address,) = leaves.of(operation.operands[0])
        type = type_of_leaf(operation.results[0])
        # Of tensor memory the verifier takes numbers of 32 bits alone.
        return address if address.type == type else llvm.inttoptr(type, address)

    @converts_leaves("cute.apply_swizzle")
    def swizzle(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """A swizzle is in the type of CuTe's pointers, and beside a plain one."""
        pointer = operation.operands[0]
        source = view(pointer.type)
        swizzle = source.swizzle if isinstance(source, Pointer) else plain_attributes(operation).get("swizzle")
        return swizzled(leaves.of(pointer)[0], swizzle)

    @converts_leaves("cute_nvgpu.arch.make_warp_uniform")
    def warp_uniform(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """Lane 0's value: all lanes have the same, and now the assembler knows."""
        value = operation.operands[0]
        kind = ir.Attribute.parse("#nvvm<shfl_kind idx>")
        operands = [constant(-1, 32), value, constant(0, 32), constant(31, 32)]
        # Builders of older releases take the result's type first.
        return ir.Operation.create("nvvm.shfl.sync", [value.type], operands, attributes={"kind": kind}).result
