"""All runs of a kernel, whatever its sizes are: each decision both ways, until nothing new comes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from cutecc.proving.execution import Execution, TimeIsOver
from cutecc.proving.numbers import Bounds, Count, Key, Numbers, Residue, Undecided
from cutecc.proving.problems import Problem
from cutecc.proving.states import States
from cutecc.proving.values import Symbol
from cutecc.proving.warps import Program
from cutecc.proving.windows import Repetition, Steady, Windows

Number = Symbol | Count


_STATE = 300
"""Events that take as long as a state to write down and to go on from both ways."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a search takes for granted of the numbers of a launch."""

    least: dict[Number, int] = field(default_factory=dict["Number", int])
    exact: dict[Number, int] = field(default_factory=dict["Number", int])
    residues: dict[Symbol, Residue] = field(default_factory=dict[Symbol, Residue])
    window: Symbol | None = None
    """Whose loops have to have a steady state, of the period of the residue."""
    margin: int = 0
    """Of turns, from there to their ends."""

    def numbers(self) -> Numbers:
        """Before anybody asks."""
        bounds = {Key(what): Bounds(least) for what, least in self.least.items()}
        bounds |= {Key(what): Bounds(number, number) for what, number in self.exact.items()}
        return Numbers(bounds, dict(self.residues))


@dataclass(slots=True)
class Found:
    """What a search came to."""

    problems: list[Problem] = field(default_factory=list[Problem])
    numbers: Numbers | None = None
    """Of the run that has problems."""
    states: int = 0
    events: int = 0
    is_complete: bool = True
    """Whether it came to its end."""
    why: str = ""
    """It did not, other than for want of time."""
    asked: set[Number] = field(default_factory=set[Number])
    """The numbers on which decisions were made."""
    is_steady: bool = True
    """Whether all loops had the steady state that was asked for."""


def explore(program: Program, assumed: Assumed, states: States, deadline: float, most: int | None = None) -> Found:
    """Go through all runs; ends at the first one that something is wrong with, or after as much work as so many events.

    Raises `NotKnown`, `DependsOnPeriod` and `NeedsPeriod`.
    """
    return _Exploring(program, assumed, states, deadline).run(most)


class _Exploring:
    def __init__(self, program: Program, assumed: Assumed, states: States, deadline: float) -> None:
        self._deadline = deadline
        self._found = Found()
        self._states = states
        self._seen: set[Hashable] = set()
        first = Execution.begin(program, assumed.numbers())
        self._waiting = [first]
        if (symbol := assumed.window) is not None:
            first.windows = Windows(symbol, assumed.residues[symbol].period, states, assumed.margin)
            # Of a loop that does not count nobody sees how far it is, nor that it has ended before others repeat.
            if any(loop.name != "scf.for" for loop in program.loops.by_number):
                self._end(is_steady=False)

    def run(self, most: int | None) -> Found:
        found = self._found
        try:
            while self._waiting:
                if most is not None and found.events + _STATE * found.states > most:
                    found.is_complete = False
                    break
                self._go_on(self._waiting.pop())
        except TimeIsOver:
            found.is_complete = False
        return found

    def _end(self, *, is_steady: bool) -> None:
        self._found.is_steady = is_steady
        self._waiting = []

    def _go_on(self, run: Execution) -> None:
        before, undecided = run.events, None
        try:
            run.run(self._deadline)
        except Undecided as question:
            undecided = question
        self._found.events += run.events - before
        windows = run.windows
        if isinstance(windows, Windows) and undecided is None:
            windows.end(run)
        if run.problems:
            self._found.problems, self._found.numbers = run.problems, run.numbers
            self._waiting = []
        elif isinstance(windows, Windows) and windows.are_missing:
            self._end(is_steady=False)
        elif undecided is not None:
            self._decide(run, undecided)

    def _decide(self, run: Execution, question: Undecided) -> None:
        """Both ways, if this state has not been there before."""
        found = self._found
        found.asked.add(question.key.what)
        windows = run.windows.key(run) if isinstance(run.windows, Windows) else None
        state = (str(question.key.what), self._states.of(run), windows)
        if state in self._seen:
            return
        self._seen.add(state)
        found.states += 1
        # Last in, first out: runs that end come first, and with them the smallest sizes.
        for more in (True, False):
            other = run.copy()
            other.numbers.decide(question.key, question.steps, more=more)
            self._waiting.append(other)


def steady_state(
    program: Program, states: States, number: Symbol, steps: int, factor: int, deadline: float
) -> Steady | None:
    """Of a loop of so many steps, in the first tile; `None` where it does not come to one.

    The number is known to be what it is, or more by a multiple of `factor`. Raises `TimeIsOver`.
    """
    residues = {number: Residue(steps, factor)} if factor > 1 else {}
    run = Execution.begin(program, Assumed(exact={number: steps}, residues=residues).numbers())
    run.windows = repetition = Repetition(number, states)
    while True:
        try:
            run.run(deadline)
            return repetition.found
        except Undecided as undecided:
            # There is one tile.
            is_tile = undecided.steps == 0 and isinstance(undecided.key.what, Count)
            run.numbers.decide(undecided.key, undecided.steps, more=is_tile)
