"""Matrices in shared memory become the descriptors by which tensor cores find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import Pointer, SmemDescriptorView, view
from cutecc.layout import parse
from cutecc.passes.leaf_conversion import LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import HINT, copy_atom, mma_atom, mma_row, spelled
from cutecc.passes.lowering.values.integers import Arithmetic
from cutecc.passes.lowering.values.leaves import Leaves, dynamic
from cutecc.passes.lowering.values.matrix_descriptors import TCGEN05, matrix_descriptor, rows_descriptor
from cutecc.passes.lowering.values.tensors import tensor_of
from cutecc.passes.lowering.values.vector_accesses import Tensor
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerMatrixDescriptors(LeafConversion):
    """Write what a matrix product takes of shared memory as a descriptor: address, offsets, swizzle.

    A tensor of descriptors is one of them and a layout, whose offsets are in units of 16 bytes.
    """

    name: ClassVar[str] = "lower-matrix-descriptors"

    @converts_leaves("cute.mma.make_fragment")
    def describe(self, operation: ir.Operation, leaves: Leaves) -> ir.Value | None:
        made = view(operation.results[0].type)
        if not isinstance(made, SmemDescriptorView):
            return None
        mma, source = operation.operands
        atom = mma_atom(view(mma.type))
        _check_known(made)
        format = mma_row(atom).matrices
        if format is None:
            raise Error(f"{spelled(atom)} takes no matrices in shared memory", hints=[HINT])
        first = operation.attributes["operand_id"].value == 0
        return matrix_descriptor(tensor_of(source, leaves), (atom.major_a if first else atom.major_b) or "k", format)

    @converts_leaves("cute_nvgpu.atom.get_copy_s2t_smem_desc_view")
    def describe_copied(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """Of what goes to tensor memory: as many rows of as many bits as the atom takes."""
        made = view(operation.results[0].type)
        assert isinstance(made, SmemDescriptorView)
        tiled, source = operation.operands
        parameters = copy_atom(view(tiled.type)).parameters
        _check_known(made)
        return rows_descriptor(tensor_of(source, leaves), parameters["lanes"], parameters["bits"], TCGEN05)

    @converts_leaves("cute_nvgpu.make_umma_smem_desc")
    def describe_pointer(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """Of what lies at a pointer as a layout says, and perhaps goes on at another one."""
        first, *others = operation.operands
        pointer = view(first.type)
        assert isinstance(pointer, Pointer)
        layout, major = (str(operation.attributes[name]) for name in ("layout", "major"))
        tensor = Tensor(
            leaves.of(first)[0],
            pointer.element,
            pointer.space,
            parse(layout.split('"')[1]),
            pointer.alignment or 1,
            pointer.swizzle,
            Arithmetic({}),
        )
        (goes_on_at,) = leaves.of(others[0]) if others else (None,)
        return matrix_descriptor(tensor, "mn" if "<mn>" in major else "k", TCGEN05, goes_on_at)


def _check_known(made: SmemDescriptorView) -> None:
    if dynamic(made.layout):
        raise Error(f"the sizes and strides of a matrix in shared memory have to be known, not {made.layout}")
