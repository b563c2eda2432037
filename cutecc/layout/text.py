"""Reading what CuTe prints of layouts: composed ones, swizzles and tiles as well."""

from __future__ import annotations

import functools
from typing import Any

from cutecc.errors import LayoutError
from cutecc.layout.basis import add_coordinates
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.shape_text import ShapeReader
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.tuples import is_tuple, show


@functools.lru_cache(maxsize=65536)
def parse_tile(text: str) -> Any:
    """The tile `text` spells, `[16:1;_]` or C++'s `<16:1,_>`: a layout, `None`, or a tuple of them."""
    parser = _Parser(text)
    value = parser.tile()
    parser.finish()
    return value


@functools.lru_cache(maxsize=65536)
def parse_any_layout(text: str) -> AnyLayout:
    """The layout or composed layout `text` spells; a shape alone is a compact layout."""
    value = parse(text)
    return value if isinstance(value, ComposedLayout) else _as_layout(value, text)


def _as_layout(value: Any, text: str) -> Layout:
    """A layout; of a shape alone the compact one."""
    if isinstance(value, Swizzle | ComposedLayout):
        raise LayoutError(f"'{text}' is not a plain layout")
    return value if isinstance(value, Layout) else make_layout(value)


@functools.lru_cache(maxsize=65536)
def parse(text: str) -> Any:
    """Whatever `text` spells: an int tuple, a layout, a composed layout, a swizzle or a tile."""
    parser = _Parser(text)
    value = parser.value()
    parser.finish()
    return value


def _composed(first: Any, offset: Any, outer: Any) -> AnyLayout:
    """`first o offset o outer`, shapes alone as compact layouts."""
    if isinstance(outer, Swizzle):
        raise LayoutError("'o' stands between a swizzle or layout, an offset, and a layout")
    outer = _as_layout(outer, show(outer))
    composed = ComposedLayout(first if isinstance(first, Swizzle) else _as_layout(first, show(first)), offset, outer)
    _check_range(composed)
    return outer if isinstance(first, Swizzle) and first.bits == 0 and offset == 0 else composed


def _check_range(composed: ComposedLayout) -> None:
    """Whether the inner layout takes what the outer one gives, as CuTe asks: it tries where the outer one begins."""
    inner, outer = composed.inner, composed.outer
    try:
        begin = add_coordinates(composed.offset, outer(0))
    except LayoutError:
        raise LayoutError(f"the offset {show(composed.offset)} cannot be added to the coordinates of {outer}") from None
    if isinstance(inner, Swizzle) and is_tuple(begin):
        raise LayoutError(f"{inner} takes offsets, and {outer} leads to coordinates")
    if isinstance(inner, Layout) and not _is_coordinate(begin, inner.shape):
        raise LayoutError(f"{inner} takes no coordinate such as {show(begin)}, where {outer} begins")


def _is_coordinate(value: Any, shape: Any) -> bool:
    """Whether `value` nests as `shape` does, or less."""
    if not is_tuple(value):
        return True
    return is_tuple(shape) and len(value) == len(shape) and all(map(_is_coordinate, value, shape))


class _Parser(ShapeReader):
    """Reads layouts of all kinds."""

    def value(self) -> Any:
        if self._next_is("[") or self._next_is("<"):
            return self.tile()
        return self.layout()

    def tile(self) -> Any:
        for opening, separator, closing in (("[", ";", "]"), ("<", ",", ">")):
            if self._next_is(opening):
                self._enter()
                parts = [self.tile()]
                while self._next_is(separator):
                    self._advance()
                    parts.append(self.tile())
                self._expect(closing, "at the end of the tile")
                self._depth -= 1
                return tuple(parts)
        if self._next_is("_"):
            self._advance()
            return None
        start, value = self._start, self.layout()
        try:
            return _as_layout(value, self._text)
        except LayoutError as error:
            raise self._error(error.message, start) from None

    def layout(self) -> Any:
        """An int tuple, a layout, a swizzle, or two composed by `o`."""
        start = self._start
        first = self._simple()
        if self._token["composed"] is None:
            return first
        self._advance()
        offset = self.int_tuple()
        if self._token["composed"] is None:
            raise self._error("expected 'o' and a layout after the offset")
        self._advance()
        outer = self._simple()
        try:
            return _composed(first, offset, outer)
        except LayoutError as error:
            raise self._error(error.message, start) from None

    def _simple(self) -> Any:
        if self._token["swizzle"]:
            bits, base, shift = (int(self._token[group]) for group in (2, 3, 4))
            self._advance()
            return Swizzle(bits, base, shift)
        return self.shape(Layout)
