"""Read-modify-write by many threads at once: those with the same address do so one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.region import Region

Update = Callable[[Array, Array], Array]
"""Old values, and the threads they are for → new values."""

_SPARSE = 16
"""Elements a thread: tables with more are mostly empty, and not worth making."""
_NARROW = 64
"""Threads a turn: for fewer, NumPy takes longer than Python does."""


@dataclass(frozen=True, eq=False)
class Accumulate:
    """An update by a ufunc of two operands, the old value on its left: many threads' turns are one pass over them."""

    ufunc: np.ufunc
    operand: Array
    """Of every thread, flat, of the dtype that the ufunc is to compute in."""
    turn: Update | None = None
    """One turn, where it is not just the ufunc."""
    holds: Callable[[Array], bool] | None = None
    """Whether the ufunc alone gave the right values, from the operands and all that it came by."""

    def __call__(self, old: Array, threads: Array) -> Array:
        if self.turn is not None:
            return self.turn(old, threads)
        operand = self.operand[threads]
        return self.ufunc(old.view(operand.dtype), operand).view(old.dtype)


@dataclass(frozen=True, eq=False)
class OneByOne:
    """An update whose turn is also known for Python's numbers: quicker where many threads have few addresses."""

    turn: Update
    one: Callable[[int, int, int], int]
    """Old value, and the thread's two operands → new value; all unsigned."""
    operands: tuple[Array, Array]
    """Of every thread, flat."""

    def __call__(self, old: Array, threads: Array) -> Array:
        return self.turn(old, threads)


@dataclass(frozen=True, eq=False)
class _Turns:
    """Threads by address, those of each in ascending order: all arrays are flat, one element a thread."""

    threads: Array
    group: Array
    """The number of the thread's address."""
    turn: Array
    """How many threads come before it there."""
    count: int
    """Turns of the address that most threads have."""


def apply_update(region: Region, offsets: Array, threads: Array, function: Update, size: int) -> Array:
    """Update the values at flat `offsets`, for `threads` in ascending order. Returns what each thread found there."""
    count = len(offsets)
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    first = np.empty(count, np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    if len(starts) == count:
        (old,) = region.gather(offsets, size, 1)
        region.scatter(offsets, size, [function(old, threads)])
        return old
    group = np.cumsum(first) - 1
    turn = np.arange(count) - starts[group]
    turns = _Turns(threads[order], group, turn, int(turn.max()) + 1)
    places = ordered[starts]
    (current,) = region.gather(places, size, 1)
    found = None
    if isinstance(function, Accumulate) and len(starts) * turns.count <= _SPARSE * count:
        found = _accumulated(function, current, turns)
    elif isinstance(function, OneByOne) and count < _NARROW * turns.count:
        found = _one_by_one(function, current, turns)
    old, new = found or _in_turns(function, current, turns)
    region.scatter(places, size, [new])
    result = np.empty_like(old)
    result[order] = old
    return result


# Each returns what the threads found, and what there is at last at each address, of which `current` is the value.


def _accumulated(function: Accumulate, current: Array, turns: _Turns) -> tuple[Array, Array] | None:
    """A row an address, a column a turn. `ufunc.accumulate` goes from turn to turn, as the threads do. `None` when
    that is not right."""
    table = np.zeros((len(current), turns.count + 1), function.operand.dtype)
    table[:, 0] = current.view(table.dtype)
    table[turns.group, turns.turn + 1] = operand = function.operand[turns.threads]
    # Without a dtype, NumPy adds up narrow integers as wide ones.
    table = function.ufunc.accumulate(table, axis=1, dtype=table.dtype)
    if function.holds is not None and not (function.holds(operand) and function.holds(table)):
        return None
    table = table.view(current.dtype)
    return table[turns.group, turns.turn], table[np.arange(len(current)), np.bincount(turns.group)]


def _one_by_one(function: OneByOne, current: Array, turns: _Turns) -> tuple[Array, Array]:
    values: list[int] = current.tolist()
    found: list[int] = []
    one = function.one
    places: list[int] = turns.group.tolist()
    operands: list[list[int]] = [each[turns.threads].view(current.dtype).tolist() for each in function.operands]
    first, second = operands
    for place, b, c in zip(places, first, second, strict=True):
        found.append(values[place])
        values[place] = one(values[place], b, c)
    return np.array(found, current.dtype), np.array(values, current.dtype)


def _in_turns(function: Update, current: Array, turns: _Turns) -> tuple[Array, Array]:
    current = current.copy()
    found = np.empty(len(turns.threads), current.dtype)
    by_turn = np.argsort(turns.turn, kind="stable")
    stops = np.searchsorted(turns.turn[by_turn], np.arange(turns.count + 1))
    for number in range(turns.count):
        members = by_turn[stops[number] : stops[number + 1]]
        groups = turns.group[members]
        found[members] = old = current[groups]
        current[groups] = function(old, turns.threads[members])
    return found, current
