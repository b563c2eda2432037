"""Swizzles, and layouts composed with them: how shared memory spreads rows over banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.errors import LayoutError
from cutecc.layout.integers import Integer, add, exclusive_or
from cutecc.layout.layout import Layout, crd2idx
from cutecc.layout.tuples import Coordinate, IntTuple, is_static, is_tuple, show


@dataclass(frozen=True, slots=True)
class Swizzle:
    """A permutation of offsets, `S<bits,base,shift>`: `bits` bits of the offset are flipped by others.

    The lowest `base` bits stay. With a positive `shift` the bits from `base + shift` up flip those from `base` up, with
    a negative one the other way round.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise LayoutError(
                f"{self} is not a permutation",
                hints=["S<bits,base,shift> needs bits and base of at least 0, and a shift of at least bits either way"],
            )

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __call__(self, offset: Integer) -> Integer:
        """Where `offset` goes."""
        mask = (1 << self.bits) - 1
        source = self.base + max(self.shift, 0)
        if self.bits == 0:
            return offset
        if isinstance(offset, int):
            flipping = offset & (mask << (self.base + max(self.shift, 0)))
            return offset ^ (flipping >> self.shift if self.shift >= 0 else flipping << -self.shift)
        return exclusive_or(offset, mask << source, self.shift)

    @property
    def period(self) -> int:
        """After how many offsets the pattern repeats."""
        return 1 << (self.base + self.bits + abs(self.shift))


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """`inner o offset o outer`: a coordinate goes through `outer`, then `offset` is added, then through `inner`."""

    inner: Swizzle | Layout | ComposedLayout
    offset: IntTuple
    outer: Layout

    def __str__(self) -> str:
        return f"{self.inner} o {show(self.offset)} o {self.outer}"

    def __call__(self, coordinate: Coordinate) -> Any:
        """The offset of a coordinate."""
        from cutecc.layout.basis import add_coordinates

        inside = add_coordinates(self.offset, crd2idx(coordinate, self.outer.shape, self.outer.stride))
        if isinstance(self.inner, Swizzle):
            if is_tuple(inside):
                raise LayoutError(f"{self.inner} takes an offset, not the coordinate {show(inside)}")
            return self.inner(inside)
        return self.inner(inside)

    def __len__(self) -> int:
        return len(self.outer)

    @property
    def shape(self) -> IntTuple:
        """The shape of its coordinates, which is that of `outer`."""
        return self.outer.shape

    @property
    def rank(self) -> int:
        """How many modes there are at the top."""
        return self.outer.rank

    @property
    def depth(self) -> int:
        """How deep modes nest."""
        return self.outer.depth

    @property
    def size(self) -> Integer:
        """How many coordinates there are."""
        return self.outer.size

    @property
    def is_static(self) -> bool:
        """Whether every size, stride and offset is known."""
        return (
            self.outer.is_static
            and is_static(self.offset)
            and (isinstance(self.inner, Swizzle) or self.inner.is_static)
        )


AnyLayout = Layout | ComposedLayout


def with_outer(layout: ComposedLayout, outer: Layout, offset: Integer = 0) -> ComposedLayout:
    """The same inner function and offset, moved by `offset`, of another `outer`."""
    assert not is_tuple(layout.offset)
    return ComposedLayout(layout.inner, add(layout.offset, offset), outer)
