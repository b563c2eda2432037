"""Random operands of all sorts, with everything known."""

from __future__ import annotations

import math
import re
from random import Random
from typing import Any

from layout_strategies import PROFILES

from cutecc.layout import parse_int_tuple
from cutecc.layout.tuples import is_tuple, leaves, map_leaves, modes, nested_as, prefix_products, rank, show

_SIZES = (1, 2, 2, 3, 4, 4, 6, 8, 8, 16, 32, 64)
_STRIDES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, -1, -4)
INDICES = (0, 1, 2, 3, 5, 7, 8, 16, 17, 33)
_SWIZZLES = ("S<3,4,3>", "S<2,4,3>", "S<1,4,3>", "S<3,3,3>", "S<2,3,3>", "S<1,0,2>", "S<2,1,-3>")


class Drawing:
    """Draws operands."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def shape(self) -> Any:
        profile = self.random.choice(PROFILES)
        return map_leaves(lambda _: self.random.choice(_SIZES), profile)

    def sizes(self, count: int) -> Any:
        return tuple(self.random.choice(_SIZES) for _ in range(count))

    def strides(self, shape: Any) -> Any:
        """Compact ones, compact ones of another order, or any."""
        kind = self.random.randrange(3)
        if kind == 0:
            return prefix_products(shape)
        if kind == 1:
            sizes = list(leaves(shape))
            strides, step = [0] * len(sizes), 1
            for place in self.random.sample(range(len(sizes)), len(sizes)):
                strides[place] = step
                step *= sizes[place]
            return nested_as(shape, strides)
        return map_leaves(lambda _: self.random.choice(_STRIDES), shape)

    def to_coordinates(self, shape: Any) -> str:
        """Strides that lead to coordinates: `1@0`, `2@1@0`, …."""

        def along(part: Any, path: tuple[int, ...]) -> str:
            if is_tuple(part):
                return f"({','.join(along(each, (*path, mode)) for mode, each in enumerate(part))})"
            return f"{self.random.choice((1, 1, 1, 2))}" + "".join(f"@{mode}" for mode in reversed(path or (0,)))

        return along(shape, ())

    def offsets(self, shape: Any = None) -> str:
        """A plain layout, of offsets."""
        shape = self.shape() if shape is None else shape
        return f"{show(shape)}:{show(self.strides(shape))}"

    def layout(self, shape: Any = None) -> str:
        """A layout of offsets, or of coordinates."""
        shape = self.shape() if shape is None else shape
        return f"{show(shape)}:{self.to_coordinates(shape)}" if self.random.random() < 0.1 else self.offsets(shape)

    def swizzle(self) -> str:
        return self.random.choice(_SWIZZLES)

    def composed(self, shape: Any = None) -> str:
        """A swizzled layout, or a layout of a layout, whose offset then may be a coordinate."""
        shape = self.shape() if shape is None else shape
        if self.random.random() < 0.65:
            # Of other sizes and strides, CuTe takes swizzles apart into strides that are not theirs.
            shape = map_leaves(_power_of_two, shape)
            strides = map_leaves(_power_of_two, self.strides(shape))
            offset = self.random.choice((0, 0, 0, 8, 16, 64, 192))
            return f"{self.swizzle()} o {offset} o {show(shape)}:{show(strides)}"
        if self.random.random() < 0.5:
            inner = self.sizes(2)
            return f"{show(inner)}:{show(self.strides(inner))} o (0,0) o {show(shape)}:{self.to_coordinates(shape)}"
        inner = self.shape()
        offset = self.random.choice((0, 0, 3, 16))
        return f"{show(inner)}:{show(self.strides(inner))} o {offset} o {show(shape)}:{show(self.strides(shape))}"

    def any_layout(self, shape: Any = None) -> str:
        return self.composed(shape) if self.random.random() < 0.35 else self.layout(shape)

    def tensor(self, shape: Any = None, *, swizzled_layout: bool = True) -> str:
        """A tensor in memory, or one of coordinates."""
        shape = self.shape() if shape is None else shape
        kind = self.random.randrange(4 if swizzled_layout else 3)
        if kind == 0:
            zero = map_leaves(lambda _: self.random.choice((0, 0, 4)), shape)
            return f'!cute.coord_tensor<"{show(zero)}", "{show(shape)}:{self.to_coordinates(shape)}">'
        plain = f"{show(shape)}:{show(self.strides(shape))}"
        if kind == 1:
            return f'!cute.memref<f16, smem, align<1024>, {self.swizzle()}, "{plain}">'
        if kind == 2:
            return f'!cute.memref<f32, gmem, align<16>, "{plain}">'
        return f'!cute.memref<f16, smem, align<1024>, "{self.swizzle()} o 0 o {plain}">'

    def any_view(self, shape: Any = None) -> str:
        return self.tensor(shape) if self.random.random() < 0.4 else self.any_layout(shape)

    def tile(self, count: int, depth: int = 0) -> str:
        """A tile of up to `count` modes: a layout, a size, or a list of these, of `_` and of lists."""
        if depth == 0 and self.random.random() < 0.3:
            sizes = show(self.sizes(self.random.randint(1, count)))
            return self.random.choice((self.offsets(), f"tile {self.offsets()}", f"shape {sizes}"))
        parts: list[str] = []
        for _ in range(self.random.randint(1, count)):
            kind = self.random.random()
            if kind < 0.15:
                parts.append("_")
            elif kind < 0.25 and depth < 2:
                parts.append(self.tile(2, depth + 1))
            elif kind < 0.4:
                parts.append(self.offsets())
            else:
                parts.append(f"{self.random.choice(_SIZES)}:{self.random.choice((1, 1, 1, 2, 4))}")
        return f"[{';'.join(parts)}]"

    def coordinate(self, shape: Any, whole: float = 0.0) -> str:
        """A coordinate that nests as the shape does or less; `whole` is the chance of `_` for a mode."""
        if is_tuple(shape) and self.random.random() < 0.8:
            return f"({','.join(self.coordinate(mode, whole) for mode in shape)})"
        if self.random.random() < whole:
            return "_"
        # Most often one that there is.
        count = math.prod(size for size in leaves(shape) if size) if self.random.random() < 0.9 else 64
        return str(self.random.choice(INDICES) % abs(count))

    def int_tuple(self) -> str:
        profile = self.random.choice(PROFILES)
        return show(map_leaves(lambda _: self.random.choice((*INDICES, -3)), profile))

    def mode(self, shape: Any) -> list[int]:
        """A path into `shape`, most often one that there is."""
        path: list[int] = []
        while self.random.random() < 0.6:
            path.append(self.random.randrange(rank(shape)))
            shape = modes(shape)[path[-1]]
        return path

    def of_kind(self, *kinds: str) -> str:
        """An int tuple by what it is used as."""
        kind = self.random.choice(kinds)
        if kind == "stride" and self.random.random() < 0.3:
            return f"stride {self.to_coordinates(self.shape())}"
        if kind == "coord":
            return f"coord {self.coordinate(self.shape(), 0.2)}"
        return f"{kind} {show(self.shape()) if kind == 'shape' else self.int_tuple()}"


def _power_of_two(number: int) -> int:
    return 1 << (abs(number).bit_length() - 1) if number else 0


def shape_in(operand: str) -> Any:
    """The shape of a layout or tensor from its text, or an int tuple itself."""
    kind, _, text = operand.partition(" ")
    if kind in ("shape", "stride", "int_tuple", "coord"):
        return parse_int_tuple(re.sub(r"@\d+", "", text))
    layout = operand.split('"')[-2] if '"' in operand else operand
    return parse_int_tuple(layout.split(" o ")[-1].rpartition(":")[0])
