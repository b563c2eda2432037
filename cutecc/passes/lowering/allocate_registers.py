"""Register tensors become arrays on a thread's stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.ir import llvm_types
from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, MemRef, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.number_fragments import MAKES_FRAGMENT
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.lowering.values.pointers import array_of
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class AllocateRegisters(ModulePass):
    """Make every register tensor an array, `llvm.alloca`, at the start of its function.

    The code generator keeps an array in registers when every index into it is known in the end. It looks only at those
    at the start of a function.
    """

    name: ClassVar[str] = "allocate-registers"
    lowers: ClassVar[tuple[str, ...]] = ("cute.memref.alloca", *MAKES_FRAGMENT)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for operation in limited(walk(module, *self.lowers)):
            tensor = view(operation.results[0].type)
            if not isinstance(tensor, MemRef) or tensor.space is not AddressSpace.RMEM:
                continue
            size = tensor.layout.cosize
            if not isinstance(size, int):
                raise error(operation, f"a register tensor of {size} elements: how many has to be known")
            with ir.InsertionPoint.at_block_begin(_entry(operation)), operation.location:
                array = _array(tensor, size)
            leaves.replace(operation, [[array]])


def _entry(operation: ir.Operation) -> ir.Block:
    """The first block of the function that `operation` is in."""
    function = operation.parent
    while function is not None and not function.operation.name.endswith((".func", ".kernel")):
        function = function.operation.parent
    assert function is not None
    return function.operation.regions[0].blocks[0]


def _array(tensor: MemRef, size: int) -> ir.Value:
    type, count = array_of(tensor.element, size)
    attributes: dict[str, Any] = {
        "elem_type": ir.TypeAttr.get(type),
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), tensor.alignment or 1),
    }
    operands = [constant(count, 32)]
    return ir.Operation.create("llvm.alloca", [llvm_types.pointer()], operands, attributes=attributes).result
