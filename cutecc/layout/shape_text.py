"""Reading what CuTe prints of numbers: int tuples, shapes with strides, and the marks between them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from cutecc.errors import LayoutError, SourceLocation
from cutecc.layout.basis import Basis, Ratio
from cutecc.layout.integers import Symbolic

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
def parse_int_tuple(text: str) -> Any:
    """The int tuple, shape, stride or coordinate `text` spells: nested tuples, `None` for `_`."""
    reader = ShapeReader(text)
    value = reader.int_tuple()
    reader.finish()
    return value


class ShapeReader:
    """Reads a text from left to right; each `LayoutError` says where."""

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

    @property
    def composes(self) -> bool:
        """Whether a swizzle is next, or the `o` between layouts: what a plain layout has not."""
        return self._token["swizzle"] is not None or self._token["composed"] is not None

    def shape(self, with_stride: Callable[[Any, Any], Any]) -> Any:
        """An int tuple, or what `with_stride` makes of it and the stride behind its `:`, whose errors are here."""
        start = self._start
        shape = self.int_tuple()
        if not self._next_is(":"):
            return shape
        self._advance()
        stride = self.int_tuple()
        try:
            return with_stride(shape, stride)
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
