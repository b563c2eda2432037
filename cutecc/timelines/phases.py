"""Which copies each wait is for: the phases of the mbarriers of a pipeline, in the order in which they are filled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def phases_of(ends: Sequence[NDArray[np.float64]], copies: int, phases: int) -> list[NDArray[np.int64] | None]:
    """Of each lane the last copy of each of its waits, by its number in the order of time; `None`: not known.

    `ends` are when the waits of each lane ended, `copies` how many were begun, `phases` how many phases they fill, 0
    where nobody says it: then as many as a lane has waits. A lane waits for every phase, or for those of its turn, as
    in ping-pong, where consumers of one tile wait for some and those of the next tile for others.
    """
    phases = phases or max(map(len, ends))
    each, rest = divmod(copies, phases)
    if rest or not each:
        return [None] * len(ends)
    shared = None if all(len(waits) in (0, phases) for waits in ends) else _in_turns(ends, phases)
    found: list[NDArray[np.int64] | None] = []
    for number, waits in enumerate(ends):
        if len(waits) == phases:
            order = np.arange(phases)
        elif shared is None:
            found.append(None)
            continue
        else:
            order = shared[number]
        found.append((order + 1) * each - 1)
    return found


def _in_turns(ends: Sequence[NDArray[np.float64]], phases: int) -> list[NDArray[np.int64]] | None:
    """The phases of lanes that share them among one another: teams, whose lanes wait for the same ones at a time."""
    teams: list[list[int]] = []
    for number, waits in enumerate(ends):
        for team in teams:
            if _together(ends[team[0]], waits):
                team.append(number)
                break
        else:
            teams.append([number])
    if sum(len(ends[team[0]]) for team in teams) != phases:
        return None
    every = np.concatenate([ends[team[0]] for team in teams])
    rank = np.empty(phases, np.int64)
    rank[np.argsort(every, kind="stable")] = np.arange(phases)
    found: list[NDArray[np.int64]] = [rank[:0]] * len(ends)
    first = 0
    for team in teams:
        count = len(ends[team[0]])
        for number in team:
            found[number] = rank[first : first + count]
        first += count
    return found


def _together(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether two lanes wait for the same phases: their waits end within a part of a turn of one another."""
    if len(one) != len(other) or len(one) < 2:
        return len(one) == len(other)
    return float(np.median(np.abs(one - other))) < 0.5 * float(np.median(np.diff(one)))
