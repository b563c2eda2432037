"""Analyses beside a pipeline: the record has what they say, and nothing else is different."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from conftest import TracedKernel

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import PassError, UsageError
from cutecc.ir.canonical import canonical_hash
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse, to_bytecode
from cutecc.passes import lookup, registry, remark, walk, warning
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.selection import analysis_passes, select, summaries
from cutecc.passes.manager import Observer, Position, run_pass
from cutecc.record import Analysis, Compilation

MODULE = """
module {
  func.func @f(%n: i32) -> i32 {
    %one = arith.constant 1 : i32
    %sum = arith.addi %n, %one : i32
    %again = arith.addi %n, %one : i32
    %both = arith.addi %sum, %again : i32
    return %both : i32
  }
}
"""
PIPELINE = "canonicalize,cse,canonicalize"


@dataclass(frozen=True)
class CountAdditions(AnalysisPass):
    """Say how many additions there are."""

    name: ClassVar[str] = "test-count-additions"
    looks_after: ClassVar[str | None] = None

    most: int = 10
    """Warn of more."""

    def run(self, module: ir.Module) -> None:
        count = len(list(walk(module, "arith.addi")))
        say = warning if count > self.most else remark
        say(module.operation, f"{count} additions", {"additions": count, "share": 0.5, "unit": "operations"})


@dataclass(frozen=True)
class CountLater(AnalysisPass):
    """The same after `cse`."""

    name: ClassVar[str] = "test-count-later"
    looks_after: ClassVar[str | None] = "cse#1"

    def run(self, module: ir.Module) -> None:
        CountAdditions().run(module)


@dataclass(frozen=True)
class Fails(AnalysisPass):
    """Divides by zero."""

    name: ClassVar[str] = "test-fails"

    def run(self, module: ir.Module) -> None:
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The analyses above are known while a test runs, and to no other test."""
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    for kind in (CountAdditions, CountLater, Fails):
        registry.register(kind)


def compiled(*analyses: str, pipeline: str = PIPELINE, **options: object) -> Compilation:
    chosen = CompileOptions(pipeline=pipeline, artifacts=(), analyses=analyses, **options)  # pyright: ignore[reportArgumentType]
    return cutecc.compile_module(MODULE, target="sm_80", pipeline=pipeline, options=chosen).compilation


def one(record: Compilation, name: str) -> Analysis:
    (found,) = [each for each in record.analyses if each.name == name]
    return found


def test_each_looks_after_its_pass() -> None:
    record = compiled("test-count-additions", "test-count-later")
    first, later = one(record, "test-count-additions"), one(record, "test-count-later")
    assert (first.after, [each.message for each in first.remarks]) == (0, ["3 additions"])
    assert (later.after, [each.message for each in later.remarks]) == (2, ["2 additions"])
    (said,) = first.remarks
    assert (said.severity, said.analysis) == ("remark", "test-count-additions")
    assert said.numbers == {"additions": 3, "share": 0.5, "unit": "operations"}
    assert first.seconds > 0
    assert [step.name for step in record.steps] == ["canonicalize", "cse", "canonicalize"]
    assert not any(step.remarks for step in record.steps)


def test_options_are_those_of_a_pass() -> None:
    (said,) = one(compiled("test-count-additions{most=2}"), "test-count-additions").remarks
    assert said.severity == "warning"


def test_lines_of_a_module_without_locations_are_those_of_its_file() -> None:
    from cutecc.compilation.request import CompileRequest

    options = CompileOptions(pipeline=PIPELINE, artifacts=(), analyses=("test-count-additions",))
    request = CompileRequest(MODULE.encode(), "sm_80", "f", source="f.mlir", options=options)
    (said,) = one(cutecc.driver.lower(request), "test-count-additions").remarks
    assert said.location == "f.mlir:2:1"


def test_a_pipeline_without_the_pass_says_so() -> None:
    found = one(compiled("test-count-later", pipeline="canonicalize"), "test-count-later")
    assert (found.failure, found.remarks) == ("not run: the pipeline has no cse#1", [])


def test_a_module_from_amid_the_pipeline_is_not_the_traced_one() -> None:
    record = compiled("test-count-additions", "test-count-later", start_after="canonicalize#1")
    assert one(record, "test-count-additions").failure == "not run: the input is not the traced module"
    assert one(record, "test-count-later").after == 2
    record = compiled("test-count-later", start_after="cse")
    assert one(record, "test-count-later").failure == "not run: the pipeline has no cse#1 from there on"


def test_a_failure_stays_in_its_entry() -> None:
    record = compiled("test-fails", "test-count-later")
    assert record.status == "ok"
    failed = one(record, "test-fails")
    assert failed.failure and "ZeroDivisionError" in failed.failure
    assert one(record, "test-count-later").remarks


def test_a_run_that_fails_leaves_the_others_unsaid() -> None:
    class Stops(Observer):
        def before(self, position: Position, module: ir.Module) -> None:
            raise PassError("enough", pass_name=position.pass_.name)

    records: list[Compilation] = []
    from cutecc.compilation import events
    from cutecc.compilation.request import CompileRequest

    options = CompileOptions(pipeline=PIPELINE, artifacts=(), analyses=("all",), reproduce=False)
    request = CompileRequest(MODULE.encode(), "sm_80", "f", options=options)

    def emit(event: events.Event) -> None:
        if isinstance(event, events.Planned):
            records.append(event.compilation)

    with pytest.raises(PassError, match="enough"):
        cutecc.driver.lower(request, [Stops()], emit=emit)
    (record,) = records
    assert one(record, "test-count-additions").remarks
    assert one(record, "test-count-later").failure == "not run: the run ended before cse#1"
    assert one(record, "check-spills").failure == "not run: there is no code"


def test_what_is_no_analysis_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no analysis 'check-spill'") as caught:
        select(["check-spill"])
    assert caught.value.hints[0] == "did you mean check-spills?"
    with pytest.raises(UsageError, match="there is no analysis 'cse'"):
        select(["cse"])
    with pytest.raises(UsageError, match="there is no analysis 'int-range-optimizations'"):
        select(["int-range-optimizations"])


def test_all_is_each_once() -> None:
    chosen = select(["check-access-width", "all", "check-spills"])
    assert sorted(chosen.names) == sorted(summaries())
    assert chosen.names.count("check-access-width") == 1


@pytest.mark.parametrize("kernel", ["gemm_sm80", "persistent_tiles", "cluster_reduce", "experimental_copy", "softmax"])
def test_the_module_stays_as_it_is(kernel: str, traced_kernels: dict[str, TracedKernel]) -> None:
    for name, kind in analysis_passes().items():
        if name.startswith("check-") and kind.looks_after is None:
            with fresh_context():
                module = parse(traced_kernels[kernel].bytecode, kernel)
                before = to_bytecode(module)
                run_pass(kind(), module)
                assert to_bytecode(module) == before, name


def test_the_code_is_the_same_with_all_of_them(traced_kernels: dict[str, TracedKernel]) -> None:
    kernel = traced_kernels["softmax"]

    class Hashes(Observer):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def after(self, position: Position, module: ir.Module, seconds: float) -> None:
            if position.pass_.name != "cuda-to-binary":  # which has a scratch folder's name
                self.seen.append(canonical_hash(module, locations=True))

    found: list[tuple[bytes | None, list[str]]] = []
    for analyses in ((), ("all",)):
        hashes = Hashes()
        options = CompileOptions(artifacts=("ptx",), analyses=analyses)
        made = cutecc.compile_module(kernel.bytecode, target=kernel.target, options=options, observers=[hashes])
        found.append((made.compilation.artifact("ptx"), hashes.seen))
    assert found[0] == found[1]
