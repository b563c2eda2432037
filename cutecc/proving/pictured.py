"""What a proof is about, for people: the events of the run that stands for all, in one period of its steady state."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from math import lcm

from cutecc.proving.execution import TimeIsOver
from cutecc.proving.exploring import Assumed
from cutecc.proving.lanes import Lanes
from cutecc.proving.numbers import Count, NeedsPeriod, Residue, Undecided
from cutecc.proving.recording import Happened, Recording, Stopped
from cutecc.proving.states import States
from cutecc.proving.values import DependsOnPeriod, Symbol
from cutecc.proving.warps import NotKnown, Program
from cutecc.proving.windows import Repetition, Steady
from cutecc.report.skeleton import Skeleton

_LONG = 128
"""Steps of a loop that is looked at for its steady state."""
_MOST_PERIOD = 32
_TURNS = 3
"""Of a loop that has no steady state."""
_TILES = 3
"""Of a loop over tiles."""
_MOST = 50_000
"""Events that a run may have before it comes to one."""


def skeletons_of(program: Program, seconds: float = 10.0) -> list[Skeleton]:
    """One period of the loop over steps; of a loop over tiles, some tiles of one step each; of no loop, all.

    Of a loop without a steady state there are its first turns; nothing where something decides that is not known, nor
    where that takes longer.
    """
    deadline = time.monotonic() + seconds
    try:
        asked, begun = _first_turns(program, deadline)
        symbols = {what: factor for what, factor in asked.items() if isinstance(what, Symbol)}
        found: list[Skeleton] = []
        uses: dict[int, str] = {}
        for symbol, factor in symbols.items():
            if (drawing := _period(program, symbol, factor, deadline)) is not None:
                uses = drawing.uses
                found.append(drawing.skeleton())
                break
        title = f"the first {_TURNS} turns of each loop" if asked else "all of it"
        if found and len(symbols) < len(asked):
            begun, title = (
                _begin(program, Assumed(exact=dict.fromkeys(symbols, 1)), deadline),
                f"{_TILES} tiles of 1 step each",
            )
            _all_decided(begun, _TILES)
    except (NotKnown, NeedsPeriod, DependsOnPeriod, TimeIsOver):
        return []
    if begun.events_of and not (found and len(symbols) == len(asked)):
        found.append(Lanes(begun, begun.events_of, title, is_period=False, uses=uses).skeleton())
    return found


def _first_turns(program: Program, deadline: float) -> tuple[dict[Symbol | Count, int], Recording]:
    """A run whose loops have few turns; with the numbers that it asked for, each with what it is needed modulo."""
    asked: dict[Symbol | Count, int] = {}
    while True:
        before = dict(asked)
        run = _begin(program, Assumed(exact={each: _TURNS for each in asked if isinstance(each, Symbol)}), deadline)
        try:
            for what in _decided(run, _TURNS):
                asked.setdefault(what, 1)
            return asked, run
        except NeedsPeriod as needed:
            asked[needed.symbol] = lcm(asked.get(needed.symbol, 1), needed.factor)
            if asked == before:
                return asked, run
        except NotKnown:
            # What is computed of a number may be known where that one is.
            if asked == before:
                raise
        except DependsOnPeriod:
            return asked, run


def _begin(program: Program, assumed: Assumed, deadline: float) -> Recording:
    run = Recording.begin(program, assumed.numbers())
    assert isinstance(run, Recording)
    run.most, run.deadline = _MOST, deadline
    return run


def _all_decided(run: Recording, turns: int) -> None:
    for _ in _decided(run, turns):
        pass


def _decided(run: Recording, turns: int) -> Iterator[Symbol | Count]:
    """Go to the end with so many turns of each loop; yields what was asked for."""
    while True:
        try:
            with suppress(Stopped):
                run.run(run.deadline)
            return
        except Undecided as undecided:
            yield undecided.key.what
            run.numbers.decide(undecided.key, undecided.steps, more=undecided.steps < turns)


def _period(program: Program, symbol: Symbol, factor: int, deadline: float) -> Lanes | None:
    """The steady state of the loops of so many steps, in the first tile."""
    while factor <= _MOST_PERIOD:
        residues = {symbol: Residue(_LONG, factor)} if factor > 1 else {}
        run = _begin(program, Assumed(exact={symbol: _LONG}, residues=residues), deadline)
        run.windows = repetition = Repetition(symbol, States(program))
        try:
            _all_decided(run, 1)
        except NeedsPeriod as needed:
            factor = max(lcm(factor, needed.factor), 2 * factor)
            continue
        except DependsOnPeriod:
            factor *= 2
            continue
        except NotKnown:
            return None
        if (found := repetition.found) is None:
            is_stuck = any(each.kind == "deadlock" for each in run.problems)
            return Lanes(run, run.events_of, "up to where nobody goes on", is_period=False) if is_stuck else None
        steps = _fewest_steps(run, found)
        shown = {
            warp: run.events_of[warp][turns.events(found.first, found.first + steps)]
            for warp, turns in run.turns.items()
        }
        what = f"{steps} steps" if steps > 1 else "1 step"
        title = f"one period: {what} of the loop, from step {found.first} on"
        return Lanes(run, shown, title, is_period=True)
    return None


def _fewest_steps(run: Recording, found: Steady) -> int:
    """After how many steps warps do the same to the same barriers again; the clocks may take longer."""
    for steps in range(1, found.period):
        if found.period % steps == 0 and all(_repeats(run, warp, found, steps) for warp in run.turns):
            return steps
    return found.period


def _repeats(run: Recording, warp: int, found: Steady, steps: int) -> bool:
    turns, events = run.turns[warp], run.events_of.get(warp, [])
    chunks = {
        tuple(_seen(each) for each in events[turns.events(first, first + steps)])
        for first in range(found.first, found.first + found.period, steps)
    }
    return len(chunks) == 1


def _seen(happened: Happened) -> tuple[object, ...]:
    """What an event is, with its barriers and the parities of their phases."""
    phases = (*happened.arrives, *([happened.waits] if happened.waits else ()))
    return happened.operation, *((key, phase % 2) if isinstance(key, int) else key for key, phase in phases)
