"""Numbers of a launch: what was decided of them so far, and what somebody asks of which too little is known."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from cutecc.proving.values import UNKNOWN, DependsOnPeriod, Linear, Shifted, Symbol, Value, add, multiply


@dataclass(frozen=True, slots=True)
class Count:
    """How many steps a loop over the grid takes: the least `k` of which `first + k * stride < end` is not true."""

    end: Symbol
    first: Symbol | None

    def __str__(self) -> str:
        return f"tiles of a block, of {self.end}"


class Undecided(Exception):
    """Whether a number is more than another: nothing that was decided so far says so."""

    def __init__(self, key: Key, steps: int) -> None:
        super().__init__(f"{key} > {steps}")
        self.key = key
        self.steps = steps


class NeedsPeriod(Exception):
    """A remainder or quotient of a number decides: it is to be known modulo a multiple of `factor`."""

    def __init__(self, symbol: Symbol, factor: int) -> None:
        super().__init__(f"{symbol.name} modulo {factor}")
        self.symbol = symbol
        self.factor = factor

    def __reduce__(self) -> tuple[object, ...]:
        return NeedsPeriod, (self.symbol, self.factor)


@dataclass(frozen=True, slots=True)
class Key:
    """A number: of the whole launch, or the one that a tile has of a number that may differ between tiles."""

    what: Symbol | Count
    tile: int | None = None

    def __str__(self) -> str:
        return f"{self.what}" if self.tile is None else f"{self.what} of tile {self.tile}"


@dataclass(slots=True)
class Bounds:
    """What is known of a number that is at least zero."""

    least: int = 0
    most: int | None = None

    @property
    def exact(self) -> int | None:
        return self.least if self.least == self.most else None


@dataclass(frozen=True, slots=True)
class Residue:
    """That a number is `first`, or more by a multiple of `period`."""

    first: int
    period: int


@dataclass(slots=True)
class Numbers:
    """What was decided of the numbers of a launch so far: they are found out as somebody asks."""

    bounds: dict[Key, Bounds] = field(default_factory=dict["Key", Bounds])
    residues: dict[Symbol, Residue] = field(default_factory=dict["Symbol", Residue])
    strides: dict[Count, Symbol] = field(default_factory=dict["Count", Symbol])
    tile: int | None = None
    """The tile that whoever asks is at."""
    asked_tile: int | None = None
    """The last one of which was asked whether it is there."""
    is_fixed: bool = False
    """Whether what a number is compared with now is the same in longer runs."""
    is_own: bool = False
    """Whether a loop asks for its own end now."""
    asker: Hashable = None
    """The warp that asks."""
    refused: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """How often warps have been told that there are no more steps than some, other than at the end of a loop."""

    def copy(self) -> Numbers:
        bounds = {key: Bounds(each.least, each.most) for key, each in self.bounds.items()}
        found = Numbers(bounds, dict(self.residues), dict(self.strides), self.tile, self.asked_tile)
        found.refused = dict(self.refused)
        return found

    def known(self, key: Key) -> Bounds:
        """What is known of a number: of a tile's, also what is of all tiles', and the other way round."""
        if key.tile is not None:
            found = self.bounds.get(key)
            return found if found is not None else self.bounds.get(Key(key.what), Bounds())
        of_tiles = [each for other, each in self.bounds.items() if other.what == key.what]
        mosts = [each.most for each in of_tiles if each.most is not None]
        return Bounds(max((each.least for each in of_tiles), default=0), min(mosts, default=None))

    def has_tile(self, end: Symbol, first: Symbol | None, stride: Symbol | None, steps: Value) -> Value:
        """Whether there is a tile after so many steps of this stride."""
        count = Count(end, first)
        if stride is not None and self.strides.setdefault(count, stride) != stride:
            return UNKNOWN
        if type(steps) is not int:
            return UNKNOWN
        self.asked_tile = steps
        return self._exceeds(Key(count), steps)

    def exceeds(self, symbol: Symbol, steps: Value) -> Value:
        """Whether a number is more than another."""
        return self._exceeds(Key(symbol, self.tile), steps) if type(steps) is int else UNKNOWN

    def _exceeds(self, key: Key, steps: int) -> int:
        known = self.known(key)
        if known.least > steps:
            return 1
        residue = self.residues.get(key.what) if isinstance(key.what, Symbol) else None
        if known.most is not None and known.most <= steps:
            if self.is_fixed and residue is not None:
                raise DependsOnPeriod(f"{key} is compared with {steps}, which longer runs exceed")
            if residue is not None and not self.is_own:
                self.refused[self.asker] = self.refused.get(self.asker, 0) + 1
            return 0
        if residue is not None and not _could_be(residue, known, steps):
            # It cannot be this one: what is true of the one before is true of it.
            self.decide(key, steps, more=True)
            return 1
        raise Undecided(key, steps)

    def decide(self, key: Key, steps: int, *, more: bool) -> None:
        """Of a number that nothing was said of: that it is more, or not."""
        known = self.known(key)
        found = self.bounds[key] = Bounds(known.least, known.most)
        if more:
            found.least = max(found.least, steps + 1)
        else:
            found.most = steps if found.most is None else min(found.most, steps)

    def representative(self, linear: Linear, factor: int) -> Value:
        """A sum of multiples of one symbol as a number of which the period is known. Raises `NeedsPeriod`."""
        ((symbol, multiple),) = linear.terms
        exact = self.known(Key(symbol, self.tile)).exact
        residue = self.residues.get(symbol)
        if exact is not None:
            number = exact if residue is None else Shifted(exact, residue.period)
            return add(multiply(multiple, number), linear.constant)
        if residue is None or residue.period * multiple % factor:
            raise NeedsPeriod(symbol, factor)
        return add(multiply(multiple, Shifted(residue.first, residue.period)), linear.constant)


def _could_be(residue: Residue, known: Bounds, steps: int) -> bool:
    """Whether there is a number that is possible so far, and not more than so many."""
    first = residue.first
    if first < known.least:
        first += -(-(known.least - first) // residue.period) * residue.period
    return first <= steps
