"""Pictures of the layouts that stand in a module's text: rules from which the page draws each grid.

A picture is a few numbers, however large its grid is: sizes and strides of its axes. The page works out a cell when it
shows it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgspec

from cutecc.errors import LayoutError
from cutecc.layout.algebra import show_tile
from cutecc.layout.basis import Basis, Ratio
from cutecc.layout.facts import LARGEST, facts_of, leads_to_coordinates
from cutecc.layout.layout import Layout, join, parse_layout
from cutecc.layout.pictures.banks import BITS, COUNT, Banks
from cutecc.layout.pictures.colours import SCALE, bank_colour, group_colour
from cutecc.layout.pictures.drawing import check_drawable, size_of
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.text import parse, parse_any_layout, parse_tile
from cutecc.layout.tuples import is_tuple, leaves, modes, show
from cutecc.report.fragments import (
    Fragment,
    Modes,
    bits_of,
    flat,
    matrix_instruction,
    scaled,
    through,
    tiled_copy,
    tiled_matrix,
)


class Axis(msgspec.Struct):
    """One side of a grid: an index counts through the modes, leftmost fastest."""

    shape: str
    """As CuTe spells it, `(4,(2,8))`."""
    modes: list[list[float | str]]
    """Of each leaf its size and its stride, and of a layout to coordinates the mode it leads to, `0` or `1.0`."""


class Stage(msgspec.Struct, omit_defaults=True):
    """What an offset goes through: it is added to, swizzled, or taken as the index of a layout."""

    add: int = 0
    swizzle: list[int] | None = None
    """Bits, base, shift."""
    modes: list[list[float | str]] | None = None


class Grid(msgspec.Struct, omit_defaults=True):
    """One grid."""

    name: str
    axes: list[Axis]
    """Rows, columns, and further ones that the page shows a slice at a time."""
    through: list[Stage] = []
    """What the sum over all axes goes through, in this order."""
    element_bits: int | None = None
    """Of an element in shared memory: the page shows banks."""
    threads: Modes | None = None
    """Of a thread-value layout: a thread and a value lead to the index of a cell, rows fastest."""
    values: Modes | None = None


class Picture(msgspec.Struct, omit_defaults=True):
    """What the page draws for one text."""

    title: str
    kind: str
    """`layout`, `swizzle`, `copy` or `mma`."""
    grids: list[Grid]
    notes: list[str] = []


class NoPicture(msgspec.Struct):
    """Why there is none."""

    reason: str


class Colours(msgspec.Struct):
    """The colours of all pictures, those of `cutecc layout` too."""

    scale: list[str]
    """From the first offset to the last."""
    banks: list[str]
    groups: list[str]
    """Of threads; they begin again after the last."""


class Layouts(msgspec.Struct):
    """The chunk `layouts` of a page."""

    colours: Colours
    bank_count: int
    bank_bits: int
    pictures: dict[str, Picture | NoPicture]
    """By the text in the module: a type, or a layout without its quotes."""


_TYPES = re.compile(
    r'!cute(?:\.(?:memref<(?:[^"<>]|<[^<>"]*>)*"[^"]*">'
    r'|tiled_copy<[^\n]*?tiler_mn = <"[^"]*">>'
    r'|tiled_mma<[^\n]*?atom_layout_MNK = <"[^"]*">(?:, permutation_MNK = <"[^"]*">)?>)'
    r"|_nvgpu\.(?:sm\d+|SM\d+)\.mma\w*<(?:[^<>\n]|<[^<>]*>)*>)"
)
_QUOTED = re.compile(r'"((?:S<|[(\d?])[\w<>,():@?{}= /-]*)"')
_MEMREF = re.compile(r'!cute\.memref<(.*?), (\w+)(?:, align<\d+>)?(?:, (S<[^>]*>))?, "([^"]*)">')
_COPY = re.compile(r'!cute\.tiled_copy<(.*), layout_copy_tv = <"([^"]*)">, tiler_mn = <"([^"]*)">>')
_MMA = re.compile(r'!cute\.tiled_mma<(.*), atom_layout_MNK = <"([^"]*)">(?:, permutation_MNK = <"([^"]*)">)?>')
_SHARED = ("smem", "dsmem")
_GROUPS = 512
"""`group_colour` repeats itself after these."""
_LONGEST = 4000
"""Characters of a text that is looked at."""


def layout_pictures(texts: Iterable[str]) -> Layouts:
    """Pictures of every layout, tiled copy and tiled MMA that stands in `texts`, or why there is none."""
    found: dict[str, None] = {}
    for text in texts:
        if "!cute" in text:
            found.update(dict.fromkeys(_TYPES.findall(text)))
            found.update(dict.fromkeys(_QUOTED.findall(text)))
    colours = Colours(
        list(SCALE), [bank_colour(at) for at in range(COUNT)], [group_colour(at) for at in range(_GROUPS)]
    )
    pictures: dict[str, Picture | NoPicture] = {}
    for text in found:
        if len(text) <= _LONGEST and (picture := picture_of_text(text)) is not None:
            pictures[text] = picture
    return Layouts(colours, COUNT, BITS, pictures)


def picture_of_text(text: str) -> Picture | NoPicture | None:
    """The picture of a type or a layout; `None` for a text with nothing of its own to draw."""
    try:
        for form, draw in _FORMS:
            if match := form.fullmatch(text):
                return draw(*match.groups())
        if text.startswith("!cute_nvgpu."):
            return _of_instruction(text)
        if ":" not in text and not text.startswith("S<"):
            return None
        value = parse(text)
        if isinstance(value, Swizzle):
            return _of_swizzle(value)
        return _of_layout(parse_any_layout(text)) if isinstance(value, Layout | ComposedLayout) else None
    except LayoutError as error:
        return NoPicture(error.message)


def _of_layout(layout: AnyLayout, element_bits: int | None = None, then: Sequence[Stage] = ()) -> Picture:
    check_drawable(layout)
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    through = [*(_inside(layout) if isinstance(layout, ComposedLayout) else []), *then]
    grid = Grid("", _axes(outer), through, element_bits)
    return Picture(str(layout), "layout", [grid])


def _axes(layout: Layout) -> list[Axis]:
    """Rows, columns and the rest. One mode goes across; the modes of a single mode count as its own."""
    while layout.rank == 1 and is_tuple(layout.shape):
        layout = layout[0]
    parts = [layout[mode] for mode in range(layout.rank)] if is_tuple(layout.shape) else [layout]
    axes = [Axis(show(part.shape), _modes(part)) for part in parts]
    return [Axis("1", []), *axes] if len(axes) < 2 else axes


def _modes(layout: Layout) -> list[list[float | str]]:
    found: list[list[float | str]] = []
    for size, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        if isinstance(stride, Basis):
            found.append([size, _step(stride), ".".join(map(str, stride.path))])
        else:
            found.append([size, stride])
    return found


def _step(stride: Basis) -> float:
    value = stride.value
    return value.numerator / value.denominator if isinstance(value, Ratio) else cast(int, value)


def _inside(layout: ComposedLayout) -> list[Stage]:
    """What offsets of the outer layout go through."""
    if is_tuple(layout.offset) or leads_to_coordinates(layout.outer):
        raise LayoutError(f"{layout.inner} takes coordinates; pictures are drawn of what takes offsets")
    first = [Stage(add=cast(int, layout.offset))] if layout.offset else []
    match layout.inner:
        case Swizzle(bits=bits, base=base, shift=shift):
            return [*first, Stage(swizzle=[bits, base, shift])]
        case ComposedLayout(outer=outer):
            return [*first, Stage(modes=_modes(outer)), *_inside(layout.inner)]
        case _:
            return [*first, Stage(modes=_modes(layout.inner))]


def _of_memref(element: str, space: str, swizzle: str | None, text: str) -> Picture | None:
    """A tensor in shared memory, with banks; of all others the layout alone says everything."""
    if space not in _SHARED:
        return None
    bits = Banks(bits_of(element)).element_bits
    then: list[Stage] = []
    notes = [f"banks of {bits}-bit elements, for a tensor that begins at bank 0"]
    if swizzle is not None:
        pattern = parse(swizzle)
        assert isinstance(pattern, Swizzle)
        # The swizzle of a pointer moves bytes; that of offsets moves elements.
        base = pattern.base + 3 - (bits.bit_length() - 1)
        if bits & (bits - 1) or base < 0:
            raise LayoutError(f"{pattern} of byte addresses splits elements of {bits} bits")
        then = [Stage(swizzle=[pattern.bits, base, pattern.shift])]
        notes.append(f"numbers are places in memory, in elements: {pattern} of the pointer moves bytes")
    picture = _of_layout(parse_any_layout(text), bits, then)
    title = f"{element} in shared memory, {f'{swizzle} o ' if swizzle else ''}{text}"
    return msgspec.structs.replace(picture, title=title, notes=notes)


def _of_swizzle(swizzle: Swizzle) -> Picture:
    """What a swizzle does to blocks of `2^base` offsets, in rows of `2^shift` of them."""
    columns = 1 << abs(swizzle.shift)
    layout = Layout((1 << swizzle.bits, columns), (columns, 1))
    check_drawable(layout)
    grid = Grid("", _axes(layout), [Stage(swizzle=[swizzle.bits, 0, swizzle.shift])])
    note = f"each cell is {1 << swizzle.base} offsets, which stay together" if swizzle.base else ""
    return Picture(str(swizzle), "swizzle", [grid], [note] if note else [])


def _of_copy(atom: str, layout: str, tile: str) -> Picture:
    threads_and_values = parse_layout(layout)
    tiler = parse_tile(tile)
    check_drawable(threads_and_values)
    parts = [part or Layout(1, 0) for part in (tiler if is_tuple(tiler) else (tiler,))]
    for part in parts:
        check_drawable(part)
    if threads_and_values.rank != 2:
        raise LayoutError(f"{threads_and_values} is not over threads and values")
    source, destination = tiled_copy(atom, threads_and_values)
    name = atom.removeprefix("!cute_nvgpu.atom.").partition("<")[0]
    if name.startswith(("tmem", "s2t")):
        named = [("the copy's threads and values", threads_and_values)]
    elif source == destination:
        named = [("source and destination", source)]
    else:
        named = [("source", source), ("destination", destination)]
    shapes, place = _places(parts)
    grids = [
        _thread_grid(title, shapes, _flat_through(place, each[0]), _flat_through(place, each[1]))
        for title, each in named
    ]
    return Picture(f"{name}, {layout} on the tile {show_tile(tiler)}", "copy", grids)


def _places(parts: list[Layout]) -> tuple[list[Any], Layout | None]:
    """The shapes of a tile's sides, and where an index in it lies, if not there itself."""
    shapes: list[Any] = [part.shape for part in parts]
    wide = [shape for shape in shapes if size_of(shape) > 1]
    if len(wide) == 1 and is_tuple(wide[0]):
        # A tile of several modes in one: its own modes are its sides.
        return list(modes(wide[0])), None
    compact = all(facts_of(part).compact for part in parts)
    if all(facts_of(part).in_order for part in parts) or not compact:
        return shapes, None
    step, sides = 1, list[Layout]()
    for part in parts:
        sides.append(scaled(part, step))
        step *= size_of(part.shape)
    return [size_of(shape) for shape in shapes], join(*sides)


def _flat_through(place: Layout | None, layout: Layout) -> Modes:
    return through(place, flat(layout)) if place else flat(layout)


def _thread_grid(name: str, shapes: Sequence[Any], threads: Modes, values: Modes) -> Grid:
    sides = [shape for at, shape in enumerate(shapes) if at < 2 or size_of(shape) > 1]
    axes = [Axis(show(shape), [[size_of(shape), 1]]) for shape in sides]
    trimmed = [[mode for mode in each if mode[0] != 1] for each in (threads, values)]
    return Grid(name, [Axis("1", []), *axes] if len(axes) < 2 else axes, threads=trimmed[0], values=trimmed[1])


def _of_mma(atom: str, atoms: str, permutation: str | None) -> Picture:
    layout = parse_layout(atoms)
    check_drawable(layout)
    tile = parse_tile(permutation) if permutation else ()
    parts = tile if is_tuple(tile) else (tile,)
    for part in parts:
        if part is not None:
            check_drawable(part)
    instruction = matrix_instruction(atom)
    fragments = tiled_matrix(instruction, layout, parts)
    (m, k), (n, _) = fragments[0].tile, fragments[1].tile
    return Picture(f"{_name_of(atom)} as {m}x{n}x{k}, atoms {atoms}", "mma", _of_operands(*fragments), _shared(atom))


def _of_instruction(atom: str) -> Picture:
    instruction = matrix_instruction(atom)
    return Picture(_name_of(atom), "mma", _of_operands(instruction.a, instruction.b, instruction.c), _shared(atom))


def _name_of(atom: str) -> str:
    family, _, rest = atom.removeprefix("!cute_nvgpu.").partition("<")
    return f"{family} {rest.partition(',')[0]}"


def _shared(atom: str) -> list[str]:
    if ".sm90.mma<" in atom:
        operands = "B" if "frag_kind = rs" in atom else "A and B"
        return [f"{operands} lie in shared memory: all 128 threads have every element"]
    if ".sm100.mma" in atom or ".sm107.mma" in atom:
        return ["threads are blocks here: T1 is the second of a pair"]
    return []


def _of_operands(a: Fragment, b: Fragment, c: Fragment) -> list[Grid]:
    """A and C as they are; B with K down, so that it stands above C as in a product on paper."""
    n, k = b.tile
    turned = Layout((n, k), (k, 1))
    grids = [
        ("A (M, K)", a.tile, a.threads, a.values),
        ("B (K, N)", (k, n), through(turned, b.threads), through(turned, b.values)),
        ("C (M, N)", c.tile, c.threads, c.values),
    ]
    found: list[Grid] = []
    for name, tile, threads, values in grids:
        if math.prod(size for size, _ in [*threads, *values]) > LARGEST:
            raise LayoutError(f"{name} has more than {LARGEST} pairs of thread and value")
        found.append(_thread_grid(name, tile, threads, values))
    return found


_FORMS: list[tuple[re.Pattern[str], Callable[..., Picture | None]]] = [
    (_MEMREF, _of_memref),
    (_COPY, _of_copy),
    (_MMA, _of_mma),
]
