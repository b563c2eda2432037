"""The wheel's `legalize-llvm-types`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.building import before
from cutecc.ir.editing import replace
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider

_WIDEST = 8
"""Bits of the floating-point types that LLVM has no vectors of."""


@register
@dataclass(frozen=True)
class LegalizeLlvmTypes(ModulePass):
    """Load and store vectors of floats of 8 bits and fewer as vectors of integers.

    Observed: loads of `cute.Pointer.load` reach `one-shot-convert-to-llvm` with such types, which it would leave alone.
    Other uses are legalised by `core-to-llvm-prepare`.
    """

    name: ClassVar[str] = "legalize-llvm-types"
    provider: ClassVar[Provider] = "reimplementation"

    def run(self, module: ir.Module) -> None:
        for load in walk(module, "llvm.load"):
            if integers := _integers(load.result.type):
                with before(load):
                    attributes = {name: load.attributes[name] for name in load.attributes}
                    loaded = ir.Operation.create("llvm.load", [integers], list(load.operands), attributes).result
                    replace(load, _bitcast(loaded, load.result.type))
        for store in walk(module, "llvm.store"):
            if integers := _integers(store.operands[0].type):
                with before(store):
                    store.operands[0] = _bitcast(store.operands[0], integers)


def _integers(type_: ir.Type) -> ir.Type | None:
    """The integers that take the place of a vector of narrow floats."""
    if not isinstance(type_, ir.VectorType) or not isinstance(type_.element_type, ir.FloatType):
        return None
    width = type_.element_type.width
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(width)) if width <= _WIDEST else None


def _bitcast(value: ir.Value, type_: ir.Type) -> ir.Value:
    return ir.Operation.create("vector.bitcast", [type_], [value]).result
