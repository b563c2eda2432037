"""What the report page draws for a grid: the same arithmetic as `web/src/pictures/cells.ts`, in a few lines."""

from __future__ import annotations

import itertools
import math
from typing import Any

from cutecc.report.pictures import Grid


def moved(index: int, modes: list[Any]) -> dict[str, int]:
    """Where an index leads: by the mode of the coordinate, the empty name for a plain offset."""
    found: dict[str, int] = {}
    for at, (size, stride, *to) in enumerate(modes):
        part = index if at == len(modes) - 1 else index % size
        index //= size
        name = to[0] if to else ""
        found[name] = found.get(name, 0) + part * stride
    return found or {"": 0}


def offset(grid: Grid, coordinate: tuple[int, ...]) -> Any:
    """The number in the cell at `coordinate`, or the coordinate as a mapping."""
    total: dict[str, int] = {}
    for at, axis in zip(coordinate, grid.axes, strict=True):
        for name, value in moved(at, axis.modes).items():
            total[name] = total.get(name, 0) + value
    if any(total) or len(total) > 1:
        return {name: value for name, value in total.items() if name}
    number = total.get("", 0)
    for stage in grid.through:
        number += stage.add
        if stage.modes is not None:
            number = moved(number, stage.modes)[""]
        if stage.swizzle is not None:
            bits, base, shift = stage.swizzle
            flipping = number & (((1 << bits) - 1) << (base + max(shift, 0)))
            number ^= flipping >> shift if shift >= 0 else flipping << -shift
    return number


def sizes(grid: Grid) -> list[int]:
    return [math.prod(int(mode[0]) for mode in axis.modes) for axis in grid.axes]


def coordinates(grid: Grid) -> list[tuple[int, ...]]:
    """Of all cells, the first axis fastest."""
    return [each[::-1] for each in itertools.product(*(range(size) for size in reversed(sizes(grid))))]


def holders(grid: Grid) -> dict[int, list[tuple[int, int]]]:
    """By the index of a cell its threads and values."""
    assert grid.threads is not None and grid.values is not None
    found: dict[int, list[tuple[int, int]]] = {}
    for value in range(math.prod(size for size, _ in grid.values)):
        for thread in range(math.prod(size for size, _ in grid.threads)):
            index = moved(thread, grid.threads)[""] + moved(value, grid.values)[""]
            found.setdefault(index, []).append((thread, value))
    return found
