"""Values that are made of several: structures, and vectors whose elements are not all alike."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.proving.numbers import Numbers
from cutecc.proving.values import UNKNOWN, Symbol, Value

Path = tuple[int, ...]
"""Positions, from the outside to the inside."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Parts that are known; the others are not."""

    parts: tuple[tuple[Path, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request to cancel a cluster that has not begun was answered."""

    number: int
    """Of the requests, from 0 on."""


def is_granted(answer: Value, numbers: Numbers) -> Value:
    """Whether there was a cluster to cancel: as long as there are some, of which the launch has a number."""
    if not isinstance(answer, Answer):
        return UNKNOWN
    return numbers.has_tile(Symbol("clusters to cancel"), None, None, answer.number)


def extracted(whole: Value, path: Path) -> Value:
    """A part, or a structure of parts."""
    if not isinstance(whole, Aggregate):
        return UNKNOWN
    size = len(path)
    inside = tuple((at[size:], value) for at, value in whole.parts if at[:size] == path)
    if len(inside) == 1 and not inside[0][0]:
        return inside[0][1]
    return Aggregate(inside) if inside else UNKNOWN


def inserted(whole: Value, part: Value, path: Path) -> Value:
    """The structure with another part there."""
    before = whole.parts if isinstance(whole, Aggregate) else ()
    kept = {at: value for at, value in before if at[: len(path)] != path}
    if isinstance(part, Aggregate):
        kept.update((path + at, value) for at, value in part.parts)
    elif part is not UNKNOWN:
        kept[path] = part
    return Aggregate(tuple(sorted(kept.items(), key=lambda each: each[0])))


def vector_of(elements: list[Value]) -> Value:
    """A vector: of elements that are one number, that number."""
    if all(type(each) is int and each == elements[0] for each in elements):
        return elements[0]
    return Aggregate(tuple(((at,), each) for at, each in enumerate(elements) if each is not UNKNOWN))


def element_of(vector: Value, at: int) -> Value:
    """An element of what `vector_of` makes."""
    return vector if type(vector) is int else extracted(vector, (at,))
