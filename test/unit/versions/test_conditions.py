"""What `--fail-on` says, and where it is so."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from versions_made import cell, comparison, measures

from cutecc.errors import UsageError
from cutecc.versions.comparison import ColumnFacts
from cutecc.versions.conditions import Breach, Condition, breaches, parse_conditions, unchecked
from cutecc.versions.measures import METRICS

# grammar


@pytest.mark.parametrize(
    "text, sign, limit, is_change, is_percent",
    [
        ("registers>+8", ">", 8, True, False),
        ("registers>8", ">", 8, False, False),
        ("registers<-8", "<", -8, True, False),
        ("registers<8", "<", 8, False, False),
        ("registers>", ">", 0, True, False),
        ("registers<", "<", 0, True, False),
        ("time>+5%", ">", 5, True, True),
        ("time>5%", ">", 5, True, True),
        ("time>%", ">", 0, True, True),
        ("compile-time > +2.5", ">", 2.5, True, False),
        ("width<", "<", 0, True, False),
        ("global-load-width<128", "<", 128, False, False),
    ],
)
def test_grammar(text: str, sign: Any, limit: float, is_change: bool, is_percent: bool) -> None:
    (found,) = parse_conditions(text)
    assert found == Condition(text, found.name, sign, limit, is_change, is_percent)


def test_several_with_blanks_between() -> None:
    found = parse_conditions("registers>+8, spills>0 ,width<, results")
    assert [each.name for each in found] == ["registers", "spills", "width", "results"]
    assert [each.text for each in found] == ["registers>+8", "spills>0", "width<", "results"]


@pytest.mark.parametrize("name", [*METRICS, "width", "time", "compile-time"])
def test_every_number_can_be_named(name: str) -> None:
    assert parse_conditions(f"{name}>1") == [Condition(f"{name}>1", name, ">", 1, is_change=False)]


@pytest.mark.parametrize(
    "text, message, hint",
    [
        ("", "--fail-on: '' is no condition", "as in registers>+8"),
        ("registers>8,", "--fail-on: '' is no condition", "as in registers>+8"),
        ("registers>=8", "--fail-on: 'registers>=8' is no condition", "as in"),
        ("registers>+8.", "is no condition", "as in"),
        ("Registers>8", "is no condition", "as in"),
        ("register>8", "--fail-on register>8: there is no 'register'", "did you mean registers?"),
        ("warmth>8", "--fail-on warmth>8: there is no 'warmth'", "there are registers, spills"),
        ("registers", "--fail-on registers: how much is too much?", "as in registers>+8"),
        ("results>1", "--fail-on results>1: no number", "results alone: they are the same bits or not"),
        ("registers>+", "--fail-on registers>+: a number is missing", ""),
        ("registers>+%", "a number is missing", ""),
    ],
)
def test_what_is_no_condition(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_conditions(text)
    assert message in caught.value.message
    assert any(each.startswith(hint) for each in caught.value.hints) or not hint


@given(st.text(alphabet="regist>+-<%0.5, spil", max_size=14))
def test_whatever_is_written_is_conditions_or_an_error(text: str) -> None:
    try:
        found = parse_conditions(text)
    except UsageError as failure:
        assert failure.message.startswith("--fail-on")
    else:
        assert len(found) == text.count(",") + 1


# numbers


def holds(text: str, before: float | None, now: float | None) -> bool:
    (condition,) = parse_conditions(text)
    return condition.holds(before, now)


@pytest.mark.parametrize(
    "text, before, now, expected",
    [
        ("registers>8", 100, 9, True),
        ("registers>8", 0, 8, False),
        ("registers>8", None, 9, True),
        ("registers<8", 0, 7, True),
        ("registers<8", 0, 8, False),
        ("registers>+8", 24, 33, True),
        ("registers>+8", 24, 32, False),
        ("registers>+8", 24, 15, False),
        ("registers<-8", 24, 15, True),
        ("registers<-8", 24, 16, False),
        ("registers>", 24, 25, True),
        ("registers>", 24, 24, False),
        ("registers<", 24, 23, True),
        ("registers<", 24, 24, False),
        ("time>+5%", 100, 105.5, True),
        ("time>+5%", 100, 105, False),
        ("time<-5%", 100, 94, True),
        ("time<-5%", 100, 95, False),
        ("spills>+5%", 0, 4, True),
        ("spills>+5%", 0, 0, False),
        ("registers>+8", None, 99, False),
        ("registers>8", 1, None, False),
        ("registers>", None, None, False),
    ],
)
def test_where_conditions_hold(text: str, before: float | None, now: float | None, expected: bool) -> None:
    assert holds(text, before, now) is expected


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 50))
def test_more_less_and_as_much_leave_nothing_over(before: int, now: int, limit: int) -> None:
    assert holds("spills>", before, now) + holds("spills<", before, now) + (before == now) == 1
    assert holds(f"spills>+{limit}", before, now) == (now - before > limit)
    assert holds(f"spills<-{limit}", before, now) == (before - now > limit)
    change = 100 * (now - before) / before if before else math.inf if now else 0
    assert holds(f"spills>+{limit}%", before, now) == (change > limit)


# breaches


def found(text: str, before: Any, *others: Any) -> list[tuple[str, str, str]]:
    names = [f"c{number}" for number in range(len(others) + 1)]
    broken = breaches(comparison(names, [before, *others]), parse_conditions(text))
    assert all(each.kernel == "k sm_80" for each in broken)
    return [(each.condition, each.column, each.text) for each in broken]


def test_each_column_is_held_against_the_first() -> None:
    assert found("registers>+8", cell(registers=24), cell(registers=40), cell(registers=32)) == [
        ("registers>+8", "c1", "k: registers 40, was 24")
    ]


def test_large_numbers_are_whole() -> None:
    assert found("instructions>", cell(classes={"integer": 1234567}), cell(classes={"integer": 1234568})) == [
        ("instructions>", "c1", "k: instructions 1234568, was 1234567")
    ]


def test_width_is_each_of_the_four() -> None:
    wide = {"global load": {"128": 4}, "shared store": {"128": 1}}
    narrow = {"global load": {"128": 2, "32": 8}, "shared store": {"128": 1}}
    assert found("width<", cell(widths=wide), cell(widths=narrow)) == [
        ("width<", "c1", "k: global-load-width 51.2, was 128")
    ]


def test_what_one_column_does_not_know_breaks_nothing() -> None:
    assert found("spills>0, width<, time>", cell(spill_bytes=None), cell(spill_bytes=None)) == []


def test_a_function_that_only_one_column_has_is_held_against_limits_alone() -> None:
    new = cell(functions={"k": measures(), "other": measures(registers=80)})
    assert found("registers>", cell(), new) == []
    assert found("registers>64", cell(), new) == [("registers>64", "c1", "other: registers 80")]


def test_times() -> None:
    assert found("time>+5%", cell(microseconds=100.0), cell(microseconds=106.0)) == [("time>+5%", "c1", "106, was 100")]
    assert found("compile-time>10", cell(), cell(compile_seconds=11.0)) == [("compile-time>10", "c1", "11")]


@pytest.mark.parametrize("result", ["in bounds", "other bits", "differs", "fails"])
def test_results_are_the_same_bits_or_broken(result: Any) -> None:
    worse = cell(results=result, problems=["y is off"])
    assert found("results", cell(results="reference"), worse) == [("results", "c1", f"{result}; y is off")]


@pytest.mark.parametrize("result", ["reference", "same bits", None])
def test_good_results(result: Any) -> None:
    assert found("results", cell(results="reference"), cell(results=result)) == []


def test_what_does_not_compile_is_broken_whatever_is_asked_for() -> None:
    assert found("spills>0", cell(), cell(failure="cse: no")) == [("compiles", "c1", "cse: no")]
    assert found("spills>0", cell(), None) == [("compiles", "c1", "it is not there")]
    assert found("spills>0", None, cell(failure="cse: no")) == [("compiles", "c1", "cse: no")]


def test_what_never_compiled_is_broken_in_the_first_column_alone() -> None:
    failed = cell(failure="cse: no")
    assert found("spills>0", failed, failed) == [("compiles", "c0", "cse: no")]
    assert found("spills>0", failed, cell(), failed) == [("compiles", "c0", "cse: no")]


def test_what_a_baseline_knows_not_to_compile_is_no_news() -> None:
    failed = cell(failure="cse: no")
    assert breaches(comparison(["baseline (x)", "x"], [failed, failed]), [], earlier=True) == []
    assert breaches(comparison(["baseline (x)", "x"], [failed, cell()]), [], earlier=True) == []


def test_a_column_without_kernels_is_broken_as_a_whole() -> None:
    made = comparison(["a", "b"])
    made.columns[1] = ColumnFacts("b", failure="no such target")
    assert breaches(made, []) == [Breach("compiles", "", "b", "no such target")]
    made.columns[0] = ColumnFacts("a", failure="no such target")
    assert breaches(made, []) == [
        Breach("compiles", "", "a", "no such target"),
        Breach("compiles", "", "b", "no such target"),
    ]


def test_a_column_without_kernels_is_told_once() -> None:
    made = comparison(["a", "b"], [cell(), None])
    made.columns[1] = ColumnFacts("b", failure="no such target")
    assert breaches(made, []) == [Breach("compiles", "", "b", "no such target")]


# what is not known


def unknown(text: str, before: Any, now: Any) -> list[tuple[str, str]]:
    left = unchecked(comparison(["a", "b"], [before, now]), parse_conditions(text))
    assert all((each.kernel, each.column) == ("k sm_80", "b") for each in left)
    return [(each.condition, each.text) for each in left]


@pytest.mark.parametrize(
    "result, text",
    [
        (None, ["it was not run"]),
        ("reference", ["there are no results to compare its own with"]),
        *[("same bits", []), ("differs", []), ("fails", [])],
    ],
)
def test_results_are_not_known(result: Any, text: list[str]) -> None:
    assert unknown("results", cell(results="reference"), cell(results=result)) == [("results", each) for each in text]


def test_numbers_are_not_known() -> None:
    known, lost = cell(classes={"integer": 1}), cell(spill_bytes=None)
    assert unknown("spills>0", lost, known) == []
    assert unknown("spills>", lost, known) == [("spills>", "k: spills not known of the first column")]
    assert unknown("spills>0", known, lost) == [("spills>0", "k: spills not known")]
    assert unknown("spills>0, registers>", None, known) == [
        ("registers>", "k: registers not known of the first column")
    ]
    assert unknown("registers>8, results", known, cell(functions={}, results="same bits")) == [
        ("registers>8", "it was not measured")
    ]
    assert unknown("time>+5%", known, known) == [("time>+5%", "time not known")]


def test_a_function_that_only_one_column_has_is_not_known_of_the_first() -> None:
    new = cell(functions={"k": measures(), "other": measures()})
    assert unknown("registers>, registers>64", cell(), new) == [
        ("registers>", "other: registers not known of the first column")
    ]


def test_widths_are_known_where_instructions_are() -> None:
    known = cell(classes={"integer": 1})
    assert unknown("width<, global-load-width<128", known, known) == []
    assert unknown("width<", known, cell()) == [("width<", "k: instructions not known")]


def test_what_does_not_compile_is_no_question() -> None:
    assert unknown("registers>, results", cell(), cell(failure="no")) == []
    assert unknown("registers>, results", cell(), None) == []
