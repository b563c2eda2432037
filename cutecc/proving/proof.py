"""Proving a kernel's synchronisation for every schedule and every size, or saying what is wrong, or why neither."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from typing import Any, Literal

import msgspec

from cutecc.errors import SourceLocation
from cutecc.proving.exploring import Assumed, Found, Number, explore, steady_state
from cutecc.proving.problems import Problem
from cutecc.proving.states import States
from cutecc.proving.values import DependsOnPeriod, Key, NeedsPeriod, Numbers, Residue, Symbol
from cutecc.proving.warps import NotKnown, Program
from cutecc.proving.windows import Steady
from cutecc.report.skeleton import Skeleton

Answer = Literal["proved", "refuted", "suspicious", "cannot tell"]

_FIRST = 4.0
"""Seconds for a search that takes every step of every loop for a decision of its own."""
_LONG = 128
"""Steps of a loop that is looked at for its steady state."""
_MOST_PERIOD = 64
_MOST_LEAST = 2
"""How many sizes, from zero on, may be left out as a precondition."""


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
        found |= {"states": self.states, "events": self.events, "seconds": round(self.seconds, 3)}
        return found | {"skeleton": msgspec.to_builtins(self.skeleton)}


def _place(location: SourceLocation | None) -> dict[str, Any] | None:
    return None if location is None else {"file": location.file, "line": location.line}


def _problem(problem: Problem) -> dict[str, Any]:
    place, other = _place(problem.location), _place(problem.other)
    return {"kind": problem.kind, "text": problem.text, "location": place, "other": other}


def prove(program: Program, seconds: float = 60.0) -> Proof:
    """Prove that no wait is for ever, and that accesses of shared memory are ordered, in all runs of a kernel."""
    began = time.monotonic()
    proof = Proof("cannot tell", program.kernel.name)
    try:
        _Proving(program, proof, began + seconds).run()
    except NotKnown as unknown:
        proof.reason, proof.location = str(unknown), unknown.operation.location
    except DependsOnPeriod as failure:
        proof.reason = f"loops do not repeat themselves: {failure}"
    proof.seconds = time.monotonic() - began
    return proof


class _Proving:
    def __init__(self, program: Program, proof: Proof, deadline: float) -> None:
        self._program = program
        self._proof = proof
        self._states = States(program)
        self._deadline = deadline
        self._least: dict[Number, int] = {}

    def run(self) -> None:
        proof = self._proof
        while True:
            found = self._all_sizes()
            proof.states += found.states
            proof.events += found.events
            if not found.problems:
                break
            assert found.numbers is not None
            small = self._smallest(found.numbers)
            if small is None:
                proof.answer, proof.problems = "suspicious", found.problems
                proof.sizes = dict(_sizes(found.numbers))
                return
            # Sizes of zero are often nobody's: it may be right from there on.
            self._least[small] = self._least.get(small, 0) + 1
            proof.below[str(small)] = found.problems
        proof.least = {str(number): least for number, least in self._least.items()}
        proof.answer = "proved" if found.is_complete else "cannot tell"
        if not found.is_complete:
            proof.reason = f"there are more than {proof.states:,} states, and the time is over"

    def _smallest(self, numbers: Numbers) -> Number | None:
        """A number that is as small as it may be so far, and could be asked to be larger."""
        for key, bounds in numbers.bounds.items():
            least = self._least.get(key.what, 0)
            if bounds.most is not None and bounds.most <= least < _MOST_LEAST:
                return key.what
        return None

    def _all_sizes(self) -> Found:
        """Search all runs: of numbers whose loops are inside of others', class by class."""
        periods: dict[Symbol, int] = {}
        found = Found(is_complete=False)
        try:
            found = self._explore(Assumed(self._least), min(time.monotonic() + _FIRST, self._deadline))
        except NeedsPeriod as needed:
            periods[needed.symbol] = needed.factor
        if found.is_complete or found.problems:
            return found
        inner = [each for each in found.asked if isinstance(each, Symbol)] or [*periods]
        if len(inner) != 1:
            return found
        (symbol,) = inner
        return self._by_number(symbol, periods.get(symbol, 1))

    def _by_number(self, symbol: Symbol, factor: int) -> Found:
        """Number by number, until so many in a row as a period has stand for all that are larger."""
        while True:
            try:
                steady = self._steady(symbol, factor)
                if steady is None:
                    return Found(is_complete=False)
                return self._numbers(symbol, steady)
            except NeedsPeriod as needed:
                factor = lcm(factor, needed.factor)
            except DependsOnPeriod:
                factor *= 2
                if factor > _MOST_PERIOD:
                    raise

    def _steady(self, symbol: Symbol, factor: int) -> Steady | None:
        found = steady_state(self._program, self._states, symbol, _LONG, factor)
        return found and Steady(found.first, lcm(factor, found.period))

    def _numbers(self, symbol: Symbol, steady: Steady) -> Found:
        total = Found()
        number = self._least.get(symbol, 0)
        others = {each: least for each, least in self._least.items() if each != symbol}
        # From here on a loop is long enough to come to its steady state, and once around.
        enough = max(number, steady.first + steady.period + 1)
        while number < enough + steady.period:
            assumed = Assumed(others, {symbol: number})
            if number >= enough:
                assumed = replace(assumed, residues={symbol: Residue(number, steady.period)}, window=symbol)
            found = self._explore(assumed, self._deadline)
            total.states += found.states
            total.events += found.events
            if found.problems or not found.is_complete:
                return replace(found, states=total.states, events=total.events)
            if not found.is_steady:
                if enough > 8 * steady.period + steady.first:
                    return replace(total, is_complete=False)
                enough += steady.period
            else:
                number += 1
        return total

    def _explore(self, assumed: Assumed, deadline: float) -> Found:
        return explore(self._program, assumed, self._states, deadline)


def _sizes(numbers: Numbers) -> Iterator[tuple[str, int]]:
    keys: Sequence[Key] = sorted(numbers.bounds, key=str)
    for key in keys:
        bounds = numbers.bounds[key]
        yield str(key), bounds.least if bounds.most is None else bounds.most
