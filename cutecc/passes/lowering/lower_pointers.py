"""Pointers become LLVM's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import Pointer, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.failing import building_before
from cutecc.passes.lowering.values.integers import constant, converted
from cutecc.passes.lowering.values.leaves import Leaves, carried_by, pointer_type
from cutecc.passes.lowering.values.materialize import plain_attributes
from cutecc.passes.lowering.values.pointers import swizzled
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerPointers(ModulePass):
    """Write casts of pointers as LLVM's, swizzles as arithmetic on the address.

    CuTe's pointers say what they point to, and how it is aligned; LLVM's only where, by the number of an address space.
    """

    name: ClassVar[str] = "lower-pointers"

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for operation in limited(walk(module, *self.lowers)):
            with building_before(operation):
                result = _LOWERINGS[operation.name](operation, leaves)
            leaves.replace(operation, [[result]])


def _recast(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    pointer = leaves.of(operation.operands[0])[0]
    target = view(operation.results[0].type)
    assert isinstance(target, Pointer)
    type = pointer_type(target)
    if pointer.type == type:
        return pointer
    if any(isinstance(each, ir.IntegerType) for each in (pointer.type, type)):
        raise Error("tensor memory has addresses of its own: no other pointer is one into it")
    return ir.Operation.create("llvm.addrspacecast", [type], [pointer]).result


def _to_integer(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    pointer = leaves.of(operation.operands[0])[0]
    type = _integer(operation.results[0].type)
    if isinstance(pointer.type, ir.IntegerType):
        # An address of tensor memory is a number already.
        return pointer if pointer.type == type else converted("arith.extui", pointer, type)
    return ir.Operation.create("llvm.ptrtoint", [type], [pointer]).result


def _integer(type: ir.Type) -> ir.Type:
    carried = carried_by(type)
    return carried.types[0] if carried else type


def _from_integer(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    address = leaves.of(operation.operands[0])[0]
    target = view(operation.results[0].type)
    assert isinstance(target, Pointer)
    type = pointer_type(target)
    # Of tensor memory the verifier takes numbers of 32 bits alone.
    return address if address.type == type else ir.Operation.create("llvm.inttoptr", [type], [address]).result


def _swizzle(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    """A swizzle is in the type of CuTe's pointers, and beside a plain one."""
    pointer = operation.operands[0]
    source = view(pointer.type)
    swizzle = source.swizzle if isinstance(source, Pointer) else plain_attributes(operation).get("swizzle")
    return swizzled(leaves.of(pointer)[0], swizzle)


def _warp_uniform(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    """Lane 0's value: all lanes have the same, and now the assembler knows."""
    value = operation.operands[0]
    operands = [constant(-1, 32), value, constant(0, 32), constant(31, 32)]
    attributes = {"kind": ir.Attribute.parse("#nvvm<shfl_kind idx>")}
    return ir.Operation.create("nvvm.shfl.sync", [value.type], operands, attributes=attributes).result


_LOWERINGS: dict[str, Callable[[ir.Operation, Leaves], ir.Value]] = {
    "cute.recast_iter": _recast,
    "cute.ptrtoint": _to_integer,
    "cute.inttoptr": _from_integer,
    "cute.apply_swizzle": _swizzle,
    "cute_nvgpu.arch.make_warp_uniform": _warp_uniform,
}
LowerPointers.lowers = tuple(_LOWERINGS)
