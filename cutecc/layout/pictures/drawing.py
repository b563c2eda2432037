"""The picture of a layout as it is: a cell for each coordinate, labelled with its offset."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import ArithmeticTuple, add_coordinates
from cutecc.layout.facts import LARGEST, leads_to_coordinates, offsets
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout, crd2idx, idx2crd
from cutecc.layout.pictures.banks import Banks
from cutecc.layout.pictures.colours import EMPTY, bank_colour, scale_colour
from cutecc.layout.pictures.grid import Axis, Cell, Panel, Picture, axis_of, kept_of, left_out
from cutecc.layout.swizzle import AnyLayout, ComposedLayout
from cutecc.layout.tuples import is_tuple, leaves, modes, show

Line = Literal["offset", "index", "coordinate", "bank"]
"""What a line of a cell's label says: where the layout leads, the coordinate's number, the coordinate, or the bank."""
MOST_PANELS = 16
"""Panels beside each other, and below each other."""


@dataclass(frozen=True)
class Element:
    """One coordinate of a layout and where it leads."""

    indices: tuple[int, ...]
    """One for each mode at the top."""
    index: int
    coordinate: Any
    offset: Any


def picture_of(
    layout: AnyLayout,
    *,
    begin: ArithmeticTuple = 0,
    lines: Sequence[Line] = (),
    banks: Banks | None = None,
) -> Picture:
    """A picture of `layout`: its first mode down, the second across, a panel for each coordinate of the others.

    `begin` is added to every offset. Each cell says the `lines`, the offset when there are none; its colour goes from
    the first offset to the last, or with `banks` is the bank's. Raises `LayoutError` for sizes that are not known, or
    above 2^20 coordinates.
    """
    check_drawable(layout, begin)
    colour = _bank_colours(layout, begin, banks) if banks else _offset_colours(layout, begin)
    said: Sequence[Line] = lines or (("bank",) if banks else ("offset",))

    def cell(indices: tuple[int, ...]) -> Cell:
        element = element_at(layout, indices, begin)
        return Cell(labels(element, said, banks), *colour(element))

    title = _name(layout, begin)
    panels, notes = panels_of(layout.shape, cell)
    subtitle = f"shared memory banks of {banks.element_bits}-bit elements, 32 banks of 4 bytes" if banks else ""
    return Picture(title, panels, subtitle, notes=notes)


def check_drawable(layout: AnyLayout, begin: ArithmeticTuple = 0) -> None:
    """Raise `LayoutError` when a size, stride or the beginning is unknown, or there are more than 2^20 coordinates."""
    for name, value in [*_parts(layout), ("beginning", begin)]:
        for path, leaf in _with_paths(value):
            if isinstance(getattr(leaf, "value", leaf), Symbolic):
                where = f"mode {'.'.join(map(str, path))} of the {name}" if path else f"the {name}"
                drawn = _name(layout, begin)
                raise LayoutError(
                    f"a picture needs numbers: '{leaf}', {where} of {drawn}, is known only to a running kernel",
                    hints=["put a number in its place"],
                )
    if cast(int, layout.size) > LARGEST:
        raise LayoutError(
            f"{layout} has {layout.size} coordinates, and a picture takes at most {LARGEST}",
            hints=["draw a part of it: local_tile(layout, tile, coord) or slice(layout, coord)"],
        )


def _name(layout: AnyLayout, begin: ArithmeticTuple) -> str:
    return f"{show(begin)} o {layout}" if begin != 0 else str(layout)


def _parts(layout: AnyLayout) -> list[tuple[str, Any]]:
    if isinstance(layout, ComposedLayout):
        inner = _parts(layout.inner) if isinstance(layout.inner, Layout | ComposedLayout) else []
        return [*inner, ("offset", layout.offset), *_parts(layout.outer)]
    return [("shape", layout.shape), ("stride", layout.stride)]


def _with_paths(value: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    if is_tuple(value):
        return [found for mode, part in enumerate(value) for found in _with_paths(part, (*path, mode))]
    return [(path, value)]


def element_at(layout: AnyLayout, indices: tuple[int, ...], begin: ArithmeticTuple = 0) -> Element:
    """The element at `indices`, one for each mode at the top of `layout`."""
    shape: Any = layout.shape
    at: Any = indices if is_tuple(shape) else indices[0]
    coordinate: Any = idx2crd(at, shape)
    return Element(indices, cast(int, crd2idx(coordinate, shape)), coordinate, add_coordinates(begin, layout(at)))


def labels(element: Element, lines: Sequence[Line], banks: Banks | None = None) -> tuple[str, ...]:
    """The lines of an element's label."""
    says: dict[Line, Callable[[], str]] = {
        "offset": lambda: show(element.offset),
        "index": lambda: str(element.index),
        "coordinate": lambda: show(element.coordinate),
        "bank": lambda: banks.label(element.offset) if banks else "",
    }
    return tuple(says[line]() for line in lines)


def _offset_colours(layout: AnyLayout, begin: Any) -> Callable[[Element], tuple[str, int | None]]:
    if is_tuple(begin) or leads_to_coordinates(layout):
        return lambda element: (EMPTY, None)
    found = offsets(layout)
    low, high = min(found, default=0), max(found, default=0)

    def colour(element: Element) -> tuple[str, int | None]:
        return scale_colour((element.offset - begin - low) / max(1, high - low)), None

    return colour


def _bank_colours(layout: AnyLayout, begin: Any, banks: Banks) -> Callable[[Element], tuple[str, int | None]]:
    if is_tuple(begin) or leads_to_coordinates(layout):
        raise LayoutError(f"{_name(layout, begin)} leads to coordinates; only offsets in memory have banks")

    def colour(element: Element) -> tuple[str, int | None]:
        bank = banks.first(element.offset)
        return bank_colour(bank), bank

    return colour


def panels_of(
    shape: Any, cell: Callable[[tuple[int, ...]], Cell], axes: Sequence[Axis] | None = None
) -> tuple[tuple[tuple[Panel, ...], ...], tuple[str, ...]]:
    """The panels of a shape, and notes on what is left out of them.

    One mode goes across, two go down and across, and there is a panel for each coordinate of those beyond: across for
    the third mode, and with four, the third down and the others across. `axes` replaces those made from the first two.
    """
    tops = modes(shape)
    own = [axis_of(mode) for mode in tops]
    rows, columns = axes or (own[:2] if len(own) > 1 else [Axis(1, ()), (own or [Axis(1, (str,))])[0]])
    if len(tops) <= 2:

        def matrix(i: int, j: int) -> Cell:
            return cell((i, j) if len(tops) == 2 else (j,) if tops else ())

        return ((Panel(rows, columns, matrix),),), ()
    down = own[2].size if len(tops) > 3 else 1
    beyond = own[3:] if len(tops) > 3 else own[2:]
    across = math.prod(axis.size for axis in beyond)
    kept_down, kept_across = kept_of(down, MOST_PANELS), kept_of(across, MOST_PANELS)

    def panel(d: int, a: int) -> Panel:
        rest: list[int] = [d] if len(tops) > 3 else []
        for axis in beyond:
            rest.append(a % axis.size)
            a //= axis.size

        def matrix(i: int, j: int) -> Cell:
            return cell((i, j, *rest))

        return Panel(rows, columns, matrix, f"(_,_,{','.join(map(str, rest))})")

    found = tuple(tuple(panel(d, a) for a in kept_across if a is not None) for d in kept_down if d is not None)
    notes = [
        f"matrices {gap} of {size} {where} are left out"
        for gap, size, where in ((left_out(kept_down), down, "down"), (left_out(kept_across), across, "across"))
        if gap
    ]
    return found, tuple(notes)


def size_of(value: Any) -> int:
    """The product of all leaves of a shape whose sizes are known."""
    return math.prod(leaves(value))
