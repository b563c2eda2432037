"""Arithmetic with symbols: it agrees with that of numbers, whatever the numbers are."""

from __future__ import annotations

import operator
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import SourceLocation
from cutecc.proving import values
from cutecc.proving.numbers import Bounds, Key, NeedsPeriod, Numbers, Residue, Undecided
from cutecc.proving.values import UNKNOWN, DependsOnPeriod, Lanes, Linear, Shifted, Symbol
from cutecc.proving.warps import NotKnown

T = Symbol("t")
TERM = Linear(((T, 1),))
_SMALL = st.integers(0, 40)


def truth(name: str, a: int, b: int) -> int:
    return {
        "add": a + b,
        "multiply": a * b,
        "divide": abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
        "remainder": a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if b else a,
    }[name]


@given(_SMALL, st.integers(-5, 5), st.integers(-20, 20), st.sampled_from(("slt", "sle", "sgt", "sge", "eq", "ne")))
def test_a_number_that_is_known_exactly_compares_as_itself(number: int, factor: int, constant: int, name: str) -> None:
    numbers = Numbers({Key(T): Bounds(number, number)})
    compared = values.compare(name, values.add(values.multiply(TERM, factor), constant), 3, numbers)
    if compared is not UNKNOWN:
        plain = getattr(operator, name[-2:])
        assert compared == int(plain(factor * number + constant, 3))


@given(_SMALL, _SMALL, st.integers(1, 12), st.sampled_from(("add", "multiply", "divide", "remainder")))
def test_what_is_known_of_longer_runs_holds_for_them(value: int, by: int, other: int, name: str) -> None:
    function = getattr(values, name)
    arguments = (Shifted(value, by), other) if by else (value, other)
    try:
        found = function(*arguments, *([Numbers()] if name in ("divide", "remainder") else []))
    except DependsOnPeriod:
        return
    shift = found.by if isinstance(found, Shifted) else 0
    base = found.value if isinstance(found, Shifted) else found
    for longer in range(4):
        assert base + longer * shift == truth(name, value + longer * by, other)


@given(_SMALL, _SMALL, _SMALL, st.sampled_from(("slt", "sle", "sgt", "sge", "eq", "ne")))
def test_a_comparison_that_is_answered_is_so_in_longer_runs(a: int, by: int, b: int, name: str) -> None:
    try:
        found = values.compare(name, Shifted(a, by) if by else a, b, Numbers())
    except DependsOnPeriod:
        return
    plain = getattr(operator, name[-2:])
    assert all(plain(a + longer * by, b) == bool(found) for longer in range(5))


@given(_SMALL, st.integers(1, 8), _SMALL)
def test_of_a_number_of_which_a_period_is_known_the_remainder_is(first: int, period: int, more: int) -> None:
    numbers = Numbers(residues={T: Residue(first, period)})
    assert values.remainder(TERM, period, numbers) == (first + more * period) % period


def test_of_another_number_it_is_asked_for() -> None:
    with pytest.raises(NeedsPeriod, match="t modulo 5"):
        values.remainder(TERM, 5, Numbers())
    with pytest.raises(Undecided, match="t > 3"):
        values.compare("slt", 3, TERM, Numbers())


def test_steps_over_the_grid_are_counted() -> None:
    end, first, stride = Symbol("end"), Symbol("first"), Symbol("grid", is_positive=True)
    place = Linear(((first, 1), (stride, 2)))
    with pytest.raises(Undecided) as asked:
        values.compare("sgt", Linear(((end, 1),)), place, Numbers())
    assert asked.value.steps == 2
    numbers = Numbers()
    numbers.decide(asked.value.key, 2, more=True)
    assert values.compare("sgt", Linear(((end, 1),)), place, numbers) == 1


def test_lanes_are_one_number_where_they_agree() -> None:
    lanes = Lanes(range(32))
    assert values.divide(lanes, 32, Numbers()) == 0
    assert values.select(Lanes([1] * 32), lanes, 7) == lanes


def test_nothing_of_what_is_not_known_is_nothing() -> None:
    assert values.bitwise("and", UNKNOWN, 0, Numbers()) == 0


def test_reasons_cross_to_other_processes() -> None:
    place = SourceLocation("kernel.py", 3)
    for reason in (NeedsPeriod(T, 5), NotKnown("what", None, place), DependsOnPeriod("why")):
        copy = pickle.loads(pickle.dumps(reason))
        assert (type(copy), str(copy), vars(copy)) == (type(reason), str(reason), vars(reason))
