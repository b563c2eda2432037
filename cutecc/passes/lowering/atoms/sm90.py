"""Atoms that came with Hopper."""

from __future__ import annotations

from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom
from cutecc.passes.lowering.atoms.registers import as_registers
from cutecc.passes.lowering.atoms.sm80 import matrix_layout
from cutecc.passes.lowering.atoms.table import copies
from cutecc.passes.lowering.values.memory import Tensor


@copies("stsm")
def store_matrices(atom: CopyAtom, source: Tensor, destination: Tensor, _: ir.Value | None) -> None:
    """`stmatrix`: a warp stores 8 x 8 matrices, thread i the address of row i."""
    count = atom.parameters["num_matrices"]
    values = as_registers(source, count * 32 // source.element.bits)
    attributes = {"layout": matrix_layout(atom.parameters["transpose"])}
    ir.Operation.create("nvvm.stmatrix", [], [destination.address(0), *values], attributes=attributes)
