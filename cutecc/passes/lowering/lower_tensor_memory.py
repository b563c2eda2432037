"""Tensor memory is asked for, given back and addressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import llvm_types
from cutecc.ir.mlir import ir, llvm, nvvm
from cutecc.ir.types import AddressSpace, MemRef, view
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.registry import register

_SM100 = "cute_nvgpu.arch.sm100"
_WORD = 4
"""Bytes of an address."""


@register
@dataclass(frozen=True)
class LowerTensorMemory(LeafConversion):
    """Write the allocation of tensor memory, and fragments and tilings of it, as addresses.

    An address is 32 bits: the lane above the column. A fragment is where allocated memory would begin, at 0: kernels
    take its layout alone.
    """

    name: ClassVar[str] = "lower-tensor-memory"

    @converts_leaves(f"{_SM100}.alloc_tmem")
    def allocate(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        columns, place = (leaves.of(each)[0] for each in operation.operands)
        nvvm.tcgen05_alloc(place, columns, group=_group(operation))
        return []

    @converts_leaves(f"{_SM100}.relinquish_tmem_alloc_permit")
    def relinquish(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        nvvm.tcgen05_relinquish_alloc_permit(group=_group(operation))
        return []

    @converts_leaves(f"{_SM100}.dealloc_tmem")
    def deallocate(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        address, columns = (leaves.of(each)[0] for each in operation.operands)
        nvvm.tcgen05_dealloc(llvm.inttoptr(llvm_types.pointer(6), address), columns, group=_group(operation))
        return []

    @converts_leaves(f"{_SM100}.retrieve_tmem_ptr")
    def retrieve(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """What the allocation has written into shared memory."""
        (place,) = leaves.of(operation.operands[0])
        return llvm.load(ir.IntegerType.get_signless(32), place, alignment=_WORD)

    @converts_leaves("cute.mma.make_fragment")
    def fragment(self, operation: ir.Operation, leaves: Leaves) -> ir.Value | None:
        made = view(operation.results[0].type)
        return constant(0, 32) if isinstance(made, MemRef) and made.space is AddressSpace.TMEM else None

    @converts_leaves("cute_nvgpu.atom.make_tmem_copy", "cute_nvgpu.atom.make_s2t_copy")
    def tile(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """The tensor says how the atom is tiled, which the result's type says again."""
        return [leaves.of(operation.operands[0])]


def _group(operation: ir.Operation) -> ir.Attribute:
    """Of one block, or of a pair, which allocates together."""
    return ir.Attribute.parse(f"#nvvm.cta_group<cta_{2 if 'is_two_cta' in operation.attributes else 1}>")
