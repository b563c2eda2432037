"""The steady states of loops inside of other loops.

A run with one number of steps stands for the runs with a period more, two more, and so on, if it has *windows*: from a
state to the same one a period of steps later, before anybody has been told where the loop ends. What lies in a window
can be repeated as often as one likes. Windows do not overlap, and each time that a warp goes through such a loop it
goes on by a period in exactly one of them: so all have as many steps more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.proving.numbers import Bounds, Key
from cutecc.proving.values import Linear, Symbol, subtract

if TYPE_CHECKING:
    from cutecc.proving.execution import Execution
    from cutecc.proving.states import States
    from cutecc.proving.warps import Frame, Warp


@dataclass(frozen=True, slots=True)
class Steady:
    """From which step on a loop that goes on and on repeats itself, and after how many steps."""

    first: int
    period: int


@dataclass(slots=True)
class Repetition:
    """Of a loop that goes on and on, the first state that comes again, of whoever is furthest ahead."""

    symbol: Symbol
    states: States
    found: Steady | None = None
    _steps: int = -1
    """How far whoever is furthest has come."""
    _seen: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def copy(self) -> Repetition:
        return replace(self, _seen=dict(self._seen))

    def look(self, run: Execution, warp: Warp) -> None:
        """A warp is before a turn of a loop."""
        turn = turn_of(warp, self.symbol)
        if self.found is not None or turn is None or not turn.is_plain or turn.is_last or turn.counter <= self._steps:
            return
        self._steps = turn.counter
        before = self._seen.setdefault(_state(run, warp, self.symbol, self.states), turn.counter)
        if before < turn.counter:
            self.found = Steady(before, turn.counter - before)


@dataclass(frozen=True, slots=True)
class _Open:
    """A window that has begun."""

    leader: tuple[int, int]
    """The warp of whose loop it is."""
    state: Hashable
    counters: tuple[tuple[tuple[int, int], int], ...]
    """Of the warps that go through such a loop, which turn comes next."""
    refused: Mapping[Hashable, int]
    """What warps had been refused by then."""


@dataclass(slots=True)
class Windows:
    """Those of a run, in which loops are to come to the same state after a period, near their ends."""

    symbol: Symbol
    period: int
    states: States
    margin: int = 0
    """Turns between a window and the last one: who looks ahead sees the end before."""
    are_missing: bool = False
    """Whether some loop has been gone through without."""
    _open: _Open | None = None
    _counters: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """Of the warps that go through such a loop, which turn comes next."""
    _done: frozenset[tuple[int, int]] = frozenset()
    """Those of them that have been through a window."""
    _refused: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """What warps had been refused when they began, or left, their last such loop."""

    def copy(self) -> Windows:
        return replace(self, _counters=dict(self._counters), _refused=dict(self._refused))

    def key(self, run: Execution) -> Hashable:
        """What it makes a difference to."""
        opened = self._open
        told = run.numbers.refused
        since = frozenset((who, count - self._refused.get(who, 0)) for who, count in told.items())
        if opened is None:
            return self._done, since
        meanwhile = frozenset((who, count - opened.refused.get(who, 0)) for who, count in told.items())
        return self._done, since, opened.leader, opened.state, opened.counters, meanwhile

    def look(self, run: Execution, warp: Warp) -> None:
        """A warp is before a turn of a loop."""
        turn = turn_of(warp, self.symbol)
        if turn is None:
            return
        who = warp.block, warp.number
        self.are_missing |= not turn.is_plain
        refused = run.numbers.refused
        if turn.is_last:
            self._leave(who)
            self._refused[who] = refused.get(who, 0)
            return
        if who not in self._counters:
            # What it was told outside of such loops a longer run may tell otherwise.
            self.are_missing |= self._refused.get(who, 0) != refused.get(who, 0)
        self._counters[who] = turn.counter
        last = 1 + self.margin
        if self._open is None and who not in self._done and turn.left == self.period + last:
            self._open = _Open(who, self._state(run, warp), (*sorted(self._counters.items()),), dict(refused))
        elif self._open is not None and self._open.leader == who and turn.left == last:
            self._close(run, warp, self._open)

    def end(self, run: Execution) -> None:
        """The run is over."""
        self.are_missing |= any(self._refused.get(who, 0) != count for who, count in run.numbers.refused.items())

    def _state(self, run: Execution, warp: Warp) -> Hashable:
        return _state(run, warp, self.symbol, self.states)

    def _close(self, run: Execution, warp: Warp, opened: _Open) -> None:
        self._open = None
        gone = {who: self._counters[who] - counter for who, counter in opened.counters if who in self._counters}
        moved = {who for who, steps in gone.items() if steps == self.period}
        are_same = gone.keys() == self._counters.keys() == dict(opened.counters).keys()
        has_gone_around = are_same and all(steps in (0, self.period) for steps in gone.values())
        self.are_missing |= not has_gone_around or not moved.isdisjoint(self._done)
        self.are_missing |= self._state(run, warp) != opened.state
        # Before the end of their loop nobody has been told of it; of the others, nobody meanwhile.
        before = {who: self._refused.get(who, 0) if who in moved else count for who, count in opened.refused.items()}
        told = run.numbers.refused
        self.are_missing |= any(before.get(who, 0) != count for who, count in told.items())
        self._done |= moved

    def _leave(self, who: tuple[int, int]) -> None:
        """A warp has gone through its loop; who leaves it in a window is not where it was."""
        self.are_missing |= who not in self._done
        self._counters.pop(who, None)
        self._done -= {who}
        if self._open is not None and who in dict(self._open.counters):
            self.are_missing = True


@dataclass(frozen=True, slots=True)
class Turn:
    """Of a loop that takes as many steps as a number says, and perhaps some more or less, what comes next."""

    counter: int
    left: int
    """How far it is to the end."""
    is_plain: bool
    """Whether the loop goes step by step, and is inside of no other such loop."""

    @property
    def is_last(self) -> bool:
        """Whether the loop is over."""
        return self.left <= 0


def turn_of(warp: Warp, symbol: Symbol) -> Turn | None:
    """Of a warp before a turn of a loop: which one, where this number decides how many there are."""
    *outer, frame = warp.frames
    left = _left(warp, frame, symbol)
    if left is None:
        return None
    is_plain = left.terms == ((symbol, 1),) and all(_left(warp, each, symbol) is None for each in outer)
    constant = left.constant if type(left.constant) is int else 0
    steps = warp.numbers.known(Key(symbol, warp.tile)).least
    return Turn(-constant, steps + constant, is_plain and type(left.constant) is int)


def _left(warp: Warp, frame: Frame, symbol: Symbol) -> Linear | None:
    """How far a loop is from its end, where this number decides that."""
    if frame.step is None or frame.step.operation.name != "scf.for":
        return None
    left = subtract(warp.values[frame.step.operation.operands[1]], frame.counter)
    return left if isinstance(left, Linear) and any(each == symbol for each, _ in left.terms) else None


def _state(run: Execution, warp: Warp, symbol: Symbol, states: States) -> Hashable:
    """As if nobody knew the end of the loop that this warp is in, nor how many turns others have to come."""
    numbers = run.numbers
    key, residues = Key(symbol, warp.tile), numbers.residues
    turn = turn_of(warp, symbol)
    assert turn is not None
    known = numbers.bounds.get(key)
    numbers.bounds[key], numbers.residues = Bounds(turn.counter), {}
    try:
        return states.of(run, looked_at=symbol)
    finally:
        numbers.bounds.pop(key)
        if known is not None:
            numbers.bounds[key] = known
        numbers.residues = residues
