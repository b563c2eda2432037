"""Analyses that passes share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pytest

from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import ModulePass, analyse, analyses, erase, manager, run_pipeline, walk
from cutecc.passes.pipeline import Pipeline, parse_pass

TEXT = b"func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32\n return %0 : i32 }"

made: list[str] = []


class Census:
    """How often each operation occurs."""

    def __init__(self, op: ir.Operation) -> None:
        made.append(op.name)
        self.counts = Counter(each.name for each in walk(op))


class Names:
    """The names of functions."""

    def __init__(self, op: ir.Operation) -> None:
        made.append("names")
        self.names = [each.attributes["sym_name"].value for each in walk(op, "func.func")]


@dataclass(frozen=True)
class Looks(ModulePass):
    """Looks twice, and changes nothing."""

    name: ClassVar[str] = "test-looks"
    preserves: ClassVar = (Census,)

    def run(self, module: ir.Module) -> None:
        census = analyse(Census, module)
        assert census is analyse(Census, module)
        assert census is analyse(Census, module.operation)
        assert census.counts["arith.addi"] == 1
        assert analyse(Names, module).names == ["f"]


@dataclass(frozen=True)
class LooksInside(ModulePass):
    """Looks at the function, while the module's is kept."""

    name: ClassVar[str] = "test-looks-inside"

    fail: bool = False

    def run(self, module: ir.Module) -> None:
        (function,) = walk(module, "func.func")
        assert analyse(Census, function).counts["builtin.module"] == 0
        assert analyse(Census, module).counts["builtin.module"] == 1
        if self.fail:
            raise ValueError


@pytest.fixture(autouse=True)
def _forget() -> None:
    made.clear()


def run(*passes: ModulePass) -> list[str]:
    with fresh_context():
        manager.run(Pipeline(passes), parse(TEXT))
    return made


def test_what_a_pass_preserves_is_computed_once() -> None:
    assert run(Looks(), Looks()) == ["builtin.module", "names", "names"]


def test_a_pass_that_says_nothing_preserves_nothing() -> None:
    assert run(Looks(), parse_pass("canonicalize"), Looks()) == ["builtin.module", "names"] * 2


def test_analyses_belong_to_an_operation() -> None:
    assert run(Looks(), LooksInside(), Looks()) == ["builtin.module", "names", "func.func", "builtin.module", "names"]


def test_nothing_outlives_a_run() -> None:
    with pytest.raises(PassError):
        run(LooksInside(fail=True))
    assert run(Looks())[-2:] == ["builtin.module", "names"]


def test_outside_of_a_run_an_analysis_is_made_each_time() -> None:
    with fresh_context():
        module = parse(TEXT)
        assert analyse(Census, module) is not analyse(Census, module)


@dataclass(frozen=True)
class ErasesFunction(ModulePass):
    """Looks at the function, and erases it."""

    name: ClassVar[str] = "test-erases-function"
    preserves: ClassVar = (Census,)

    def run(self, module: ir.Module) -> None:
        (function,) = walk(module, "func.func")
        analyse(Census, module)
        analyse(Census, function)
        erase(function)


@dataclass(frozen=True)
class Peeks(ModulePass):
    """Sees what is known."""

    name: ClassVar[str] = "test-peeks"

    def run(self, module: ir.Module) -> None:
        known = analyses._known.get()
        assert known is not None
        made.append(str(len(known)))


def test_what_is_known_of_an_erased_operation_is_forgotten() -> None:
    # Its address may be another one's at once.
    assert run(ErasesFunction(), Peeks()) == ["builtin.module", "func.func", "1"]


@dataclass(frozen=True)
class ChangesAndRunsOthers(ModulePass):
    """Looks, changes what it looked at, and runs a pass that looks."""

    name: ClassVar[str] = "test-changes-and-runs-others"
    preserves: ClassVar = (Census,)

    def run(self, module: ir.Module) -> None:
        analyse(Census, module)
        for function in walk(module, "func.func"):
            erase(function)
        run_pipeline(Pipeline((Counts(),)), module)
        made.append(str(analyse(Census, module).counts.total()))


@dataclass(frozen=True)
class Counts(ModulePass):
    """Counts operations."""

    name: ClassVar[str] = "test-counts"
    preserves: ClassVar = (Census,)

    def run(self, module: ir.Module) -> None:
        made.append(str(analyse(Census, module).counts.total()))


def test_a_run_inside_a_pass_does_not_see_what_was_known_before() -> None:
    assert run(ChangesAndRunsOthers()) == ["builtin.module", "builtin.module", "1", "builtin.module", "1"]
