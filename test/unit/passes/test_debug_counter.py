"""Passes that make some of their rewrites only."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import pytest

from cutecc.errors import UsageError
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import (
    ConversionRewriter,
    ModulePass,
    Rewriter,
    TypeConversion,
    convert,
    converts,
    limited,
    manager,
    rewrite,
    rewrites,
    walk,
)
from cutecc.passes.debug_counter import LimitedPass, counting
from cutecc.passes.pipeline import Pipeline

MODULE = b"""
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %0, %a : i32
  %2 = arith.addi %1, %a : i32
  return %2 : i32
}
"""


@dataclass(frozen=True)
class ByPattern(ModulePass):
    """Subtract."""

    name: ClassVar[str] = "test-by-pattern"

    def run(self, module: ir.Module) -> None:
        rewrite(module, [self.subtract])

    @rewrites("arith.addi")
    def subtract(self, op: ir.Operation, rewriter: Rewriter) -> None:
        rewriter.replace(op, arith.subi(op.operands[0], op.operands[1]))


@dataclass(frozen=True)
class ByConversion(ModulePass):
    """Subtract."""

    name: ClassVar[str] = "test-by-conversion"

    def run(self, module: ir.Module) -> None:
        @converts("arith.addi")
        def subtract(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
            rewriter.replace(op, arith.subi(operands[0], operands[1]))

        convert(module, [subtract], TypeConversion(), illegal=["arith.addi"])


@dataclass(frozen=True)
class ByLoop(ModulePass):
    """Subtract."""

    name: ClassVar[str] = "test-by-loop"

    def run(self, module: ir.Module) -> None:
        from cutecc.passes import before, replace

        for op in limited(walk(module, "arith.addi")):
            with before(op):
                new = arith.subi(op.operands[0], op.operands[1])
            replace(op, new)


def after(pass_: ModulePass) -> str:
    with fresh_context():
        module = parse(MODULE)
        manager.run(Pipeline((pass_,)), module)
        assert module.operation.verify()
        return to_text(module)


@pytest.mark.parametrize("pass_", [ByPattern(), ByConversion(), ByLoop()])
@pytest.mark.parametrize("limit", range(5))
def test_so_many_rewrites_are_made_and_the_first_ones(pass_: ModulePass, limit: int) -> None:
    text = after(LimitedPass(pass_, limit))
    operations = [line.split()[2] for line in text.splitlines() if "arith." in line]
    made = min(limit, 3)
    assert operations == ["arith.subi"] * made + ["arith.addi"] * (3 - made)


@pytest.mark.parametrize("pass_", [ByPattern(), ByConversion(), ByLoop()])
def test_rewrites_are_counted_and_the_last_is_known(pass_: ModulePass) -> None:
    for limit in (None, 2):
        with counting(limit) as budget:
            after(pass_)
        assert budget.made == (3 if limit is None else 2)
    assert budget.last is not None
    assert budget.last.operation == "arith.addi"
    patterns = {"test-by-pattern": "ByPattern.subtract", "test-by-conversion": "subtract", "test-by-loop": None}
    assert budget.last.pattern == patterns[pass_.name]


def test_the_limit_is_an_option_of_every_pass_in_python() -> None:
    text = "cse,unfold-layouts{max-rewrites=12},canonicalize"
    pipeline = Pipeline.parse(text)
    assert str(pipeline) == text
    limited_pass = pipeline.passes[1]
    assert isinstance(limited_pass, LimitedPass)
    assert (limited_pass.name, limited_pass.provider, limited_pass.max_rewrites) == ("unfold-layouts", "cutecc", 12)
    assert pipeline.positions("unfold-layouts") == [1]
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
    assert str(Pipeline.parse("lower-assertions{check=true max-rewrites=0}")) == (
        "lower-assertions{check=true max-rewrites=0}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unfold-layouts{max-rewrites=-1}", "takes a number of rewrites, not '-1'"),
        ("unfold-layouts{max-rewrites=many}", "takes a number of rewrites, not 'many'"),
        ("unfold-layouts{max-rewrites=}", "takes a number of rewrites, not ''"),
        ("unfold-layouts{max-rewrites=9999999999}", "takes a number of rewrites"),
        ("llvm-to-binary{max-rewrites=1}", "is for passes in Python, whose rewrites can be counted"),
    ],
)
def test_wrong_limits(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Pipeline.parse(text)


def test_a_pass_of_the_wheel_takes_its_own_options_alone(cutecc, small_kernel) -> None:
    done = cutecc("opt", small_kernel.module, "--pipeline=cse{max-rewrites=1}", status=2)
    assert "pass cse does not take the options '{max-rewrites=1}'" in done.stderr
