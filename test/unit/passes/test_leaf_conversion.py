"""1:N conversion: operations on values of CuTe's types by their leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from cutecc.errors import Error, PassError, UsageError
from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.ir.walking import walk
from cutecc.lowering import Leaves
from cutecc.passes import LeafConversion, convert_leaves, converts_leaves, manager
from cutecc.passes.debug_counter import LimitedPass, counting
from cutecc.passes.leaf_conversion import Converted
from cutecc.passes.pipeline import Pipeline

TEXT = b"""
!layout = !cute.layout<"(?,4):(?{i64},1)">
!whole = !cute.layout<"8:1">
func.func @f(%a: i32, %b: i64) -> (i32, i64) {
  %layout = "test.make"(%a, %b) : (i32, i64) -> !layout
  %same = "test.same"(%layout) : (!layout) -> !layout
  %first, %second = "test.parts"(%same) : (!layout) -> (i32, i64)
  "test.use"(%same) : (!layout) -> ()
  %whole = "test.whole"() : () -> !whole
  "test.use"(%whole) : (!whole) -> ()
  return %first, %second : i32, i64
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with fresh_context() as context, plain_values():
        context.allow_unregistered_dialects = True
        yield parse(TEXT)


def names(module: ir.Module) -> list[str]:
    return [operation.name for operation in walk(module, "test.*", "cute.*", "builtin.unrealized_conversion_cast")]


@converts_leaves("test.make")
def make(op: ir.Operation, leaves: Leaves) -> Converted:
    return [list(op.operands)]


@converts_leaves("test.same")
def same(op: ir.Operation, leaves: Leaves) -> Converted:
    return [leaves.of(op.operands[0])]


@converts_leaves("test.parts")
def parts(op: ir.Operation, leaves: Leaves) -> Converted:
    return leaves.of(op.operands[0])


@converts_leaves("test.whole")
def whole(op: ir.Operation, leaves: Leaves) -> Converted:
    return [[]]


@converts_leaves("test.use")
def use(op: ir.Operation, leaves: Leaves) -> Converted:
    return []


def test_values_become_their_leaves_and_no_cast_is_left(module: ir.Module) -> None:
    convert_leaves(module, [make, same, parts, whole, use])
    (returned,) = walk(module, "func.return")
    assert list(returned.operands) == list(module.body.operations[0].regions[0].blocks[0].arguments)
    # What nobody takes any more is the last pass's to erase.
    assert set(names(module)) <= {"builtin.unrealized_conversion_cast", "cute.static"}


def test_what_has_no_pattern_keeps_its_value(module: ir.Module) -> None:
    convert_leaves(module, [make, whole])
    assert names(module) == [
        *("builtin.unrealized_conversion_cast", "test.same", "test.parts", "test.use"),
        *("cute.static", "test.use"),
    ]
    assert module.operation.verify()


def test_the_leaves_of_what_has_no_pattern_are_cast_out(module: ir.Module) -> None:
    convert_leaves(module, [parts])
    assert names(module)[:3] == ["test.make", "test.same", "builtin.unrealized_conversion_cast"]


def test_the_first_pattern_that_matches_wins(module: ir.Module) -> None:
    tried: list[str] = []

    @converts_leaves("test.*")
    def declines(op: ir.Operation, leaves: Leaves) -> None:
        tried.append(op.name)

    convert_leaves(module, [declines, make, same])
    assert tried == ["test.make", "test.same", "test.parts", "test.use", "test.whole", "test.use"]
    assert not {"test.make", "test.same"} & set(names(module))


def test_one_walk_leaves_what_it_built(module: ir.Module) -> None:
    @converts_leaves("test.make")
    def again(op: ir.Operation, leaves: Leaves) -> Converted:
        ir.Operation.create("test.make", [op.results[0].type], list(op.operands))
        return [list(op.operands)]

    convert_leaves(module, [again])
    assert "test.make" in names(module)


def test_what_is_built_has_the_operations_place(module: ir.Module) -> None:
    @converts_leaves("test.parts")
    def twice(op: ir.Operation, leaves: Leaves) -> Converted:
        first, second = leaves.of(op.operands[0])
        return [arith.addi(first, first), second]

    (before,) = walk(module, "test.parts")
    place = before.location
    convert_leaves(module, [twice])
    (built,) = walk(module, "arith.addi")
    assert built.location == place


@pytest.mark.parametrize(("given", "kind"), [(3, "int"), (True, "bool"), ([3], "list")])
def test_what_is_no_value(module: ir.Module, given: Any, kind: str) -> None:
    @converts_leaves("test.same")
    def wrong(op: ir.Operation, leaves: Leaves) -> Any:
        return given

    with pytest.raises(PassError) as failure:
        convert_leaves(module, [wrong])
    assert f"wrong returns a {kind}, not values" in failure.value.message
    assert failure.value.location is not None


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("test.same", lambda leaves: leaves[:1], "carry (i32, i64), replaced by (i32)"),
        ("test.same", lambda leaves: [], "carry (i32, i64), replaced by nothing"),
        ("test.same", lambda leaves: [[leaves[1], leaves[0]]], "carry (i32, i64), replaced by (i64, i32)"),
        ("test.parts", lambda leaves: [leaves], "carry (i32); (i64), replaced by (i32, i64)"),
        ("test.parts", lambda leaves: leaves[0], "carry (i32); (i64), replaced by (i32)"),
        ("test.use", lambda leaves: leaves[0], "carry nothing, replaced by (i32)"),
    ],
)
def test_leaves_that_do_not_fit(module: ir.Module, name: str, given: Any, message: str) -> None:
    @converts_leaves(name)
    def wrong(op: ir.Operation, leaves: Leaves) -> Converted:
        return given(leaves.of(op.operands[0]))

    with pytest.raises(PassError) as failure:
        convert_leaves(module, [wrong])
    assert failure.value.message == f"{name} has results that {message}"
    assert failure.value.location is not None


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("test.parts", lambda op, leaves: list(op.results)),
        ("test.same", lambda op, leaves: [leaves.of(op.results[0])]),
    ],
)
def test_an_operation_does_not_stand_for_itself(module: ir.Module, name: str, given: Any) -> None:
    with pytest.raises(PassError) as failure:
        convert_leaves(module, [converts_leaves(name)(given)])
    assert failure.value.message == f"{name} is replaced by its own result"
    assert failure.value.location is not None


def test_the_module_itself_is_not_converted(module: ir.Module) -> None:
    converted: list[str] = []

    @converts_leaves("builtin.*")
    def see(op: ir.Operation, leaves: Leaves) -> None:
        converted.append(op.name)

    convert_leaves(module, [make, see])
    assert converted == []
    convert_leaves(module, [see])
    assert converted == ["builtin.unrealized_conversion_cast"]


def test_an_error_of_the_algebra_is_one_at_the_operation(module: ir.Module) -> None:
    @converts_leaves("test.parts")
    def fails(op: ir.Operation, leaves: Leaves) -> Converted:
        raise Error("they do not divide", hints=["pad them"])

    with pytest.raises(PassError) as failure:
        convert_leaves(module, [fails])
    assert failure.value.message == "test.parts: they do not divide"
    assert failure.value.hints == ["pad them"]
    assert failure.value.location is not None


def test_an_operation_that_can_not_be_called_so() -> None:
    with pytest.raises(UsageError, match="no operation is called 'make'"):
        converts_leaves("make")


@dataclass(frozen=True)
class Taking(LeafConversion):
    """Take leaves."""

    name: ClassVar[str] = "test-taking"

    both: bool = True
    """Parts too."""

    @converts_leaves("test.make", "test.use")
    def make(self, op: ir.Operation, leaves: Leaves) -> Converted:
        return [list(op.operands)] if op.name == "test.make" else []

    @converts_leaves("test.parts")
    def parts(self, op: ir.Operation, leaves: Leaves) -> Converted | None:
        return leaves.of(op.operands[0]) if self.both else None


@dataclass(frozen=True)
class TakingOtherwise(Taking):
    """Take leaves, and look once more."""

    name: ClassVar[str] = "test-taking-otherwise"

    @converts_leaves("test.same")
    def same(self, op: ir.Operation, leaves: Leaves) -> Converted:
        return [leaves.of(op.operands[0])]


def test_a_pass_lowers_what_its_methods_are_for() -> None:
    assert Taking.lowers == ("test.make", "test.use", "test.parts")
    assert TakingOtherwise.lowers == ("test.make", "test.use", "test.parts", "test.same")


@pytest.mark.parametrize(
    ("both", "left"), [(True, ["test.same", "test.whole"]), (False, ["test.same", "test.parts", "test.whole"])]
)
def test_patterns_that_are_methods_see_the_options(module: ir.Module, both: bool, left: list[str]) -> None:
    Taking(both=both).run(module)
    assert [name for name in names(module) if name.startswith("test.")] == left


@pytest.mark.parametrize("limit", range(6))
def test_so_many_conversions_are_made_and_the_first_ones(module: ir.Module, limit: int) -> None:
    """An operation whose pattern does not match is not counted."""
    manager.run(Pipeline((LimitedPass(Taking(both=False), limit),)), module)
    left = [name for name in names(module) if name in ("test.make", "test.use")]
    assert left == ["test.make", "test.use", "test.use"][min(limit, 3) :]


def test_the_last_conversion_is_known(module: ir.Module) -> None:
    with counting(2) as budget:
        Taking().run(module)
    assert budget.made == 2
    assert budget.last is not None
    assert str(budget.last) == "test.parts by Taking.parts"


def test_without_patterns_nothing_changes(module: ir.Module) -> None:
    before = to_text(module)
    convert_leaves(module, [])
    assert to_text(module) == before
