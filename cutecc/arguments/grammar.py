"""The parser of argument specs: one method per rule of the grammar in `docs/arguments.md`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from cutecc.arguments.dtypes import NumericType, close_type_names, find_numeric_type
from cutecc.arguments.literals import read_literal
from cutecc.arguments.specs import (
    SPACES,
    ConstSpec,
    Dynamic,
    Mode,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    Space,
    Spec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
    is_size_name,
)
from cutecc.errors import SourceLocation, SpecError

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTEGER = re.compile(r"-?[0-9]+")
_SCALAR = re.compile(r"[^\s,()]+")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_EXAMPLES = "examples: f32[?M,?N{div=4}] align=16, i32=100, const(64), stream, ptr<f16>, (f32[?N], i32), none"
_DEEPEST = 64
_LONGEST_INTEGER = 40
"""Digits: more than any size has."""
_T = TypeVar("_T")
_Tensor = TypeVar("_Tensor", TensorSpec, PointerSpec)


def parse_spec(text: str, source: SourceLocation | None = None) -> Spec:
    """The spec that `text` spells.

    `source` is where `text` begins, for error messages: a line of the user's file, or an option of the command line.
    Raises `SpecError` that points into it.
    """
    return _Grammar(text, source).parse()


class _Grammar:
    """Reads one spec from left to right."""

    def __init__(self, text: str, source: SourceLocation | None = None) -> None:
        self._text = text
        self._source = source or SourceLocation("argument spec", text=text)
        self._position = 0
        self._depth = 0

    def parse(self) -> Spec:
        """The spec that is the whole text; `SpecError` at the first character that does not fit."""
        spec = self._spec()
        self._skip_space()
        if self._position < len(self._text):
            self._fail("unexpected text after the spec", hints=[_EXAMPLES])
        return spec

    def _spec(self) -> Spec:
        if self._accept("("):
            return TupleSpec(self._items(")", self._spec))
        start = self._position
        word = self._match(_WORD)
        if word is None:
            self._fail("expected an argument spec", hints=[_EXAMPLES])
        match word.lower():
            case "none":
                return NoneSpec()
            case "stream":
                return StreamSpec()
            case "const":
                return self._const()
            case "ptr":
                return self._pointer()
            case _:
                pass
        dtype = self._numeric_type(word, start)
        if self._accept("["):
            return self._tensor(dtype, start)
        with self._blame(start):
            spec = ScalarSpec(dtype)
        return self._scalar(dtype) if self._accept("=") else spec

    def _tensor(self, dtype: NumericType, start: int) -> TensorSpec:
        shape = self._items("]", lambda: self._mode(least=1))
        with self._blame(start):
            spec = TensorSpec(dtype, shape)
        if self._accept(":"):
            self._skip_space()
            start = self._position
            self._expect("(", "before the strides")
            stride = self._items(")", self._mode)
            with self._blame(start):
                spec = dataclasses.replace(spec, stride=stride)
        return self._options(spec)

    def _pointer(self) -> PointerSpec:
        self._expect("<", "before the element type")
        self._skip_space()
        start = self._position
        dtype = self._numeric_type(self._match(_WORD) or "", start)
        self._expect(">", "after the element type")
        spec = PointerSpec(dtype)
        if self._accept("="):
            self._skip_space()
            start = self._position
            elements = self._integer("how many elements lie behind it")
            with self._blame(start):
                spec = PointerSpec(dtype, elements=elements)
        return self._options(spec)

    def _options(self, spec: _Tensor) -> _Tensor:
        """`@space`, `align=` and, for a tensor, `order=`, each at most once."""
        seen: set[str] = set()
        while True:
            self._skip_space()
            start = self._position
            name = "space" if self._accept("@") else (self._match(_WORD) or "")
            if not name:
                return spec
            known = ("space", "align", "order") if isinstance(spec, TensorSpec) else ("space", "align")
            if name not in known or name in seen:
                wrong = f"a second {name}" if name in seen else f"unknown option '{name}'"
                self._fail(wrong, start, hints=[f"options: @space, {', '.join(f'{o}=' for o in known[1:])}"])
            seen.add(name)
            if name != "space":
                self._expect("=", f"after '{name}'")
            self._skip_space()
            start = self._position
            with self._blame(start):
                match name:
                    case "space":
                        spec = dataclasses.replace(spec, space=self._space())
                    case "align":
                        spec = dataclasses.replace(spec, align=self._integer("an alignment in bytes"))
                    case _:
                        spec = dataclasses.replace(spec, order=self._order())

    def _space(self) -> Space:
        start = self._position
        word = self._match(_WORD)
        for space in SPACES:
            if word == space:
                return space
        self._fail("expected an address space", start, hints=[f"address spaces: {', '.join(SPACES)}"])

    def _order(self) -> tuple[int, ...]:
        self._expect("(", "before the order of the modes")
        return self._items(")", lambda: self._integer("the rank of a mode's stride"))

    def _mode(self, least: int | None = None) -> Mode:
        if self._accept("("):
            return self._items(")", lambda: self._mode(least))
        if self._accept("?"):
            return self._dynamic(self._position - 1)
        self._skip_space()
        start = self._position
        size = self._integer("a mode: a number, '?' or a nested tuple")
        if least is not None and size < least:
            self._fail(f"a static size is at least {least}", start)
        return size

    def _dynamic(self, start: int) -> Dynamic:
        name = self._match(_WORD)
        divisibility: int | None = None
        bits: int | None = None
        value: int | None = None
        if self._accept("{"):
            while not self._accept("}"):
                self._accept(",")
                self._skip_space()
                at = self._position
                fact = self._match(_WORD)
                if fact in ("i32", "i64") and bits is None:
                    bits = int(fact[1:])
                elif fact == "div" and divisibility is None:
                    self._expect("=", "after 'div'")
                    divisibility = self._integer("a divisibility")
                else:
                    self._fail("expected i64, i32, div= or '}'", at)
        if self._accept("="):
            value = self._integer("the size to run with")
        with self._blame(start):
            divisibility = 1 if divisibility is None else divisibility
            return Dynamic(name, divisibility, 64 if bits == 64 else 32, value)

    def _scalar(self, dtype: NumericType) -> ScalarSpec:
        self._skip_space()
        start = self._position
        word = self._match(_SCALAR)
        if word is None:
            self._fail(f"expected a value of type {dtype}")
        with self._blame(start):
            if dtype.is_integer and is_size_name(word):
                return ScalarSpec(dtype, size=word)
            match word.lower():
                case "inf" | "+inf" | "-inf":
                    value = float(word)
                case "true" | "false":
                    value = word.lower() == "true"
                case _:
                    value = _number(word)
            return ScalarSpec(dtype, value)

    def _const(self) -> ConstSpec:
        self._expect("(", "before the value of the constant")
        start = self._position
        depth = 1
        while depth:
            if self._position >= len(self._text):
                self._fail("expected ')' to end the constant", hints=[_EXAMPLES])
            if string := _STRING.match(self._text, self._position):
                self._position = string.end()
                continue
            depth += {"(": 1, ")": -1}.get(self._text[self._position], 0)
            self._position += 1
        with self._blame(start):
            return ConstSpec(self._text[start : self._position - 1])

    def _numeric_type(self, word: str, start: int) -> NumericType:
        dtype = find_numeric_type(word)
        if dtype is None:
            close = close_type_names(word)
            hints = [f"did you mean {' or '.join(close)}?"] if close else [_EXAMPLES]
            what = f"unknown numeric type '{word}'" if word else "expected a numeric type"
            self._fail(what, start, hints=hints)
        return dtype

    def _items(self, end: str, item: Callable[[], _T]) -> tuple[_T, ...]:
        """Comma-separated items up to `end`, whose opening bracket has been read."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"more than {_DEEPEST} brackets within one another")
        items: list[_T] = []
        while not self._accept(end):
            if items:
                self._expect(",", f"or '{end}'")
                if self._accept(end):
                    break
            items.append(item())
        self._depth -= 1
        return tuple(items)

    def _integer(self, what: str) -> int:
        digits = self._match(_INTEGER)
        if digits is None:
            self._fail(f"expected {what}")
        if len(digits) > _LONGEST_INTEGER:
            self._fail(f"expected {what}, not one of {len(digits)} digits", self._position - len(digits))
        return int(digits)

    def _skip_space(self) -> None:
        while self._position < len(self._text) and self._text[self._position].isspace():
            self._position += 1

    def _accept(self, token: str) -> bool:
        self._skip_space()
        if not self._text.startswith(token, self._position):
            return False
        self._position += len(token)
        return True

    def _expect(self, token: str, purpose: str) -> None:
        if not self._accept(token):
            self._fail(f"expected '{token}' {purpose}")

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        self._skip_space()
        match = pattern.match(self._text, self._position)
        if match is None:
            return None
        self._position = match.end()
        return match[0]

    @contextmanager
    def _blame(self, start: int) -> Generator[None]:
        """Places an error of the value read from `start` on at its text."""
        try:
            yield
        except SpecError as error:
            if error.location is None:
                error.location = self._locate(start, self._position - start)
            elif error.location.file == "constant":
                error.location = self._locate(start + (error.location.column or 1) - 1, error.location.length)
            raise

    def _fail(self, message: str, start: int | None = None, hints: list[str] | None = None) -> NoReturn:
        start = self._position if start is None else start
        length = self._position - start
        raise SpecError(message, self._locate(start, length), hints=hints or [])

    def _locate(self, start: int, length: int) -> SourceLocation:
        first = self._source.column or 1
        text = self._text if self._source.text is None else self._source.text
        return dataclasses.replace(self._source, text=text, column=first + start, length=max(1, length))


def _number(word: str) -> int | float:
    try:
        value = read_literal(word)
    except SpecError:
        value = None
    if not isinstance(value, int | float):
        raise SpecError(f"'{word}' is not a number")
    return value
