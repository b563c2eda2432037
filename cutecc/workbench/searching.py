"""Finding where a difference begins, by asking about as few places as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")

State = Literal["good", "bad", "unknown"]
"""Of a place: without the difference, with it, or it cannot be told."""


class Boundary(NamedTuple):
    """Between which two places the difference begins."""

    good: int
    """The index of the last place without it, -1 for before the first."""
    bad: int
    """The index of the first with it, or the number of places. Of all between the two it cannot be told."""
    tried: int
    """How many were asked about."""


def boundary(places: Sequence[T], state_at: Callable[[T], State]) -> Boundary:
    """Where among `places` the difference begins: there is none before the first, and behind the last it is there.

    Halves what is left with each question, and asks about neighbours where it cannot be told. Where the difference
    comes and goes, one of the places where it comes.
    """
    states: dict[int, State] = {}
    low, high = -1, len(places)
    while (middle := _nearest_unasked(low, high, states)) is not None:
        states[middle] = state_at(places[middle])
        if states[middle] == "good":
            low = middle
        elif states[middle] == "bad":
            high = middle
    return Boundary(low, high, len(states))


def _nearest_unasked(low: int, high: int, states: dict[int, State]) -> int | None:
    """Of what lies between, that nearest to the middle which nobody has asked about."""
    open_ones = [index for index in range(low + 1, high) if index not in states]
    return min(open_ones, key=lambda index: abs(2 * index - low - high), default=None)
