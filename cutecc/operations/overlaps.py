"""Matrices of lists that must not share memory: any number of them, anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.operations.hazards import are_woven, extent, sharing

Named = tuple[str, int, Array]
"""A matrix of a list, its name and place."""


def check_lists(
    outputs: Mapping[str, Sequence[Array]], inputs: Mapping[str, Sequence[Array]], same: frozenset[str]
) -> None:
    """Raise `ArgumentError` where a matrix that is written shares memory with another one.

    An input in `same` may be the output at its place, in the same layout. Matrices may lie between each other's rows.
    """
    written, read = _named(outputs), _named(inputs)
    for (name, index, output), (other, place, array) in _meeting([*written, *read], len(written)):
        may_equal = other in same and index == place
        if not (may_equal and (output.address, output.layout) == (array.address, array.layout)):
            raise sharing(f"{name}[{index}]", output, f"{other}[{place}]", array, may_equal)


def _named(lists: Mapping[str, Sequence[Array]]) -> list[Named]:
    """Those that have elements."""
    listed = ((name, index, each) for name, arrays in lists.items() for index, each in enumerate(arrays))
    return [each for each in listed if 0 not in each[2].shape]


def _meeting(matrices: Sequence[Named], written: int) -> Iterator[tuple[Named, Named]]:
    """The pairs that share memory of which one, the first of the pair, is among the first `written` matrices.

    In the order of their addresses, each is held at once against all that begin before it ends.
    """
    rows, order = _in_order([each for _, _, each in matrices])
    is_written, reach = order < written, rows[:, 0].searchsorted(rows[:, 1])
    for first, end in enumerate(reach.tolist()):
        others = slice(first + 1, end)
        if end <= first + 1 or not (is_written[first] or is_written[others].any()):
            continue
        meets = (is_written[others] | is_written[first]) & ~_lie_between(rows[first], rows[others])
        for second in meets.nonzero()[0]:
            one, other = matrices[int(order[first])], matrices[int(order[first + 1 + second])]
            if not are_woven(one[2], other[2]):
                yield (one, other) if is_written[first] else (other, one)


def _in_order(arrays: Sequence[Array]) -> tuple[Any, Any]:
    """`_rows` of each, in the order of their addresses, and that order."""
    rows = np.array([_rows(each) for each in arrays], np.int64).reshape(-1, 4)
    order = np.argsort(rows[:, 0], kind="stable")
    return rows[order], order


def _rows(array: Array) -> tuple[int, int, int, int]:
    """Where a matrix begins and ends, the bytes from row to row (0 of a single row), and those of a row."""
    low, high = extent(array)
    steps = [
        (abs(step) * array.itemsize, count) for count, step in zip(array.shape, array.stride, strict=True) if count > 1
    ]
    pitch, count = max(steps, default=(0, 1))
    if pitch <= array.itemsize:
        pitch, count = 0, 1
    return array.address + low, array.address + high, pitch, high - low - pitch * (count - 1)


def _lie_between(one: Any, others: Any) -> Any:
    """Which matrices lie between the rows of one, or it between theirs; of other distances of rows none are found."""
    pitch = others[:, 2] + (others[:, 2] == 0) * one[2]
    is_alike = (pitch > 0) & ((pitch == one[2]) | (one[2] == 0))
    distance = (others[:, 0] - one[0]) % (pitch + (pitch == 0))
    return is_alike & (one[3] <= distance) & (distance + others[:, 3] <= pitch)
