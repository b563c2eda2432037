"""The steady state of a loop inside of a loop over tiles.

A run with one number of steps stands for the runs with a period more, two more, and so on, if in each tile the loop
comes to a state that it comes to again after one period, before anybody has been told where the loop ends: what lies
between can then be repeated as often as one likes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.proving.numbers import Bounds, Key
from cutecc.proving.values import Linear, Symbol

if TYPE_CHECKING:
    from cutecc.proving.execution import Execution
    from cutecc.proving.states import States
    from cutecc.proving.warps import Warp


@dataclass(frozen=True, slots=True)
class Steady:
    """From which step on a loop that goes on and on repeats itself, and after how many steps."""

    first: int
    period: int


@dataclass(slots=True)
class Window:
    """What was seen of the loop that goes on, of whoever is furthest ahead."""

    symbol: Symbol
    number: int
    """Of steps."""
    period: int
    states: States
    tile: int | None = None
    steps: int = -1
    """How far whoever is furthest has come in the tile."""
    seen: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    is_found: bool = True
    """Whether the last loop that was gone through had such a state."""
    is_missing: bool = False
    """Whether some loop had none."""
    first: Steady | None = None
    """The first state that came again."""

    def copy(self) -> Window:
        return replace(self, seen=dict(self.seen))

    def look(self, run: Execution, warp: Warp) -> None:
        """A warp is before a turn of a loop."""
        counter = self.counter_of(warp)
        if counter is None or not self._is_ahead(warp.tile, counter):
            return
        if warp.tile != self.tile:
            self.is_missing |= not self.is_found
            self.tile, self.seen, self.is_found = warp.tile, {}, False
        self.steps = counter
        if not self._is_looked_at(counter):
            return
        state = self._state(run)
        before = self.seen.setdefault(state, counter)
        if before < counter and self.first is None:
            self.first = Steady(before, counter - before)
        self.is_found = 0 < counter - before == self.period

    def counter_of(self, warp: Warp) -> int | None:
        """Of a warp before a turn of a loop: which one, where it is a loop of so many steps."""
        frame = warp.frames[-1]
        if frame.step is None or frame.step.operation.name != "scf.for":
            return None
        end, counter = warp.values[frame.step.operation.operands[1]], frame.counter
        is_ours = isinstance(end, Linear) and end.terms[0][0] == self.symbol and type(counter) is int
        return counter if is_ours else None

    def end(self) -> bool:
        """Whether every loop that was gone through had a state that came again."""
        return self.is_found and not self.is_missing

    def _is_looked_at(self, counter: int) -> bool:
        """Of a loop whose period is known, the last turns that are one apart."""
        if self.period:
            return counter in (self.number - 1 - self.period, self.number - 1)
        return self.first is None and counter < self.number

    def _is_ahead(self, tile: int | None, counter: int) -> bool:
        if tile == self.tile:
            return counter > self.steps
        return tile is not None and (self.tile is None or tile > self.tile)

    def _state(self, run: Execution) -> Hashable:
        """As if nobody knew the end of this tile's loop."""
        numbers = run.numbers
        key, residues = Key(self.symbol, self.tile), numbers.residues
        known = numbers.bounds.get(key)
        numbers.bounds[key], numbers.residues = Bounds(self.steps), {}
        try:
            return self.states.of(run)
        finally:
            numbers.bounds.pop(key)
            if known is not None:
                numbers.bounds[key] = known
            numbers.residues = residues
