"""All runs of a kernel, whatever its sizes are: each decision both ways, until nothing new comes."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

from cutecc.proving.execution import Execution
from cutecc.proving.numbers import Bounds, Count, Key, Numbers, Residue, Undecided
from cutecc.proving.problems import Problem
from cutecc.proving.states import States
from cutecc.proving.values import Symbol
from cutecc.proving.warps import Program
from cutecc.proving.windows import Steady, Window

Number = Symbol | Count


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a search takes for granted of the numbers of a launch."""

    least: dict[Number, int] = field(default_factory=dict["Number", int])
    exact: dict[Number, int] = field(default_factory=dict["Number", int])
    residues: dict[Symbol, Residue] = field(default_factory=dict[Symbol, Residue])
    window: Symbol | None = None
    """Whose loops have to have a steady state, of the period of the residue."""

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
    asked: set[Number] = field(default_factory=set[Number])
    """The numbers on which decisions were made."""
    is_steady: bool = True
    """Whether all loops had the steady state that was asked for."""


def explore(program: Program, assumed: Assumed, states: States, deadline: float) -> Found:
    """Go through all runs; ends at the first one that something is wrong with.

    Raises `NotKnown`, `DependsOnPeriod` and `NeedsPeriod`.
    """
    found = Found()
    seen: set[Hashable] = set()
    first = Execution.begin(program, assumed.numbers())
    if (symbol := assumed.window) is not None:
        first.window = Window(symbol, assumed.exact[symbol], assumed.residues[symbol].period, states)
    waiting = [first]
    while waiting:
        if time.monotonic() > deadline:
            found.is_complete = False
            return found
        run = waiting.pop()
        before = run.events
        try:
            problems = run.run()
        except Undecided as undecided:
            found.events += run.events - before
            found.asked.add(undecided.key.what)
            if run.problems:
                return _refuted(found, run)
            state = (str(undecided.key.what), states.of(run), run.window and run.window.is_found)
            if state not in seen:
                seen.add(state)
                found.states += 1
                # Last in, first out: runs that end come first, and with them the smallest sizes.
                for more in (True, False):
                    other = run.copy()
                    other.numbers.decide(undecided.key, undecided.steps, more=more)
                    waiting.append(other)
            continue
        found.events += run.events - before
        if problems:
            return _refuted(found, run)
        if run.window is not None and not run.window.end():
            found.is_steady = False
            return found
    return found


def steady_state(program: Program, states: States, number: Symbol, steps: int, factor: int) -> Steady | None:
    """Of a loop of so many steps, in the first tile; `None` where it does not come to one.

    The number is known to be what it is, or more by a multiple of `factor`.
    """
    residues = {number: Residue(steps, factor)} if factor > 1 else {}
    run = Execution.begin(program, Assumed(exact={number: steps}, residues=residues).numbers())
    run.window = Window(number, steps, 0, states)
    while True:
        try:
            run.run()
            return run.window.first
        except Undecided as undecided:
            # There is one tile.
            is_tile = undecided.steps == 0 and isinstance(undecided.key.what, Count)
            run.numbers.decide(undecided.key, undecided.steps, more=is_tile)


def _refuted(found: Found, run: Execution) -> Found:
    found.problems, found.numbers = run.problems, run.numbers
    return found
