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
    turns = int(turn.max()) + 1
    places = ordered[starts]
    (current,) = region.gather(places, size, 1)
    result = np.empty(count, current.dtype)
    final = None
    if isinstance(function, Accumulate) and len(starts) * turns <= _SPARSE * count:
        final = _accumulated(function, current, threads[order], group, turn, turns, result, order)
    elif isinstance(function, OneByOne) and count < _NARROW * turns:
        final = _one_by_one(function, current, threads[order], group, result, order)
    if final is None:
        final = _in_turns(function, current, threads[order], group, turn, turns, result, order)
    region.scatter(places, size, [final])
    return result


def _accumulated(
    function: Accumulate,
    current: Array,
    threads: Array,
    group: Array,
    turn: Array,
    turns: int,
    result: Array,
    order: Array,
) -> Array | None:
    """A row an address, a column a turn. `ufunc.accumulate` goes from turn to turn, as the threads do. `None` when
    that is not right."""
    table = np.zeros((len(current), turns + 1), function.operand.dtype)
    table[:, 0] = current.view(table.dtype)
    table[group, turn + 1] = operand = function.operand[threads]
    # Without a dtype, NumPy adds up narrow integers as wide ones.
    table = function.ufunc.accumulate(table, axis=1, dtype=table.dtype)
    if function.holds is not None and not (function.holds(operand) and function.holds(table)):
        return None
    table = table.view(current.dtype)
    result[order] = table[group, turn]
    last = np.bincount(group)
    return table[np.arange(len(current)), last]


def _one_by_one(function: OneByOne, current: Array, threads: Array, group: Array, result: Array, order: Array) -> Array:
    values: list[int] = current.tolist()
    found: list[int] = []
    one = function.one
    places: list[int] = group.tolist()
    operands: list[list[int]] = [each[threads].view(current.dtype).tolist() for each in function.operands]
    first, second = operands
    for place, b, c in zip(places, first, second, strict=True):
        found.append(values[place])
        values[place] = one(values[place], b, c)
    result[order] = found
    return np.array(values, current.dtype)


def _in_turns(
    function: Update,
    current: Array,
    threads: Array,
    group: Array,
    turn: Array,
    turns: int,
    result: Array,
    order: Array,
) -> Array:
    current = current.copy()
    by_turn = np.argsort(turn, kind="stable")
    stops = np.searchsorted(turn[by_turn], np.arange(turns + 1))
    for number in range(turns):
        members = by_turn[stops[number] : stops[number + 1]]
        groups = group[members]
        old = current[groups]
        result[order[members]] = old
        current[groups] = function(old, threads[members])
    return current
