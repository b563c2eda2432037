"""Reading what CuTe prints: int tuples, layouts, composed layouts, swizzles and tiles."""

from __future__ import annotations

import functools
import re
from typing import Any

from cutecc.errors import LayoutError, SourceLocation
from cutecc.layout.basis import Basis, Ratio, add_coordinates
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.tuples import is_tuple, show

_TOKEN = re.compile(
    r"\s*(?:(?P<swizzle>S<\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(-?\d+)\s*>)"
    r"|(?P<symbol>\?(?:\{(?P<known>[^}]*)\})?)"
    r"|(?P<number>-?\d+)"
    r"|(?P<composed>o\b)"
    r"|(?P<mark>[()\[\]<>,;:@_/])"
    r"|(?P<end>$))"
)
# CuTe divides by a negative stride and keeps the sign in what it says of the quotient.
_KNOWN = re.compile(r"i(?P<width>8|16|32|64)|div=-?(?P<divisibility>\d{1,40})")

_DEEPEST = 64
LONGEST_NUMBER = 40
"""Characters: more than any size of 64 bits has."""


@functools.lru_cache(maxsize=65536)
def parse_layout(text: str) -> Layout:
    """The layout `text` spells. Raises `LayoutError` with the place of the mistake."""
    return _as_layout(parse(text), text)


@functools.lru_cache(maxsize=65536)
def parse_int_tuple(text: str) -> Any:
    """The int tuple, shape, stride or coordinate `text` spells: nested tuples, `None` for `_`."""
    parser = _Parser(text)
    value = parser.int_tuple()
    parser.finish()
    return value


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


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._symbols = 0
        self._depth = 0
        self._advance()

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            at = self._position + len(self._text[self._position :]) - len(self._text[self._position :].lstrip())
            raise self._error(f"unexpected '{self._text[at]}'", at)
        self._token = match
        self._start = match.start(match.lastgroup or 0)
        self._position = match.end()
        if len(match["number"] or "") > LONGEST_NUMBER or len(match["swizzle"] or "") > LONGEST_NUMBER:
            raise self._error(f"a number with more than {LONGEST_NUMBER} digits")

    def _enter(self) -> None:
        """Go into a tuple or tile; Python's stack is not endless."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"nested more than {_DEEPEST} deep")
        self._advance()

    def _next_is(self, mark: str) -> bool:
        return self._token["mark"] == mark

    def _expect(self, mark: str, what: str) -> None:
        if not self._next_is(mark):
            raise self._error(f"expected '{mark}' {what}")
        self._advance()

    def _error(self, message: str, at: int | None = None) -> LayoutError:
        column = (self._start if at is None else at) + 1
        return LayoutError(message, SourceLocation("layout", 1, column, self._text))

    def finish(self) -> None:
        if self._token["end"] is None:
            raise self._error("expected the end")

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
        start = self._start
        shape = self.int_tuple()
        if not self._next_is(":"):
            return shape
        self._advance()
        stride = self.int_tuple()
        try:
            return Layout(shape, stride)
        except LayoutError as error:
            raise self._error(error.message, start) from None

    def int_tuple(self) -> Any:
        if self._next_is("("):
            self._enter()
            parts: list[Any] = []
            while not self._next_is(")"):
                if parts:
                    self._expect(",", "or ')' in the tuple")
                parts.append(self.int_tuple())
            self._advance()
            self._depth -= 1
            return tuple(parts)
        if self._next_is("_"):
            self._advance()
            return None
        value = self._integer()
        if isinstance(value, int) and self._next_is("/"):
            value = self._ratio(value)
        path: list[int] = []
        while self._next_is("@"):
            self._advance()
            if self._token["number"] is None:
                raise self._error("expected the number of a mode after '@'")
            path.append(int(self._token["number"]))
            if path[-1] < 0:
                raise self._error("modes are counted from 0")
            self._advance()
        return Basis(value, tuple(reversed(path))) if path else value

    def _ratio(self, numerator: int) -> Ratio:
        """A part of a step; only what leads to coordinates, `1/2@0`, has steps."""
        self._advance()
        start, denominator = self._start, self._integer()
        if not isinstance(denominator, int) or denominator == 0:
            raise self._error("expected a number other than 0 after '/'", start)
        if not self._next_is("@"):
            raise self._error("expected '@' and the number of a mode after a part of a step")
        return Ratio(numerator, denominator)

    def _integer(self) -> Any:
        if self._token["number"]:
            value = int(self._token["number"])
            self._advance()
            return value
        if self._token["symbol"]:
            known = self._token["known"] or ""
            width, divisibility = 32, 1
            for word in known.split():
                match = _KNOWN.fullmatch(word)
                if match is None:
                    raise self._error(f"'{word}' says nothing about a '?'; expected i64 or div=NUMBER")
                width = int(match["width"] or width)
                divisibility = int(match["divisibility"] or divisibility)
                if divisibility == 0:
                    raise self._error("nothing but 0 is a multiple of 0")
            name = str(self._symbols)
            self._symbols += 1
            self._advance()
            return Symbolic(name=name, width=width, divisibility=divisibility)
        raise self._error("expected a number, '?' or '('")
