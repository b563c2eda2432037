"""Atoms that every GPU has: loads and stores, and multiplying with one fused operation."""

from __future__ import annotations

from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom
from cutecc.layout.tiled import values_of
from cutecc.passes.lowering.atoms.table import copies, multiplies
from cutecc.passes.lowering.values.memory import Tensor, joined


@copies("universal_copy")
def load_and_store(atom: CopyAtom, source: Tensor, destination: Tensor, _: ir.Value | None) -> None:
    """Load what one thread copies, and store it, both as wide as layout and alignment allow."""
    assert atom.source_tv is not None
    count = values_of(atom.source_tv)
    destination.store([joined(source.load(count))], count)


@multiplies("atom.universal_fma")
def multiply_and_add(atom: MmaAtom, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """d = a * b + c of one element each, rounded once."""
    return ir.Operation.create("math.fma", [c.type], [a, b, c]).result
