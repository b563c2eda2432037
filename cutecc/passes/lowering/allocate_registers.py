"""Register tensors become arrays on a thread's stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import llvm_types
from cutecc.ir.building import at_start
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.types import AddressSpace, MemRef, view
from cutecc.passes.diagnostics import error
from cutecc.passes.leaf_conversion import LeafConversion, converts_leaves
from cutecc.passes.lowering.number_fragments import MAKES_FRAGMENT
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.lowering.values.pointers import array_of
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class AllocateRegisters(LeafConversion):
    """Make every register tensor an array, `llvm.alloca`, at the start of its function.

    The code generator keeps an array in registers when every index into it is known in the end. It looks only at those
    at the start of a function.
    """

    name: ClassVar[str] = "allocate-registers"

    @converts_leaves("cute.memref.alloca", *MAKES_FRAGMENT)
    def allocate(self, operation: ir.Operation, leaves: Leaves) -> ir.Value | None:
        tensor = view(operation.results[0].type)
        if not isinstance(tensor, MemRef) or tensor.space is not AddressSpace.RMEM:
            return None
        size = tensor.layout.cosize
        if not isinstance(size, int):
            raise error(operation, f"a register tensor of {size} elements: how many has to be known")
        with at_start(_entry(operation)):
            return _array(tensor, size)


def _entry(operation: ir.Operation) -> ir.Block:
    """The first block of the function that `operation` is in."""
    function = operation.parent
    while function is not None and not function.operation.name.endswith((".func", ".kernel")):
        function = function.operation.parent
    assert function is not None
    return function.operation.regions[0].blocks[0]


def _array(tensor: MemRef, size: int) -> ir.Value:
    type, count = array_of(tensor.element, size)
    return llvm.alloca(llvm_types.pointer(), constant(count, 32), type, alignment=tensor.alignment or 1)
