"""Comparing modules as text, by rules that the report page shares."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.report.comparing import Edit, compare

CASES = json.loads((Path(__file__).parents[2] / "inputs/diff-cases.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_cases_that_the_page_reads_too(case) -> None:
    assert [list(edit) for edit in compare(case["before"], case["after"])] == case["edits"]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, list[int]]]:
    """Operations, each with the numbers of earlier ones as operands."""
    size = draw(st.integers(0, 25))
    operations: list[tuple[str, list[int]]] = []
    for index in range(size):
        operands = draw(st.lists(st.integers(0, index - 1), max_size=3)) if index else []
        operations.append((draw(st.sampled_from(["a.add", "a.mul", "a.const"])), operands))
    return operations


def printed(program: list[tuple[str, list[int]]], names: list[str]) -> list[str]:
    return [
        f"%{names[index]} = {name} {', '.join(f'%{names[operand]}' for operand in operands)}"
        for index, (name, operands) in enumerate(program)
    ]


@pytest.mark.slow
@given(programs(), st.data())
def test_a_program_with_other_names_is_the_same(program, data) -> None:
    plain = [str(index) for index in range(len(program))]
    others = data.draw(st.permutations([*plain, "arg0", "c0_i32"]))
    assert compare(printed(program, plain), printed(program, others)) == (
        [Edit("equal", 0, len(program), 0, len(program))] if program else []
    )


@pytest.mark.slow
@given(programs(), st.data())
def test_one_other_operand_is_one_change(program, data) -> None:
    candidates = [index for index, (_, operands) in enumerate(program) if operands and index > 1]
    if not candidates:
        return
    chosen = data.draw(st.sampled_from(candidates))
    name, operands = program[chosen]
    changed = data.draw(st.integers(0, chosen - 1).filter(lambda operand: operand != operands[0]))
    other = [*program[:chosen], (name, [changed, *operands[1:]]), *program[chosen + 1 :]]
    plain = [str(index) for index in range(len(program))]
    differing = [edit for edit in compare(printed(program, plain), printed(other, plain)) if edit.tag != "equal"]
    assert differing == [Edit("replace", chosen, chosen + 1, chosen, chosen + 1)]


@pytest.mark.slow
@given(programs(), programs())
def test_edits_cover_both_texts_in_order(before, after) -> None:
    texts = [printed(program, [str(index) for index in range(len(program))]) for program in (before, after)]
    edits = compare(*texts)
    position = (0, 0)
    for edit in edits:
        assert (edit.before, edit.after) == position
        position = (edit.before_end, edit.after_end)
        sizes = (edit.before_end - edit.before, edit.after_end - edit.after)
        assert {
            "equal": sizes[0] == sizes[1] > 0,
            "replace": sizes[0] > 0 and sizes[1] > 0,
            "delete": sizes[0] > 0 and sizes[1] == 0,
            "insert": sizes[0] == 0 and sizes[1] > 0,
        }[edit.tag]
    assert position == (len(before), len(after))
    assert all(first.tag != second.tag for first, second in pairwise(edits) if "equal" in (first.tag, second.tag))
