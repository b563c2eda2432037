"""Passes on functions and GPU modules: on which operations they run, and what is asked of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from cutecc.errors import PassError, UsageError
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import body_of, fresh_context, parse, to_text
from cutecc.passes import ModulePass, OperationPass, analyse, analyses, erase, limited, lookup, manager, registry, walk
from cutecc.passes.debug_counter import counting
from cutecc.passes.nesting import NestedPass, described_operations
from cutecc.passes.nvidia.reimplementations.optimize_llvm_for_backend import OptimizeLlvmForBackend
from cutecc.passes.pipeline import Pipeline, parse_pass

FUNCTIONS = ("cuda.kernel", "func.func", "gpu.func", "llvm.func")
TEXT = """
module {
  func.func @first(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    return %0 : i32
  }
  gpu.module @one {
    gpu.func @second(%a: i32) kernel {
      %0 = arith.addi %a, %a : i32
      gpu.return
    }
    func.func private @declared()
  }
  module @inner {
    func.func @third() {
      return
    }
  }
  gpu.module @two {
    cuda.kernel @fourth() {
      cuda.return
    }
  }
  llvm.func @printf(!llvm.ptr)
}
"""

_Own = Literal["", "fail", "raise", "own", "erase-own", "replace-own"]
_Others = Literal["add", "erase", "erase-next", "erase-holder", "rename-holder", "change-other"]
visited: list[str] = []


def name_of(operation: ir.Operation) -> str:
    return operation.attributes["sym_name"].value if "sym_name" in operation.attributes else operation.name


@dataclass(frozen=True)
class OnFunctions(OperationPass):
    """Notes which functions it runs on, and does what its option says to the others."""

    name: ClassVar[str] = "test-on-functions"
    runs_on: ClassVar[tuple[str, ...]] = FUNCTIONS

    then: Literal[_Own, _Others] = ""

    def run(self, operation: ir.Operation) -> None:
        visited.append(name_of(operation))
        assert operation.parent
        holder = operation.parent.operation
        others = [each for each in body_of(holder) if each != operation]
        match self.then:
            case "fail":
                raise PassError("it went wrong")
            case "raise":
                raise ZeroDivisionError
            case "add":
                new = ir.Operation.parse("func.func private @new()", context=operation.context)
                holder.regions[0].blocks[0].append(new)
            case "erase":
                erase(next(each for each in others if each.name == "llvm.func"))
            case "erase-next":
                erase(next(each for each in others if each.name == "func.func"))
            case "erase-own":
                operation.erase()
            case "replace-own":
                new = ir.Operation.parse("func.func private @new()", context=operation.context)
                holder.regions[0].blocks[0].append(new)
                erase(operation)
            case "erase-holder":
                erase(holder)
            case "rename-holder":
                holder.attributes["sym_name"] = ir.StringAttr.get("other")
            case "change-other":
                for constant in walk(next(each for each in others if each.name == "gpu.module"), "arith.addi"):
                    constant.attributes["changed"] = ir.UnitAttr.get()
            case "own":
                operation.attributes["own"] = ir.UnitAttr.get()
            case _:
                pass


@dataclass(frozen=True)
class OnDevices(OperationPass):
    """Runs on GPU modules only."""

    name: ClassVar[str] = "test-on-devices"
    runs_on: ClassVar[tuple[str, ...]] = ("gpu.module",)

    def run(self, operation: ir.Operation) -> None:
        visited.append(name_of(operation))


@dataclass(frozen=True)
class Anywhere(OperationPass):
    """Runs on what it is nested in, and subtracts there."""

    name: ClassVar[str] = "test-anywhere"

    def run(self, operation: ir.Operation) -> None:
        visited.append(name_of(operation))
        for each in limited(walk(operation, "arith.addi")):
            with ir.InsertionPoint(each), each.location:
                new = arith.subi(each.operands[0], each.operands[1])
            each.results[0].replace_all_uses_with(new)
            erase(each)


@dataclass(frozen=True)
class OnModule(ModulePass):
    """Runs on the module."""

    name: ClassVar[str] = "test-on-module"

    def run(self, module: ir.Module) -> None:
        visited.append(name_of(module.operation))


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    for pass_class in (OnFunctions, OnDevices, Anywhere, OnModule):
        registry.register(pass_class)
    visited.clear()
    yield


def run(pipeline: Pipeline | str, text: str = TEXT) -> str:
    with fresh_context():
        module = parse(text.encode())
        manager.run(Pipeline.parse(pipeline) if isinstance(pipeline, str) else pipeline, module)
        return to_text(module)


def failure(pipeline: str, text: str = TEXT) -> PassError:
    with pytest.raises(PassError) as caught:
        run(pipeline, text)
    return caught.value


ALL = ["first", "second", "declared", "third", "fourth", "printf"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Not nested: everywhere.
        ("test-on-functions", ALL),
        ("builtin.module(test-on-functions)", ALL),
        ("test-on-devices", ["one", "two"]),
        ("test-anywhere", ["builtin.module"]),
        # Nested: right where the anchors say.
        ("func.func(test-on-functions)", ["first"]),
        ("gpu.module(gpu.func(test-on-functions))", ["second"]),
        ("gpu.module(func.func(test-on-functions))", ["declared"]),
        ("gpu.module(cuda.kernel(test-on-functions))", ["fourth"]),
        ("builtin.module(gpu.module(test-on-devices))", ["one", "two"]),
        ("gpu.module(test-anywhere)", ["one", "two"]),
        ("gpu.module(builtin.module(test-anywhere))", []),
        ("gpu.module(llvm.func(test-on-functions))", []),
        ("cuda.kernel(test-on-functions)", []),
        # Several below one anchor: pass by pass.
        ("gpu.module(test-on-devices,test-anywhere)", ["one", "two"] * 2),
        ("gpu.module(test-on-devices,gpu.func(test-on-functions))", ["one", "two", "second"]),
        # Whatever the pass runs on.
        ("any(test-on-functions)", ["first", "printf"]),
        ("gpu.module(any(test-on-functions))", ["second", "declared", "fourth"]),
        ("any(func.func(test-on-functions))", ["declared", "third"]),
        ("func.func(any(test-anywhere))", []),
    ],
)
def test_what_a_pass_runs_on(text: str, expected: list[str]) -> None:
    run(text)
    assert visited == expected


def test_from_python() -> None:
    nested = OnFunctions().nested("gpu.module", "gpu.func")
    run(Pipeline((nested, OnDevices())))
    assert visited == ["second", "one", "two"]
    assert str(nested) == "gpu.module(gpu.func(test-on-functions))"
    assert parse_pass(str(nested)) == nested
    assert nested != OnFunctions()
    assert nested != OnFunctions().nested("gpu.module", "func.func")


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("gpu.module(test-on-functions)", "gpu.module", "cuda.kernel, func.func, gpu.func, llvm.func"),
        (
            "gpu.module(scf.for(test-on-functions))",
            "scf.for in gpu.module",
            "cuda.kernel, func.func, gpu.func, llvm.func",
        ),
        ("func.func(test-on-devices)", "func.func", "gpu.module"),
        ("gpu.module(test-on-module)", "gpu.module", "builtin.module"),
        ("any(test-on-module)", "any", "builtin.module"),
    ],
)
def test_nesting_a_pass_where_it_does_not_run(text: str, where: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        Pipeline.parse(text)
    name = text.rstrip(")").rpartition("(")[2]
    assert caught.value.message == f"pass {name} does not run on {where}"
    assert caught.value.notes == [f"it runs on {what}"]


@pytest.mark.parametrize("anchor", ["gpu", "gpu.*", "*"])
def test_an_anchor_that_is_no_operation(anchor: str) -> None:
    with pytest.raises(UsageError, match="no operation is called"):
        Pipeline.parse(f"{anchor}(test-anywhere)")


def test_nothing_to_nest_in_is_an_error() -> None:
    with pytest.raises(UsageError, match="pass test-anywhere does not run on nothing"):
        Anywhere().nested()


def test_what_may_use_values_from_around_it() -> None:
    text = "func.func @f() {\n  scf.execute_region {\n    scf.yield\n  }\n  return\n}"
    error = failure("func.func(scf.execute_region(test-anywhere))", text)
    assert error.message == "pass test-anywhere runs on modules and functions, not on scf.execute_region"
    assert error.location is not None
    assert error.location.line == 2


def test_an_error_without_a_location_is_at_the_operation() -> None:
    error = failure("gpu.module(gpu.func(test-on-functions{then=fail}))")
    assert (error.message, error.pass_name) == ("it went wrong", "test-on-functions")
    assert error.location is not None
    assert error.location.line == 1 + TEXT[: TEXT.index("gpu.func @second")].count("\n")


def test_an_exception_is_a_bug_in_the_pass() -> None:
    error = failure("func.func(test-on-functions{then=raise})")
    assert error.message.startswith("pass test-on-functions failed with an internal error: ZeroDivisionError")
    assert error.location is not None
    assert error.location.file == __file__


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("gpu.module(gpu.func(test-on-functions{then=add}))", "adds func.func"),
        ("func.func(test-on-functions{then=erase})", "erases llvm.func"),
        ("gpu.module(gpu.func(test-on-functions{then=erase-holder}))", "erases gpu.module"),
        ("gpu.module(gpu.func(test-on-functions{then=rename-holder}))", "changes gpu.module"),
        ("func.func(test-on-functions{then=change-other})", "changes gpu.module"),
    ],
)
def test_a_pass_that_reaches_out_of_its_operation(text: str, done: str) -> None:
    error = failure(text)
    assert error.message == f"pass test-on-functions {done} outside of the operations that it runs on"
    assert error.hints == ["have it run on what holds all that it changes, such as gpu.module or the module"]


@pytest.mark.parametrize("then", ["erase-own", "replace-own"])
def test_a_pass_that_erases_the_operation_that_it_runs_on(then: str) -> None:
    error = failure(f"gpu.module(gpu.func(test-on-functions{{then={then}}}))")
    assert error.message == "pass test-on-functions erases gpu.func, and may not erase the operations that it runs on"
    assert error.location is not None
    assert error.location.line == 1 + TEXT[: TEXT.index("gpu.func @second")].count("\n")
    assert error.hints == ["have it run on what holds all that it changes, such as gpu.module or the module"]


def test_a_pass_that_erases_an_operation_that_it_is_still_to_run_on() -> None:
    error = failure("gpu.module(any(test-on-functions{then=erase-next}))")
    assert error.message == "pass test-on-functions has erased this operation before its turn"
    assert error.location is not None
    assert error.location.line == 1 + TEXT[: TEXT.index("@declared")].count("\n")


def test_its_own_attributes_are_its_own() -> None:
    assert run("test-on-functions{then=own}").count("own") == len(ALL)


def test_a_limit_is_for_all_operations_together() -> None:
    both = "func.func(test-anywhere{max-rewrites=1}),gpu.module(gpu.func(test-anywhere))"
    assert str(Pipeline.parse(both)) == both
    assert run(both).count("arith.subi") == 2
    one = "any(test-anywhere{max-rewrites=1})"
    assert run(one).count("arith.subi") == 1
    assert str(Pipeline.parse(one)) == one
    with counting() as budget:
        run("any(test-anywhere)")
    assert budget.made == 2


def test_other_processes_can_have_it() -> None:
    pipeline = Pipeline.parse("gpu.module(gpu.func(test-on-functions{then=own max-rewrites=3}))")
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline


def test_to_others_it_is_the_pass() -> None:
    nested = OptimizeLlvmForBackend().nested("gpu.module")
    assert isinstance(nested, NestedPass)
    assert nested.definition is OptimizeLlvmForBackend
    assert (nested.name, nested.provider) == ("optimize-llvm-for-backend", OptimizeLlvmForBackend.provider)
    assert Pipeline((nested,)).positions("optimize-llvm-for-backend") == [0]


@dataclass(frozen=True)
class Asks(OperationPass):
    """Asks for analyses of its function and of all that is around it."""

    name: ClassVar[str] = "test-asks"
    runs_on: ClassVar[tuple[str, ...]] = ("func.func",)
    preserves: ClassVar[tuple[type, ...]] = ()

    def run(self, operation: ir.Operation) -> None:
        assert operation.parent
        for each in (operation, operation.parent):
            assert analyse(Additions, each) is analyse(Additions, each)
        known: Any = analyses._known.get()
        visited.append(str(len(known)))


@dataclass(frozen=True)
class AsksAndKeeps(Asks):
    """The same, and changes nothing."""

    name: ClassVar[str] = "test-asks-and-keeps"
    preserves: ClassVar[tuple[type, ...]] = ()


class Additions:
    """How many there are."""

    def __init__(self, operation: ir.Operation) -> None:
        self.number = len(list(walk(operation, "arith.addi")))


AsksAndKeeps.preserves = (Additions,)


def test_what_an_operation_changes_the_next_one_is_not_told() -> None:
    run(Pipeline((Asks(),)), "func.func @a() { return }\nfunc.func @b() { return }")
    assert visited == ["2", "2"]


def test_what_is_preserved_is_kept_from_operation_to_operation_and_from_pass_to_pass() -> None:
    run(Pipeline((AsksAndKeeps(), AsksAndKeeps())), "func.func @a() { return }\nfunc.func @b() { return }")
    assert visited == ["2", "3", "3", "3"]


def test_what_it_runs_on_in_words() -> None:
    assert described_operations(OnFunctions) == "cuda.kernel, func.func, gpu.func, llvm.func"
    assert described_operations(Anywhere) == "any module or function"
    assert described_operations(OnModule) == "builtin.module"
