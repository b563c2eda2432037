"""Parts of tensors whose layout is swizzled, lowered by cutecc's passes: each element is where it is in the whole.

The wheel's lowering is no measure here: it moves the pointers of some parts by what stays in their offsets too.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import wheel_oracle as wheel
from open_values import values_of
from wheel_oracle import Expression, Leaves, expression

import cutecc.layout as cl
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.layout import AnyLayout
from cutecc.layout.tuples import show

_ADDRESS = 4096
_SWIZZLES = ("S<3,4,3>", "S<2,4,3>", "S<1,4,3>", "S<3,3,3>", "S<2,3,3>")
_PARTS = 60


@dataclass(frozen=True)
class Part:
    """A part of a tensor of `f16`."""

    case: Expression
    values: Leaves
    layout: AnyLayout
    """Where its elements are in the whole."""


def drawn_part(chosen: random.Random) -> Part:
    """A slice, or a tile, at a coordinate of which some numbers are `?`."""
    shape = tuple(chosen.choice((2, 4, 8, 16, 32, 64)) for _ in range(chosen.randint(1, 3)))
    strides, step = [0] * len(shape), 1
    for mode in chosen.sample(range(len(shape)), len(shape)):
        strides[mode] = step
        step *= shape[mode]
    whole = f"{chosen.choice(_SWIZZLES)} o 0 o {show(shape)}:{show(tuple(strides))}"
    tile = tuple(1 << chosen.randrange(size.bit_length()) for size in shape)
    is_slice = chosen.random() < 0.5
    counts = shape if is_slice else tuple(size // part for size, part in zip(shape, tile, strict=True))
    left = chosen.randrange(len(shape))
    coordinate = tuple(
        None if mode == left or chosen.random() < 0.3 else chosen.randrange(count) for mode, count in enumerate(counts)
    )
    values, texts = [_ADDRESS], list[str]()
    for number in coordinate:
        if number is not None and chosen.random() < 0.4:
            values.append(number)
            texts.append("?")
        else:
            texts.append(show(number))
    tensor, at = f'!cute.memref<f16, smem, align<1024>, "{whole}">', f"({','.join(texts)})"
    if is_slice:
        part, _ = cl.slice_layout(coordinate, cl.parse(whole))
        return Part(expression("slice", tensor, at), tuple(values), part)
    part, _ = cl.local_tile(cl.parse(whole), tile, coordinate)
    tiler = f"[{';'.join(f'{size}:1' for size in tile)}]"
    return Part(expression("local_tile", tensor, tiler, at), tuple(values), part)


def known(type_text: str, values: Leaves) -> AnyLayout:
    """The layout of a tensor's type, its leaves known."""
    leaves = iter(values)
    return cl.parse(re.sub(r"\?(\{[^}]*\})?", lambda _: str(next(leaves)), type_text.split('"')[1]))


def test_elements_are_where_they_are_in_the_whole() -> None:
    chosen = random.Random(0)
    parts = [drawn_part(chosen) for _ in range(_PARTS)]
    taken_apart = 0
    with plain_values(), fresh_context():
        for part, written in zip(parts, wheel.written(part.case for part in parts), strict=True):
            if isinstance(written, Exception):
                continue
            pointer, *values = values_of(parse(written.text.encode()), written, part.values)
            (result,) = written.results
            layout = known(result, tuple(values))
            found = [pointer + 2 * layout(index) for index in range(layout.size)]
            assert found == [_ADDRESS + 2 * part.layout(index) for index in range(part.layout.size)], part
            taken_apart += "S<" not in result
    assert taken_apart > _PARTS // 10
