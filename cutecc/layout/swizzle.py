"""Swizzles, and layouts composed with them: how shared memory spreads rows over banks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from cutecc.errors import LayoutError
from cutecc.layout.basis import add_coordinates
from cutecc.layout.integers import Integer, Symbolic, exclusive_or
from cutecc.layout.layout import Layout
from cutecc.layout.tuples import Coordinate, IntTuple, is_static, is_tuple, leaves, show

_MOST_BITS = 64


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
        if self.bits + self.base + abs(self.shift) > _MOST_BITS:
            raise LayoutError(f"{self} is of more bits than an offset has: at most {_MOST_BITS} in all")

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    @property
    def period(self) -> int:
        """What can be added before or after it alike, in the units of the offset: a power of two."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def __call__(self, offset: Any) -> Integer:
        """Where `offset` goes. Raises `LayoutError` for a coordinate."""
        if is_tuple(offset):
            raise LayoutError(f"{self} takes an offset, not the coordinate {show(offset)}")
        if self.bits == 0:
            return offset
        flipping = ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))
        if isinstance(offset, int):
            flips = offset & flipping
            return offset ^ (flips >> self.shift if self.shift >= 0 else flips << -self.shift)
        return exclusive_or(offset, flipping, self.shift)


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """`inner o offset o outer`: a coordinate goes through `outer`, then `offset` is added, then through `inner`."""

    inner: Swizzle | Layout | ComposedLayout
    offset: IntTuple
    outer: Layout

    def __post_init__(self) -> None:
        if isinstance(self.inner, Swizzle) and is_tuple(self.offset):
            raise LayoutError(f"{self.inner} takes an offset, not the coordinate {show(self.offset)}")
        if not all(isinstance(leaf, int | Symbolic) for leaf in leaves(self.offset)):
            raise LayoutError(f"'{show(self.offset)}' is not an offset")

    def __str__(self) -> str:
        return f"{self.inner} o {show(self.offset)} o {self.outer}"

    def __call__(self, coordinate: Coordinate) -> Any:
        """The offset of a coordinate."""
        return self.inner(add_coordinates(self.offset, self.outer(coordinate)))

    def __len__(self) -> int:
        return len(self.outer)

    @property
    def shape(self) -> IntTuple:
        """The shape of its coordinates, which is that of `outer`."""
        return self.outer.shape

    @property
    def rank(self) -> int:
        return self.outer.rank

    @property
    def depth(self) -> int:
        return self.outer.depth

    @property
    def size(self) -> Integer:
        return self.outer.size

    @property
    def cosize(self) -> Integer:
        """The cosize of `outer`, which a swizzle keeps within its own period."""
        if not isinstance(self.inner, Swizzle):
            raise LayoutError(f"cosize of {self}: only that of a swizzled layout is known")
        return self.outer.cosize

    @property
    def is_static(self) -> bool:
        """Whether every size, stride and offset is known."""
        return (
            self.outer.is_static
            and is_static(self.offset)
            and (isinstance(self.inner, Swizzle) or self.inner.is_static)
        )


AnyLayout: TypeAlias = Layout | ComposedLayout
SomeLayout = TypeVar("SomeLayout", bound=AnyLayout)
Rest = ParamSpec("Rest")


class _OnEither(Protocol[Rest]):
    def __call__(self, layout: SomeLayout, *args: Rest.args, **kwargs: Rest.kwargs) -> SomeLayout: ...


def on_outer(function: Callable[Concatenate[Layout, Rest], Layout]) -> _OnEither[Rest]:
    """An operation on layouts that is, on a composed one, the same on its outer layout. Results are kept by value."""
    remembered = functools.lru_cache(maxsize=65536)(function)

    @functools.wraps(function)
    def either(layout: Any, *args: Rest.args, **kwargs: Rest.kwargs) -> Any:
        if isinstance(layout, ComposedLayout):
            return ComposedLayout(layout.inner, layout.offset, remembered(layout.outer, *args, **kwargs))
        return remembered(layout, *args, **kwargs)

    return either
