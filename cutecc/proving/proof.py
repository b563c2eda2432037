"""Proving a kernel's synchronisation for every schedule and every size, or saying what is wrong, or why neither."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import lcm
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cutecc.errors import SourceLocation
from cutecc.proving.execution import TimeIsOver
from cutecc.proving.exploring import Assumed, Found, Number, explore, steady_state
from cutecc.proving.formulas import Formula
from cutecc.proving.numbers import Key, NeedsPeriod, Numbers, Residue
from cutecc.proving.problems import Problem
from cutecc.proving.states import States
from cutecc.proving.symbols import formulas_of
from cutecc.proving.values import DependsOnPeriod, Symbol
from cutecc.proving.warps import NotKnown, Program
from cutecc.proving.windows import Steady
from cutecc.report.skeleton import Skeleton

if TYPE_CHECKING:
    from cutecc.proving.witness import Witness

Answer = Literal["proved", "refuted", "suspicious", "cannot tell"]

_FIRST = 60_000
"""Events' worth of a search that takes every step of every loop for a decision of its own: some seconds."""
_LONG = 128
"""Steps of a loop that is looked at for its steady state."""
_MOST_PERIOD = 64
_MOST_PERIODS = 6
"""That a loop may take to come to its steady state."""
_TIME_IS_OVER = "the time is over"
_NO_STEADY_STATE = "a loop of {} steps comes to no steady state"
Search = Callable[[Sequence[Assumed], float], Iterator[Found]]
"""Takes what to assume, one after the other, and a deadline; gives what each comes to, in their order."""


@dataclass(slots=True)
class Proof:
    """What came of it."""

    answer: Answer
    kernel: str
    reason: str = ""
    """Of an answer that is none: why."""
    location: SourceLocation | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    """Of a run that has problems: numbers of the launch."""
    least: dict[str, int] = field(default_factory=dict[str, int])
    """Preconditions: numbers of a launch that are at least this."""
    below: dict[str, list[Problem]] = field(default_factory=dict[str, list[Problem]])
    """What is wrong with a launch that does not meet the precondition."""
    formulas: dict[str, Formula] = field(default_factory=dict[str, "Formula"])
    """How the numbers are computed that are told, by their names."""
    witness: Witness | None = None
    """Of `refuted`: a run that shows it."""
    tried: list[str] = field(default_factory=list[str])
    """What was run to find a witness, and found nothing."""
    preconditions: dict[str, str] = field(default_factory=dict[str, str])
    """Of the numbers of `least`, the same in the user's names: `K at least 1`."""
    states: int = 0
    events: int = 0
    seconds: float = 0.0
    skeleton: list[Skeleton] = field(default_factory=list[Skeleton])
    """The run that stands for all, in parts, for people to look at."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"kernel": self.kernel, "answer": self.answer}
        if self.reason:
            found |= {"reason": self.reason, "location": _place(self.location)}
        found |= {"problems": [_problem(each) for each in self.problems], "sizes": self.sizes, "least": self.least}
        found["below"] = {name: [_problem(each) for each in problems] for name, problems in self.below.items()}
        found |= {"preconditions": self.preconditions, "tried": self.tried}
        found["witness"] = None if self.witness is None else self.witness.to_dict()
        found |= {"states": self.states, "events": self.events, "seconds": round(self.seconds, 3)}
        return found | {"skeleton": msgspec.to_builtins(self.skeleton)}


def _place(location: SourceLocation | None) -> dict[str, Any] | None:
    return None if location is None else {"file": location.file, "line": location.line}


def _problem(problem: Problem) -> dict[str, Any]:
    place, other = _place(problem.location), _place(problem.other)
    return {"kind": problem.kind, "text": problem.text, "location": place, "other": other}


def prove(program: Program, seconds: float = 60.0, search: Search | None = None) -> Proof:
    """Prove that no wait is for ever, and that accesses of shared memory are ordered, in all runs of a kernel.

    `search` is a way to search for several assumptions, in other processes for example.
    """
    began = time.monotonic()
    proof = Proof("cannot tell", program.kernel.name)
    try:
        _Proving(program, proof, began + seconds, search).run()
    except NotKnown as unknown:
        proof.reason, proof.location = str(unknown), unknown.location
    except TimeIsOver:
        proof.reason = _TIME_IS_OVER
    except DependsOnPeriod as failure:
        proof.reason = f"loops do not repeat themselves: {failure}"
    proof.seconds = time.monotonic() - began
    return proof


class _Proving:
    def __init__(self, program: Program, proof: Proof, deadline: float, search: Search | None) -> None:
        self._program = program
        self._proof = proof
        self._states = States(program)
        self._deadline = deadline
        self._least: dict[Number, int] = {}
        self._search = search or self._one_by_one

    def run(self) -> None:
        proof = self._proof
        while True:
            found = self._all_sizes()
            proof.states += found.states
            proof.events += found.events
            if not found.problems:
                break
            assert found.numbers is not None
            zero = self._zero(found.numbers)
            if zero is None:
                proof.answer, proof.problems = "suspicious", found.problems
                proof.sizes = dict(_sizes(found.numbers))
                proof.formulas = dict(self._formulas(found.numbers))
                return
            # Sizes of zero are often nobody's: it may be right from there on.
            self._least[zero] = 1
            proof.below[str(zero)] = found.problems
        proof.least = {str(number): least for number, least in self._least.items()}
        proof.formulas = dict(self._formulas(Assumed(self._least).numbers()))
        proof.answer = "proved" if found.is_complete else "cannot tell"
        if not found.is_complete:
            is_over = time.monotonic() > self._deadline
            proof.reason = _TIME_IS_OVER if is_over else found.why

    def _formulas(self, numbers: Numbers) -> Iterator[tuple[str, Formula]]:
        """How the numbers of a run, as `_sizes` names them, are computed: for a block of the first cluster."""
        formulas = formulas_of(self._program.skeleton)
        for key in numbers.bounds:
            if isinstance(key.what, Symbol):
                formula = formulas.get(key.what)
            else:
                parts = [formulas.get(each) for each in (key.what.end, numbers.strides.get(key.what)) if each]
                known = tuple(each for each in parts if each is not None)
                formula = Formula("arith.ceildivsi", (), known) if len(known) == 2 else None
            if formula is not None:
                yield str(key), formula

    def _zero(self, numbers: Numbers) -> Number | None:
        """A number that is zero, which could be left out as a precondition."""
        for key, bounds in numbers.bounds.items():
            least = self._least.get(key.what, 0)
            if least == 0 == bounds.most:
                return key.what
        return None

    def _all_sizes(self) -> Found:
        """Search all runs: of numbers whose loops are inside of others', class by class."""
        periods: dict[Symbol, int] = {}
        found = Found(is_complete=False)
        try:
            found = self._explore(Assumed(self._least), self._deadline, _FIRST)
        except NeedsPeriod as needed:
            periods[needed.symbol] = needed.factor
        if found.is_complete or found.problems:
            return found
        inner = [each for each in found.asked if isinstance(each, Symbol)] or [*periods]
        if len(inner) != 1:
            names = " and ".join(sorted(map(str, inner)))
            why = f"loops take {names} steps, numbers that differ" if inner else "no run repeats what was there before"
            return replace(found, why=why)
        (symbol,) = inner
        return self._by_number(symbol, periods.get(symbol, 1))

    def _by_number(self, symbol: Symbol, factor: int) -> Found:
        """Number by number, until so many in a row as a period has stand for all that are larger."""
        while True:
            try:
                steady = self._steady(symbol, factor)
                return self._unsteady(symbol) if steady is None else self._numbers(symbol, steady)
            except NeedsPeriod as needed:
                factor = lcm(factor, needed.factor)
            except DependsOnPeriod:
                factor *= 2
                if factor > _MOST_PERIOD:
                    raise

    def _steady(self, symbol: Symbol, factor: int) -> Steady | None:
        found = steady_state(self._program, self._states, symbol, _LONG, factor, self._deadline)
        return found and Steady(found.first, lcm(factor, found.period))

    def _unsteady(self, symbol: Symbol) -> Found:
        """Of a loop that comes to no steady state: all runs, or the least number that something is wrong with."""
        first, found = self._least.get(symbol, 0), Found(is_complete=False)
        with suppress(NeedsPeriod):
            found = self._explore(Assumed(self._least), (time.monotonic() + self._deadline) / 2)
            if found.problems or found.is_complete:
                return found
        others = {each: least for each, least in self._least.items() if each != symbol}
        for number in range(first, first + _LONG):
            found = self._explore(Assumed(others, {symbol: number}), self._deadline)
            if found.problems or not found.is_complete:
                return found
        return replace(found, is_complete=False, why=_NO_STEADY_STATE.format(symbol))

    def _numbers(self, symbol: Symbol, steady: Steady) -> Found:
        total = Found()
        # From here on a loop is long enough to come to its steady state, and once around.
        first = self._least.get(symbol, 0)
        enough, margin = max(first, steady.first + steady.period + 1), 0
        while enough <= steady.first + _MOST_PERIODS * steady.period:
            numbers = range(first, enough + steady.period)
            for found in self._search(
                [self._assumed(symbol, each, steady, enough, margin) for each in numbers], self._deadline
            ):
                total.states += found.states
                total.events += found.events
                if found.problems or not found.is_complete:
                    return replace(found, states=total.states, events=total.events)
                if not found.is_steady:
                    break
            else:
                return total
            # It may take longer to come to its steady state, or be told of its end earlier.
            first, enough, margin = enough, enough + 2 * steady.period, margin + steady.period
        return replace(total, is_complete=False, why=_NO_STEADY_STATE.format(symbol))

    def _assumed(self, symbol: Symbol, number: int, steady: Steady, enough: int, margin: int) -> Assumed:
        others = {each: least for each, least in self._least.items() if each != symbol}
        if number < enough:
            return Assumed(others, {symbol: number})
        return Assumed(others, {symbol: number}, {symbol: Residue(number, steady.period)}, window=symbol, margin=margin)

    def _one_by_one(self, assumptions: Sequence[Assumed], deadline: float) -> Iterator[Found]:
        return (self._explore(each, deadline) for each in assumptions)

    def _explore(self, assumed: Assumed, deadline: float, most: int | None = None) -> Found:
        return explore(self._program, assumed, self._states, deadline, most)


def _sizes(numbers: Numbers) -> Iterator[tuple[str, int]]:
    keys: Sequence[Key] = sorted(numbers.bounds, key=str)
    for key in keys:
        bounds = numbers.bounds[key]
        yield str(key), bounds.least if bounds.most is None else bounds.most
