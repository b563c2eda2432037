"""What passes did to the operations of a line, from stages made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.errors import UsageError
from cutecc.record import Analysis, Artifact, Compilation, Remark, Step, Versions
from cutecc.record.stages import CallFrame, Stages, StageWriter, UserLines, create
from cutecc.report.explaining import explain
from cutecc.report.fates import Fate
from cutecc.report.frames import Frames
from cutecc.report.history import HistoryEvent, LineHistory, histories
from cutecc.report.listings import Listing
from cutecc.support.locations import Frame

K1, K2, K3 = (Frame("/k.py", line, 1) for line in (1, 2, 3))
HELPER = Frame("/lib/h.py", 9, 4)
LINES = UserLines(
    [[CallFrame(*HELPER, "help"), CallFrame("/k.py", 8, 0, "outer"), CallFrame(*K3, "kernel")]],
    {"/k.py": "one = 1\ntwo = 2\nthree = outer()\n"},
)


def stages(tmp_path: Path, *texts: str, lines: UserLines = LINES) -> Stages:
    """Stages of lines that name their place behind `@`: `a.b @ 1` is from line 1, `@ h` from the helper."""
    places = {"1": (K1,), "2": (K2,), "3": (K3,), "h": (HELPER, K3)}
    path = tmp_path / "k.stages"
    create(path, lines)
    writer = StageWriter(path)
    for index, text in enumerate(texts):
        split = [line.partition(" @ ") for line in text.strip("\n").split("\n")]
        writer.add_stage(index, "".join(f"{each[0]}\n" for each in split), [places.get(each[2]) for each in split])
    return Stages(path.read_bytes())


def event(step: int, kind: Fate, before: int, after: int, rewritten_to: int = 0) -> HistoryEvent:
    """That the same happened to all operations of a line, or to all that have come or gone."""
    return HistoryEvent(step, kind, before, after, {kind: abs(after - before) or before}, rewritten_to)


def history_of(found: list[LineHistory], file: str, line: int) -> LineHistory:
    return next(each for each in found if (each.file, each.line) == (file, line))


def test_new_numbers_another_order_and_indentation_are_no_change(tmp_path: Path) -> None:
    found = histories(
        stages(
            tmp_path,
            "!m = !t<f32>\n%0 = a.one @ 1\na.use %0 : !m @ 1\n^bb1: @ 2\na.to ^bb1 @ 2",
            "!x = !u<i1>\n!m_4 = !t<f32>\n  a.use %c7 : !m_4 @ 1\n%c7 = a.one @ 1\n^bb9: @ 2\na.to ^bb9 @ 2",
        )
    )
    assert [each.events for each in found] == [[], []]


def test_one_of_several_results_is_a_name_too(tmp_path: Path) -> None:
    found = histories(stages(tmp_path, "a.use %3#1, %4 : i32 @ 1", "a.use %5, %6#0 : i32 @ 1"))
    assert history_of(found, "/k.py", 1).events == []
    found = histories(stages(tmp_path, "%3:2 = a.two @ 1", "%3:3 = a.two @ 1"))
    assert history_of(found, "/k.py", 1).events == [event(1, "changed", 1, 1)]


def test_attributes_behind_a_region_are_its_operations(tmp_path: Path) -> None:
    found = histories(
        stages(
            tmp_path,
            "a.for { @ 1\n  a.for { @ 2\n  }\n}",
            "a.for { @ 1\n  a.for { @ 2\n  } {unroll}\n}",
            "a.for { @ 1\n  a.for { @ 2\n  } {unroll}\n} {flat}",
        )
    )
    assert [each.events for each in found] == [[event(2, "changed", 1, 1)], [event(1, "changed", 1, 1)]]


def test_what_happens_to_a_line(tmp_path: Path) -> None:
    found = histories(
        stages(
            tmp_path,
            "a.one @ 1\na.two @ 2",
            "a.one @ 1\na.one @ 1\na.two {x} @ 2",
            "a.one @ 1\na.two {x} @ 2",
            "a.two {x} @ 2\nnew @ 3",
        )
    )
    assert history_of(found, "/k.py", 1).events == [
        event(1, "appeared", 1, 2),
        event(2, "removed", 2, 1),
        event(3, "removed", 1, 0),
    ]
    assert history_of(found, "/k.py", 2).events == [event(1, "changed", 1, 1)]
    assert history_of(found, "/k.py", 3).events == [event(3, "appeared", 0, 1)]
    assert [each.traced for each in found] == [1, 1, 0]


def test_operations_whose_places_are_lost_are_removed_once(tmp_path: Path) -> None:
    found = histories(stages(tmp_path, "a.one @ 1", "a.one", "b.one", "b.two"))
    assert history_of(found, "/k.py", 1).events == [event(1, "removed", 1, 0)]


def test_another_type_behind_the_same_alias_is_a_change(tmp_path: Path) -> None:
    found = histories(stages(tmp_path, "!m = !t<f32>\na.one : !m @ 1", "!m = !t<f16>\na.one : !m @ 1"))
    assert history_of(found, "/k.py", 1).events == [event(1, "changed", 1, 1)]


def test_every_line_of_a_call_chain_has_the_operation(tmp_path: Path) -> None:
    found = histories(stages(tmp_path, "a.one @ h", "b.one @ h"))
    assert [(each.file, each.line, each.traced) for each in found] == [
        ("/k.py", 3, 1),
        ("/k.py", 8, 1),
        ("/lib/h.py", 9, 1),
    ]
    assert all(each.events == [event(1, "rewritten", 1, 1, rewritten_to=1)] for each in found)
    assert Frames(LINES).lines((K1,)) == {("/k.py", 1)}


def test_a_library_line_that_is_called_twice_counts_for_the_line_that_called_it() -> None:
    chains = [[CallFrame(*HELPER, "help"), CallFrame(*caller, "kernel")] for caller in (K1, K2)]
    frames = Frames(UserLines(chains))
    assert frames.lines((HELPER, K1)) == {("/lib/h.py", 9), ("/k.py", 1)}
    assert frames.lines((HELPER, K2)) == {("/lib/h.py", 9), ("/k.py", 2)}
    assert frames.lines((HELPER,)) == {("/lib/h.py", 9), ("/k.py", 1), ("/k.py", 2)}, "a function of the user's"


def test_an_instruction_without_a_column_has_the_chains_of_its_line() -> None:
    chains = [
        [CallFrame("/k.py", 9, column, "help"), CallFrame(*caller, "kernel")] for column, caller in ((4, K1), (8, K2))
    ]
    frames = Frames(UserLines(chains))
    assert frames.lines((Frame("/k.py", 9, 4),)) == {("/k.py", 9), ("/k.py", 1)}
    assert frames.lines((Frame("/k.py", 9, 0),)) == {("/k.py", 9), ("/k.py", 1), ("/k.py", 2)}, "SASS has no columns"


def test_instructions_of_each_kind_are_counted(tmp_path: Path) -> None:
    listings = [
        Listing("ptx", "k.ptx", "a\nb\nc", [(K1,), (HELPER, K3)], [0, 1, 0]),
        Listing("sass", "k.sass", "a\nb\nc\nd", [(K1,)], [0, -1, 0, 0]),
        Listing("llvm-ir", "k.ll", "a", [(K1,)], [0]),
    ]
    found = histories(stages(tmp_path, "a.one @ 2"), listings)
    counts = {(each.file, each.line): (each.traced, each.ptx, each.sass) for each in found}
    assert counts == {
        ("/k.py", 1): (0, 2, 3),
        ("/k.py", 2): (1, 0, 0),
        ("/k.py", 3): (0, 1, 0),
        ("/k.py", 8): (0, 1, 0),
        ("/lib/h.py", 9): (0, 1, 0),
    }


def record(*remarks: Remark) -> Compilation:
    compilation = Compilation("k", "sm_80", "", Versions("0", "3", "4", "built in"))
    compilation.steps = [Step(1, "fold", "fold", "wheel", remarks=[*remarks])]
    return compilation


PTX = """\
.visible .entry kernel_cutlass_k_0()
{
	.loc	1 3 1
	add.s32 	%r1, %r2, %r3;
	.loc	1 2 1
	ret;
}
	.file	1 "/k.py"
"""


def test_explaining_a_line(tmp_path: Path) -> None:
    here = Remark("remark", "about it", "/k.py:3:1")
    compilation = record(here, Remark("remark", "about another", "/k.py:31:1"))
    compilation.analyses = [Analysis("check-x", 0, remarks=[Remark("warning", "too", "k.py:3:7", "check-x")])]
    compilation.files["k.ptx"] = PTX.encode()
    compilation.artifacts.append(Artifact("ptx", "k.ptx"))
    found = explain(compilation, stages(tmp_path, "a.one @ h", "b.one @ h"), "k.py", 3)
    assert (found.file, found.source) == ("/k.py", "three = outer()")
    assert found.chains == LINES.chains
    assert [(each.number, each.text, each.function) for each in found.instructions["ptx"]] == [
        (4, "\tadd.s32 \t%r1, %r2, %r3;", "kernel_cutlass_k_0")
    ]
    assert found.history.ptx == 1
    assert [remark.message for remark in found.remarks] == ["about it", "too"]


def test_a_line_without_operations_names_its_neighbours(tmp_path: Path) -> None:
    made = stages(tmp_path, "a.one @ 1\na.two @ 3")
    with pytest.raises(UsageError, match=r"k\.py:2 has no operations") as caught:
        explain(record(), made, "k.py", 2)
    assert caught.value.hints == ["the nearest with some: k.py:1, k.py:3"]
    with pytest.raises(UsageError, match="names no file x"):
        explain(record(), made, "x.py", 2)
