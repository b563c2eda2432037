"""Which elements that several tensors have in common stand side by side, as vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.layout import Layout, divisibility, leaves
from cutecc.layout.integers import Integer


@dataclass(frozen=True)
class Mode:
    """A mode that several layouts have in common."""

    size: int
    step: int
    """From one of its elements to the next, by their numbers in the layouts."""
    strides: tuple[Integer, ...]
    """The same in the memory of each tensor."""

    def repeated(self, count: int, by: int = 1) -> Mode:
        """`count` elements, each the first of `by` of these."""
        return Mode(count, self.step * by, tuple(stride * by for stride in self.strides))


def in_vectors(length: int, first: Layout, second: Layout, *others: Layout) -> Layout | None:
    """The elements of layouts by (element of a vector, vector): a layout of their numbers, to compose each one with.

    A vector is `length` elements, a power of two, side by side in the first two tensors; as far as their strides say it
    begins at a multiple of `length` in both. Vectors come in the order of their elements, so what of several elements
    in one place is written last stays the same. `None` where not all elements are in such vectors. Sizes are known, as
    MLIR asks of what is copied.
    """
    among = common_modes(first, second, *others)
    inside: list[Mode] = []
    count = 1
    while count < length:
        index = next((index for index, mode in enumerate(among) if mode.strides[:2] == (count, count)), None)
        if index is None:
            return None
        mode = among[index]
        taken = math.gcd(mode.size, length // count)
        if taken == 1:
            return None
        inside.append(mode.repeated(taken))
        among[index : index + 1] = [mode.repeated(mode.size // taken, by=taken)] if taken < mode.size else []
        count *= taken
    if any(divisibility(stride) % length for mode in among for stride in mode.strides[:2]):
        return None
    sizes, steps = zip(*map(_sizes_and_steps, (inside, among)), strict=True)
    return Layout(sizes, steps)


def common_modes(*layouts: Layout) -> list[Mode]:
    """The modes of layouts of one size, as few as all can be written with; without those of one element.

    Empty where one has a mode that ends amid one of another.
    """
    rests = [_modes(layout) for layout in layouts]
    found: list[Mode] = []
    step = 1
    while all(rests):
        sizes = [rest[0][0] for rest in rests]
        size = min(sizes)
        if any(other % size for other in sizes):
            return []
        mode = Mode(size, step, tuple(rest[0][1] for rest in rests))
        for rest in rests:
            whole, stride = rest.pop(0)
            if whole > size:
                rest.insert(0, (whole // size, stride * size))
        if found and found[-1].repeated(size, by=found[-1].size) == mode:
            found[-1] = found[-1].repeated(found[-1].size * size)
        else:
            found.append(mode)
        step *= size
    return [] if any(rests) else found


def _modes(layout: Layout) -> list[tuple[int, Integer]]:
    """Sizes and strides."""
    found: list[tuple[int, Integer]] = []
    for size, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        assert isinstance(size, int)
        if size != 1:
            found.append((size, stride))
    return found


def _sizes_and_steps(modes: Sequence[Mode]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not modes:
        return (1,), (0,)
    return tuple(mode.size for mode in modes), tuple(mode.step for mode in modes)
