"""Walking, building and erasing operations."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest

from cutecc.errors import PassError
from cutecc.ir.building import after, at_end, at_start, before, located
from cutecc.ir.casters import plain_values
from cutecc.ir.editing import address_of, erase, is_erased, keeping_erased, replace
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.walking import walk

TEXT = b"""
func.func @f(%a: i32, %c: i1) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("k.py":1:1)
  %1 = scf.if %c -> (i32) {
    %2 = arith.muli %0, %a : i32
    scf.yield %2 : i32
  } else {
    scf.yield %a : i32
  }
  %3 = arith.subi %0, %a : i32 loc("k.py":3:1)
  return %3 : i32
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with fresh_context(), plain_values():
        yield parse(TEXT)


def one(module: ir.Module, name: str) -> ir.Operation:
    (found,) = walk(module, name)
    return found


def names(module: ir.Module) -> list[str]:
    return [operation.name for operation in walk(module)]


def test_walk_goes_in_the_order_of_the_text(module: ir.Module) -> None:
    assert names(module)[:5] == ["builtin.module", "func.func", "arith.addi", "scf.if", "arith.muli"]
    inside_out = [operation.name for operation in walk(module, inside_out=True)]
    assert inside_out[-2:] == ["func.func", "builtin.module"]
    assert inside_out.index("arith.muli") < inside_out.index("scf.if")


def test_walk_picks_by_name_and_dialect(module: ir.Module) -> None:
    assert [operation.name for operation in walk(module, "arith.*")] == ["arith.addi", "arith.muli", "arith.subi"]
    assert [operation.name for operation in walk(module, "scf.if", "arith.subi")] == ["scf.if", "arith.subi"]
    assert not list(walk(module, "ari.*"))
    assert all(type(operation) is ir.Operation for operation in walk(module))


@pytest.mark.parametrize("by", ["erase", "its own erase"])
def test_walk_leaves_out_what_the_loop_erases(module: ir.Module, by: str) -> None:
    seen: list[str] = []
    with keeping_erased():
        for operation in walk(module):
            seen.append(operation.name)
            if operation.name == "scf.if":
                erase(operation) if by == "erase" else operation.erase()
    assert "arith.muli" not in seen
    assert "scf.yield" not in seen
    assert "arith.subi" in seen


def test_walk_leaves_out_what_is_erased_through_another_object(module: ir.Module) -> None:
    seen: list[str] = []
    with keeping_erased():
        for operation in walk(module, "arith.*", "func.return"):
            seen.append(operation.name)
            if operation.name == "arith.addi":
                last = one(module, "arith.subi")
                replace(last, last.operands[1])
    assert seen == ["arith.addi", "arith.muli", "func.return"]


def test_walk_does_not_visit_what_the_loop_builds(module: ir.Module) -> None:
    for operation in walk(module, "arith.*"):
        with after(operation):
            arith.addi(operation.operands[0], operation.operands[1])
    assert names(module).count("arith.addi") == 4


def test_an_erased_operation_is_an_error_not_a_crash(module: ir.Module) -> None:
    with keeping_erased():
        branch, inner = one(module, "scf.if"), one(module, "arith.muli")
        again = one(module, "scf.if")
        erase(branch)
        with pytest.raises(RuntimeError, match="invalidated"):
            _ = branch.operands
        with pytest.raises(RuntimeError, match="invalidated"), before(branch):
            pass
        # Other objects show what it was; their memory is there until the block ends.
        assert again.name == "scf.if"
        assert inner.operands[0].type == ir.IntegerType.get_signless(32)
        assert is_erased(branch)
        assert is_erased(again)
        assert is_erased(inner)
        assert not is_erased(one(module, "arith.addi"))
    assert "scf.if" not in names(module)
    module.operation.verify()


def test_erasing_what_is_used_names_the_user(module: ir.Module) -> None:
    with keeping_erased(), pytest.raises(PassError) as caught:
        erase(one(module, "arith.addi"))
    assert caught.value.message.startswith("arith.addi cannot be erased: arith.")
    assert str(caught.value.location) == "k.py:1:2"
    assert "arith.addi" in names(module)


def test_an_erased_branch_lets_go_of_its_blocks() -> None:
    text = b"func.func @f(%a: i32) -> i32 {\n  cf.br ^end(%a : i32)\n^end(%x: i32):\n  return %x : i32\n}"
    with fresh_context(), plain_values():
        module = parse(text)
        branch = one(module, "cf.br")
        end = branch.successors[0]
        with keeping_erased():
            assert len(end.predecessors) == 1
            erase(branch)
            assert len(end.predecessors) == 0
            one(module, "func.func").erase()
        assert names(module) == ["builtin.module"]


def test_a_value_of_an_erased_operation_may_not_stay_in_use(module: ir.Module) -> None:
    def keep_using_the_sum() -> None:
        sum_ = one(module, "arith.addi")
        value = one(module, "arith.addi").result
        erase(one(module, "scf.if"))
        replace(sum_, sum_.operands[0])
        one(module, "arith.subi").operands[0] = value

    expected = r"arith\.subi uses a value of arith\.addi, which was erased"
    with pytest.raises(PassError, match=expected) as caught, keeping_erased():
        keep_using_the_sum()
    assert str(caught.value.location) == "k.py:3:2"


def test_replacing_needs_values_of_the_same_types(module: ir.Module) -> None:
    sum_ = one(module, "arith.addi")
    flag = one(module, "scf.if").operands[0]
    with pytest.raises(PassError, match=r"has results \(i32\), replaced by \(i1\)"):
        replace(sum_, flag)
    with pytest.raises(PassError, match=r"has results \(i32\), replaced by \(\)"):
        replace(sum_, [])


def test_addresses_tell_operations_apart(module: ir.Module) -> None:
    sum_ = one(module, "arith.addi")
    assert address_of(sum_) == address_of(one(module, "arith.addi"))
    assert address_of(sum_) != address_of(one(module, "arith.subi"))
    address = address_of(sum_)
    sum_.operands[1] = sum_.operands[0]
    assert address_of(sum_) == address


def test_what_is_built_goes_where_it_is_said(module: ir.Module) -> None:
    i32 = ir.IntegerType.get_signless(32)
    last = one(module, "arith.subi")
    block = last.block
    with before(last):
        arith.constant(i32, 1)
        arith.constant(i32, 2)
    with after(last):
        arith.constant(i32, 3)
        arith.constant(i32, 4)
    with at_start(block):
        arith.constant(i32, 5)
    with at_end(block):
        arith.constant(i32, 6)
    with after(last.result):
        arith.constant(i32, 7)
    with after(block.arguments[0]):
        arith.constant(i32, 8)
    numbers = [ir.IntegerAttr(operation.attributes["value"]).value for operation in walk(module, "arith.constant")]
    assert numbers == [8, 5, 1, 2, 7, 3, 4, 6]
    assert block.operations[len(block.operations) - 1].operation.name == "func.return"
    module.operation.verify()


def test_locations_follow_what_is_rewritten(module: ir.Module) -> None:
    first, last = one(module, "arith.addi"), one(module, "arith.subi")
    i32 = ir.IntegerType.get_signless(32)
    with before(last):
        plain = arith.constant(i32, 1)
    with before(last, first):
        fused = arith.constant(i32, 2)
    with before(last), located(first):
        moved = arith.constant(i32, 3)
    assert plain.location == last.location
    assert fused.location == ir.Location.fused([last.location, first.location])
    assert moved.location == first.location
    with before(last, last):
        assert arith.constant(i32, 4).location == last.location


def test_nothing_is_built_beside_the_module(module: ir.Module) -> None:
    with pytest.raises(PassError, match=r"beside builtin\.module"), before(module.operation):
        pass


@pytest.mark.parametrize("kept", [True, False])
def test_a_module_cannot_be_erased(module: ir.Module, kept: bool) -> None:
    nothing_holds_it = pytest.raises(PassError, match=r"builtin\.module cannot be erased: nothing holds it")
    with keeping_erased() if kept else contextlib.nullcontext(), nothing_holds_it:
        erase(module.operation)
    module.operation.verify()


def test_an_operation_cannot_be_replaced_by_its_own_result(module: ir.Module) -> None:
    addition = one(module, "arith.addi")
    with keeping_erased(), pytest.raises(PassError, match=r"arith\.addi is replaced by its own result"):
        replace(addition, addition.result)


def test_errors_are_at_the_line_of_the_text_when_the_user_has_none(module: ir.Module) -> None:
    product = one(module, "arith.muli")
    with pytest.raises(PassError) as caught:
        erase(product)
    assert (str(caught.value.location), caught.value.notes) == ("-:5:10", ["the user is at -:6:5"])


@pytest.mark.parametrize("inside_out", [False, True])
def test_walk_goes_deeper_than_python_recurses(inside_out: bool) -> None:
    depth = sys.getrecursionlimit() + 100
    with fresh_context(), plain_values():
        module = parse(b"func.func @f(%c: i1) { return }")
        (end,) = walk(module, "func.return")
        condition = end.parent.regions[0].blocks[0].arguments[0]
        point = ir.InsertionPoint(end)
        for _ in range(depth):
            branch = ir.Operation.create("scf.if", [], [condition], regions=2, ip=point, loc=ir.Location.unknown())
            block = branch.regions[0].blocks.append()
            with ir.InsertionPoint(block), ir.Location.unknown():
                point = ir.InsertionPoint(ir.Operation.create("scf.yield", [], []))
        found = [operation.name for operation in walk(module, inside_out=inside_out)]
        assert (found.count("scf.if"), found.count("scf.yield")) == (depth, depth)
        assert found[-1] == ("builtin.module" if inside_out else "func.return")
