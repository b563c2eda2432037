"""Passes for tests of the API that passes are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.ir.mlir import arith, ir
from cutecc.passes import (
    ConversionRewriter,
    ModulePass,
    Rewriter,
    TypeConversion,
    convert,
    converts,
    error,
    note,
    remark,
    rewrite,
    rewrites,
    run_pipeline,
    walk,
    warning,
)
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.target import Target


@cutecc.register
@dataclass(frozen=True)
class DoubleToAdd(ModulePass):
    """Turn multiplications by two into additions."""

    name: ClassVar[str] = "test-double-to-add"

    loud: bool = False
    """Say where."""

    def run(self, module: ir.Module) -> None:
        rewrite(module, [self._double, self._drop_constant])

    @rewrites("arith.muli")
    def _double(self, op: ir.Operation, rewriter: Rewriter) -> None:
        two = op.operands[1].owner
        if isinstance(two, arith.ConstantOp) and ir.IntegerAttr(two.value).value == 2:
            if self.loud:
                remark(op, "an addition does")
                note(two, "the constant")
            rewriter.replace(op, arith.addi(op.operands[0], op.operands[0]))

    @rewrites("arith.constant")
    def _drop_constant(self, op: ir.Operation, rewriter: Rewriter) -> None:
        if not list(op.result.uses):
            rewriter.erase(op)


@cutecc.register
@dataclass(frozen=True)
class Widen(ModulePass):
    """Compute in 64 bits what is computed in 32."""

    name: ClassVar[str] = "test-widen"

    strict: bool = False
    """Reject operations that are not known."""

    def run(self, module: ir.Module) -> None:
        types = TypeConversion()
        i32, i64 = (ir.IntegerType.get_signless(width) for width in (32, 64))
        types.add(lambda type: i64 if type == i32 else None)
        convert(module, [_add], types, illegal=["arith.subi"] if self.strict else [])


@converts("arith.addi")
def _add(op: ir.Operation, operands: Sequence[ir.Value], rewriter: ConversionRewriter) -> None:
    rewriter.replace(op, arith.addi(operands[0], operands[1]))


@cutecc.register
@dataclass(frozen=True)
class RejectDivision(ModulePass):
    """Accept modules without divisions only."""

    name: ClassVar[str] = "test-reject-division"

    def run(self, module: ir.Module) -> None:
        for op in walk(module, "arith.divui"):
            warning(op, "a slow division")
        for op in walk(module, "arith.divsi"):
            raise error(op, "a division", notes=["divisions are slow"], hints=["multiply by the inverse"])


@cutecc.register
@dataclass(frozen=True)
class Clean(ModulePass):
    """Run a pipeline of the wheel's inside."""

    name: ClassVar[str] = "test-clean"

    def run(self, module: ir.Module) -> None:
        run_pipeline("test-double-to-add{loud=true},canonicalize,cse", module)


def doubling(target: Target, options: WheelOptions) -> Pipeline:
    """Double and clean up."""
    return Pipeline((DoubleToAdd(), Clean()))


cutecc.register_pipeline("test-doubling", doubling)
