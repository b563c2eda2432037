"""Atoms that every GPU has: loads and stores, and multiplying with one fused operation."""

from __future__ import annotations

from cutecc.ir.mlir import ir
from cutecc.passes.lowering.atoms.table import Copy, Product, copies, multiplies
from cutecc.passes.lowering.values.memory import joined


@copies("universal_copy", whole="unless predicated")
def load_and_store(copy: Copy) -> None:
    """Load what one thread copies, and store it, both as wide as layout and alignment allow."""
    copy.destination.store([joined(copy.source.load(copy.count))], copy.count)


@multiplies("atom.universal_fma")
def multiply_and_add(product: Product) -> None:
    """d = a * b + c of one element each, rounded once."""
    a, b, c = product.loaded()
    product.store(ir.Operation.create("math.fma", [c.type], [a, b, c]).result)
