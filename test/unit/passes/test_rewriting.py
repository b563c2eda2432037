"""Pattern rewriting and dialect conversion; lit shows what they make of modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutecc.errors import PassError, UsageError
from cutecc.ir.casters import plain_values
from cutecc.ir.editing import keeping_erased
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.walking import walk
from cutecc.passes import ConversionRewriter, Rewriter, TypeConversion, convert, converts, rewrite, rewrites

TEXT = b"""
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.muli %0, %0 : i32
  return %1 : i32
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with fresh_context(), plain_values():
        yield parse(TEXT)


def names(module: ir.Module) -> list[str]:
    return [operation.name for operation in walk(module, "arith.*")]


@rewrites("arith.muli")
def to_addition(op: ir.Operation, rewriter: Rewriter) -> None:
    rewriter.replace(op, arith.addi(op.operands[0], op.operands[1]))


@rewrites("arith.addi")
def to_subtraction(op: ir.Operation, rewriter: Rewriter) -> None:
    rewriter.replace(op, arith.subi(op.operands[0], op.operands[1]))


def test_patterns_apply_to_what_other_patterns_built(module: ir.Module) -> None:
    assert rewrite(module, [to_addition, to_subtraction])
    assert names(module) == ["arith.subi", "arith.subi"]
    assert not rewrite(module, [to_addition, to_subtraction])


def test_one_walk_leaves_what_it_built(module: ir.Module) -> None:
    assert rewrite(module, [to_addition, to_subtraction], once=True)
    assert names(module) == ["arith.subi", "arith.addi"]


def test_the_first_pattern_that_matches_wins(module: ir.Module) -> None:
    tried: list[str] = []

    @rewrites("arith.*")
    def declines(op: ir.Operation, rewriter: Rewriter) -> bool:
        tried.append(op.name)
        return False

    assert rewrite(module, [declines, to_addition], once=True)
    assert tried == ["arith.addi", "arith.muli"]
    assert names(module) == ["arith.addi", "arith.addi"]


def test_a_change_in_place_is_said_by_the_result(module: ir.Module) -> None:
    @rewrites("arith.addi")
    def mark(op: ir.Operation, rewriter: Rewriter) -> bool:
        marked = "mark" in op.attributes
        op.attributes["mark"] = ir.UnitAttr.get()
        return not marked

    assert rewrite(module, [mark])
    assert not rewrite(module, [mark])


def test_patterns_without_an_end_are_an_error(module: ir.Module) -> None:
    @rewrites("arith.addi")
    def swap(op: ir.Operation, rewriter: Rewriter) -> None:
        rewriter.replace(op, arith.addi(op.operands[1], op.operands[0]))

    with pytest.raises(PassError, match="the patterns do not end"):
        rewrite(module, [swap])


def test_an_exception_leaves_nothing_behind(module: ir.Module) -> None:
    @rewrites("arith.muli")
    def fails(op: ir.Operation, rewriter: Rewriter) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        rewrite(module, [fails])
    with pytest.raises(ValueError, match="InsertionPoint"):
        _ = ir.InsertionPoint.current
    assert rewrite(module, [to_addition])


def test_users_of_an_erased_producer_may_go_first(module: ir.Module) -> None:
    @rewrites("arith.muli")
    def fuse(op: ir.Operation, rewriter: Rewriter) -> None:
        producer = op.operands[0].owner
        rewriter.replace(op, producer.operands[0])
        rewriter.erase(producer)

    assert rewrite(module, [fuse])
    assert not names(module)
    module.operation.verify()


def test_nothing_outside_of_the_root_is_rewritten() -> None:
    text = b"""
func.func @f(%a: i32, %c: i1) -> i32 {
  %0 = arith.muli %a, %a : i32
  %1 = scf.if %c -> (i32) {
    %2 = arith.muli %0, %0 : i32
    scf.yield %2 : i32
  } else {
    scf.yield %0 : i32
  }
  return %1 : i32
}
"""
    with fresh_context(), plain_values():
        module = parse(text)
        (branch,) = walk(module, "scf.if")
        assert rewrite(branch, [to_addition])
        assert names(module) == ["arith.muli", "arith.addi"]


def widening() -> TypeConversion:
    types = TypeConversion()

    @types.add
    def widen(type: ir.Type) -> ir.Type | None:
        return ir.IntegerType.get_signless(64) if type == ir.IntegerType.get_signless(32) else None

    return types


@converts("arith.addi")
def convert_addition(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
    rewriter.replace(op, arith.addi(*operands))


@converts("arith.muli")
def convert_product(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
    rewriter.replace(op, arith.muli(*operands))


def test_two_conversions_leave_no_cast_between_them(module: ir.Module) -> None:
    convert(module, [convert_addition], widening())
    assert len(list(walk(module, "builtin.unrealized_conversion_cast"))) == 2
    convert(module, [convert_product], widening(), illegal=["builtin.unrealized_conversion_cast"])
    assert [str(operation.result.type) for operation in walk(module, "arith.*")] == ["i64", "i64"]
    module.operation.verify()


def test_a_conversion_converts_what_it_builds_when_that_is_illegal(module: ir.Module) -> None:
    @converts("arith.muli")
    def by_addition(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, arith.addi(*operands))

    @converts("arith.addi")
    def by_subtraction(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, arith.subi(*operands))

    convert(module, [by_addition, by_subtraction], illegal=["arith.muli", "arith.addi"])
    assert names(module) == ["arith.subi", "arith.subi"]


def test_a_conversion_that_builds_the_same_again_is_an_error(module: ir.Module) -> None:
    with pytest.raises(PassError, match=r"the patterns do not end: they still build arith\.addi"):
        convert(module, [convert_addition], illegal=["arith.addi"])


def test_a_replacement_has_the_converted_type(module: ir.Module) -> None:
    @converts("arith.addi")
    def forgets(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, op.operands[0])

    with pytest.raises(PassError, match=r"arith\.addi has results \(i64\), replaced by \(i32\)"):
        convert(module, [forgets], widening())


def test_what_is_illegal_and_left_is_an_error(module: ir.Module) -> None:
    with pytest.raises(PassError, match=r"nothing converts arith\.addi, and 1 more operations"):
        convert(module, [], illegal=["arith.*"])


def test_functions_take_part_in_memory_safety(module: ir.Module) -> None:
    with keeping_erased():
        held = list(walk(module, "arith.*"))
        rewrite(module, [to_addition, to_subtraction])
        # Their memory is still theirs, though another object erased them.
        assert [len(operation.operands) for operation in walk(module, "arith.*")] == [2, 2]
        del held


_PROGRAM = """
import sys
if {dsl}:
    import cutlass.cute
sys.path[:0] = [{passes!r}]
import doubling
from cutecc.ir.bindings import dsl_is_imported
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.pipeline import Pipeline
from cutecc.ir.mlir import ir
assert dsl_is_imported() is {dsl}
def first_result(module):
    return module.body.operations[0].regions[0].blocks[0].operations[0].results[0]

with fresh_context():
    module = parse({text!r})
    with plain_values():
        with plain_values():
            pass
        # The inner block leaves the DSL's casters to the outer.
        assert type(first_result(module)) is ir.OpResult
    manager.run(Pipeline.parse("test-double-to-add,test-clean,test-widen"), module)
    sys.stdout.write(to_text(module))
    print(type(first_result(module)).__name__)
assert dsl_is_imported() is {dsl}
"""


@pytest.mark.slow
def test_the_dsl_makes_no_difference() -> None:
    passes = Path(__file__).parents[2] / "lit" / "passes" / "api" / "Inputs"
    text = b"""
func.func @f(%a: i32, %b: vector<4xf32>) -> i32 {
  %c2 = arith.constant 2 : i32
  %0 = arith.muli %a, %c2 : i32
  %1 = arith.muli %0, %c2 : i32
  %2 = arith.addi %1, %a : i32
  return %2 : i32
}
"""

    def run(dsl: bool) -> str:
        program = _PROGRAM.format(dsl=dsl, passes=str(passes), text=text)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    without, with_ = run(False), run(True)
    # Afterwards, the DSL has its casters back.
    assert (without.splitlines()[-1], with_.splitlines()[-1]) == ("OpResult", "ArithValue")
    assert without.splitlines()[:-1] == with_.splitlines()[:-1]
    assert "arith.addi %arg0, %arg0 : i64" in without


def test_patterns_without_an_end_name_the_operation_and_the_pattern(module: ir.Module) -> None:
    @rewrites("arith.muli")
    def spin(op: ir.Operation, rewriter: Rewriter) -> bool:
        return True

    with pytest.raises(PassError, match=r"do not end: spin still rewrites arith\.muli") as caught:
        rewrite(module, [spin])
    assert str(caught.value.location) == "-:4:8"


@pytest.mark.parametrize("name", ["*", "arith", "*.addi", "arith.*.x", "", "arith."])
def test_names_that_no_operation_has_are_refused(module: ir.Module, name: str) -> None:
    for use in (lambda: rewrites(name), lambda: converts(name), lambda: convert(module, [], illegal=[name])):
        with pytest.raises(UsageError, match="no operation is called"):
            use()


def test_a_conversion_does_not_replace_in_circles(module: ir.Module) -> None:
    @converts("arith.addi")
    def by_itself(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, op.result)

    with pytest.raises(PassError, match=r"arith\.addi is replaced by its own result"):
        convert(module, [by_itself])

    @converts("arith.addi")
    def by_product(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        (product,) = walk(module, "arith.muli")
        rewriter.replace(op, product.result)

    @converts("arith.muli")
    def by_sum(op: ir.Operation, operands: list[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, op.operands[0])

    with pytest.raises(PassError, match=r"arith\.muli is replaced by what it replaced itself"):
        convert(module, [by_product, by_sum])
