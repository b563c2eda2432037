"""What real passes do to the operations of a line, and what the words of a history promise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.cli.records import read_record
from cutecc.ir.located_text import separate_locations
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import run_pipeline
from cutecc.record.stages import Stage, Stages, StageWriter, create, stages_of
from cutecc.report.fates import Fates
from cutecc.report.history import HistoryEvent, histories
from cutecc.report.matching import Matches
from cutecc.report.operations import Operations
from cutecc.report.stage_text import positions

KERNELS = Path(__file__).parents[2] / "kernels"


def events_after(tmp_path: Path, source: str, pipeline: str) -> dict[int, HistoryEvent]:
    """What a pass does to each line of a module."""
    path = tmp_path / "k.stages"
    create(path)
    writer = StageWriter(path)
    with fresh_context():
        module = parse(source.strip("\n").encode())
        for index in (0, 1):
            if index:
                run_pipeline(pipeline, module)
            located = module.operation.get_asm(enable_debug_info=True)
            writer.add_stage(index, *separate_locations(located, lambda: to_text(module), "k.mlir"))
    writer.close()
    return {each.line: event for each in histories(Stages(path.read_bytes())) for event in each.events}


def test_dead_code_is_removed(tmp_path: Path) -> None:
    source = """
func.func @f(%a: i32) -> i32 {
  %dead = arith.addi %a, %a : i32
  %too = arith.muli %dead, %a : i32
  return %a : i32
}
"""
    found = events_after(tmp_path, source, "canonicalize")
    assert found == {line: HistoryEvent(1, "removed", 1, 0, {"removed": 1}) for line in (2, 3)}


def test_equal_operations_are_merged_into_the_line_of_the_first(tmp_path: Path) -> None:
    source = """
func.func @f(%a: i32, %b: i32) -> (i32, i32) {
  %first = arith.addi %a, %b : i32
  %more = arith.muli %first, %b : i32
  %second = arith.addi %a, %b : i32
  %again = arith.muli %second, %b : i32
  return %more, %again : i32, i32
}
"""
    found = events_after(tmp_path, source, "cse")
    assert found == {
        4: HistoryEvent(1, "merged", 1, 0, {"merged": 1}, into=[("k.mlir", 2)]),
        5: HistoryEvent(1, "merged", 1, 0, {"merged": 1}, into=[("k.mlir", 3)]),
    }


def test_one_pass_removes_some_of_a_line_and_merges_others(tmp_path: Path) -> None:
    sums = [f"%{name} = arith.addi %{operand}, %b : i32" for name, operand in (("0", "a"), ("1", "a"), ("2", "b"))]
    source = f"func.func @f(%a: i32, %b: i32) -> (i32, i32) {{\n{' '.join(sums)}\nreturn %0, %1 : i32, i32\n}}"
    found = events_after(tmp_path, source, "cse")
    assert found == {2: HistoryEvent(1, "removed", 3, 1, {"removed": 1, "merged": 1})}


def test_what_has_a_known_value_is_folded(tmp_path: Path) -> None:
    source = """
func.func @f(%a: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %same = arith.addi %a, %zero : i32
  %none = arith.muli %a, %zero : i32
  return %same, %none : i32, i32
}
"""
    found = events_after(tmp_path, source, "canonicalize")
    assert {line: event.counts for line, event in found.items() if line != 2} == {3: {"folded": 1}, 4: {"folded": 1}}


def test_what_a_loop_does_not_change_is_moved(tmp_path: Path) -> None:
    source = """
func.func @f(%a: i32, %n: index, %m: !llvm.ptr) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %twice = arith.addi %a, %a : i32
    llvm.store %twice, %m : i32, !llvm.ptr
  }
  return
}
"""
    found = events_after(tmp_path, source, "loop-invariant-code-motion")
    assert found == {5: HistoryEvent(1, "moved", 1, 1, {"moved": 1})}


UNROLLED = """
gpu.module @kernels {
  cuda.kernel @k(%a: i32, %m: !llvm.ptr<1>) {
    %zero = arith.constant 0 : i32
    %eight = arith.constant 8 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %eight step %one : i32 {
      nvvm.barrier0
      %sum = arith.addi %a, %i : i32
      %place = llvm.getelementptr %m[%sum] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %sum, %place : i32, !llvm.ptr<1>
    } {loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
    cuda.return
  }
}
"""


def test_turns_of_a_loop_that_become_one_are_unrolled(tmp_path: Path) -> None:
    found = events_after(tmp_path, UNROLLED, "unroll-convergent-loops,canonicalize")
    assert {found[line].times for line in (7, 8, 9, 10)} == {4}
    assert {found[line].kind for line in (7, 8, 9, 10)} == {"unrolled"}
    assert found[7] == HistoryEvent(1, "unrolled", 1, 4, {"unrolled": 3}, times=4)


def test_a_branch_that_is_always_taken_is_folded_and_its_body_stays(tmp_path: Path) -> None:
    source = """
func.func @f(%m: !llvm.ptr, %a: i32) {
  %true = arith.constant true
  scf.if %true {
    llvm.store %a, %m : i32, !llvm.ptr
  }
  return
}
"""
    found = events_after(tmp_path, source, "canonicalize")
    assert found[3].counts == {"folded": 1} and 4 not in found


def test_a_lowering_rewrites(tmp_path: Path) -> None:
    source = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %0 = arith.ceildivsi %a, %b : i32
  return %0 : i32
}
"""
    (event,) = events_after(tmp_path, source, "arith-expand").values()
    assert (event.kind, event.counts, event.before, event.after) == (
        "rewritten",
        {"rewritten": 1},
        1,
        event.rewritten_to,
    )
    assert event.rewritten_to > 3


Lines = list[tuple[str, int]]
"""Those of a module, with the numbers of their places."""


@st.composite
def modules(draw: st.DrawFn) -> tuple[Lines, Lines]:
    """A block of operations, and the same one renumbered and reordered."""
    count = draw(st.integers(1, 14))
    operands = [draw(st.lists(st.integers(0, each), max_size=2)) for each in range(count)]
    texts = [draw(st.sampled_from(["a.one", "a.two {x}"])) for _ in range(count)]
    places = [draw(st.integers(0, 2)) for _ in range(count)]
    shuffle = random.Random(draw(st.integers()))
    order: list[int] = []
    while len(order) < count:
        known = {0, *(each + 1 for each in order)}
        order.append(shuffle.choice([each for each in {*range(count)} - {*order} if known.issuperset(operands[each])]))
    names = shuffle.sample(range(100), count)

    def lines(order: list[int], names: list[int]) -> Lines:
        body = [
            (
                f"  %{names[each]} = {texts[each]} "
                + ", ".join(f"%{names[used - 1]}" if used else "%arg0" for used in operands[each]),
                places[each],
            )
            for each in order
        ]
        return [("func.func @f(%arg0: i32) {", 3), *body, ("}", -1)]

    return lines([*range(count)], [*range(count)]), lines(order, names)


@given(modules())
def test_other_numbers_and_another_order_are_no_event(
    pair: tuple[list[tuple[str, int]], list[tuple[str, int]]],
) -> None:
    aliases: dict[str, str] = {}
    before, after = (
        Operations(Stage(0, "".join(f"{text}\n" for text, _ in lines), [place for _, place in lines]), aliases)
        for lines in pair
    )
    assert Fates(Matches(before, after)).changes == {}


@pytest.mark.parametrize("kernel", ["control_flow", "gemm_sm80", "rmsnorm", "block_scan", "scalar_args", "tma_copy"])
def test_every_operation_of_a_kernel_has_one_fate_in_each_pass(cutecc, tmp_path: Path, kernel: str) -> None:
    options = ("--target=sm_90a", "--dump-after=all", "--line-info", "-o", "out", "-q")
    cutecc("compile", KERNELS / f"{kernel}.py", *options)
    record = read_record(tmp_path / "out", None)
    stages = stages_of(record)
    names = {each.index: each.name.partition("#")[0] for each in positions(record, stages)}
    found: dict[str, set[str]] = {}
    for history in histories(stages):
        count = history.traced
        for event in history.events:
            assert event.before == count
            count = event.after
            gone = sum(event.counts.get(each, 0) for each in ("removed", "merged", "folded", "rewritten"))
            come = sum(event.counts.get(each, 0) for each in ("unrolled", "copied", "appeared")) + event.rewritten_to
            assert event.before - gone + come == event.after
            found.setdefault(names[event.step], set()).update(event.counts)
    assert found["cse"] <= {"merged", "removed"}
    assert found.get("loop-invariant-code-motion", {"moved"}) == {"moved"}
