"""Atoms that every GPU has: loads and stores, and multiplying with one fused operation."""

from __future__ import annotations

from math import gcd

from cutecc.ir.mlir import math
from cutecc.ir.types import AddressSpace
from cutecc.passes.lowering.atoms.registry import copies, multiplies
from cutecc.passes.lowering.atoms.uses import Copy, Product
from cutecc.passes.lowering.values.vector_accesses import joined

_WIDEST = 128
"""Bits of an access."""


@copies("universal_copy", whole="unless predicated")
def load_and_store(copy: Copy) -> None:
    """Load what one thread copies, and store it, both as wide as layout and alignment allow.

    From memory to memory it goes by what an access can have: LLVM would make a loop over bytes of a large vector.
    """
    count = copy.count
    if AddressSpace.RMEM not in (copy.source.space, copy.destination.space):
        count = gcd(count, max(1, _WIDEST // copy.source.element.bits))
    for begin in range(0, copy.count, count):
        copy.destination.store([joined(copy.source.load(count, begin=begin))], count, begin=begin)


@multiplies("atom.universal_fma")
def multiply_and_add(product: Product) -> None:
    """d = a * b + c of one element each, rounded once."""
    a, b, c = product.loaded()
    product.store(math.fma(a, b, c))
