"""Evaluating layout expressions: what CuTe prints, CuTe's functions by name, and composition by ` o `.

    >>> str(evaluate_expression("zipped_divide((8,8):(8,1), <2,4>)"))
    '((2,4),(4,2)):((8,1),(16,4))'

The grammar is that of `cutecc.layout.text`, with calls wherever a value can stand:

    expression := operand (" o " operand)*           composition; `S<3,4,3> o 0 o (8,64)` has an offset in the middle
    operand    := primary [":" primary]              shape:stride; a shape alone is a compact layout
    primary    := integer | integer@4 | 1/2@4 | _ | S<3,4,3> | name(argument, ...)
                | (expression, ...) | <expression, ...> | [expression; ...]
    integer    := 4 | _4 | ?{i64 div=8}
    argument   := [name "="] expression              after a name, no more without one, as in Python

Nothing is run but the functions of `cutecc.layout.functions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.errors import LayoutError, SourceLocation
from cutecc.layout.algebra import composition, show_tile
from cutecc.layout.basis import Basis, Ratio, add_coordinates
from cutecc.layout.functions import FUNCTIONS, Function, Kind, Parameter, TiledLayout, View, describe, is_integers
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.shape_text import LONGEST_NUMBER
from cutecc.layout.swizzle import ComposedLayout, Swizzle
from cutecc.layout.text import parse
from cutecc.layout.tuples import is_tuple, leaves, show
from cutecc.support.spelling import did_you_mean

_TOKEN = re.compile(
    r"\s*(?:(?P<swizzle>S<\s*-?\d+\s*,\s*-?\d+\s*,\s*-?\d+\s*>)"
    r"|(?P<symbol>\?(?:\{[^}]*\})?)"
    r"|(?P<number>-?\d+|_\d+)"
    r"|(?P<compose>o\b|∘)"
    r"|(?:cute(?:\.|::))?(?P<name>[A-Za-z]\w*)"
    r"|(?P<mark>[()\[\]<>,;:@_/=])"
    r"|(?P<end>$))"
)
_DEEPEST = 100
"""Levels of nesting that are read; no layout has as many, and Python's own stack ends not far above."""


def evaluate_expression(text: str) -> Any:
    """The value of a layout expression.

    A `Layout`, `ComposedLayout`, `Swizzle`, int tuple, tile (a tuple with layouts in it), `View` (a layout and where it
    begins) or `TiledLayout` (a thread-value layout and its tile). Raises `LayoutError` with the place of the mistake.
    """
    return _Evaluator(text).whole()


def show_value(value: Any) -> str:
    """The value of an expression as CuTe prints it; what can be read again gives the same value."""
    if is_tuple(value) and not is_integers(value):
        return show_tile(value)
    return show(value)


@dataclass(frozen=True)
class _Value:
    value: Any
    start: int
    end: int


class _Evaluator:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._end = 0
        """Where the token before this one ends."""
        self._depth = 0
        self._symbols = 0
        self._advance()

    def whole(self) -> Any:
        value = self._expression()
        if self._token["end"] is None:
            raise self._unexpected("the end")
        return value.value

    # Tokens

    def _advance(self) -> None:
        self._end = self._position
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            at = len(self._text) - len(self._text[self._position :].lstrip())
            raise self._error(f"unexpected '{self._text[at]}'", at, at + 1)
        self._token = match
        self._start = match.start(match.lastgroup or 0)
        self._position = match.end()
        if len(match["number"] or "") > LONGEST_NUMBER:
            raise self._error(f"a number with more than {LONGEST_NUMBER} digits", self._start, self._position)

    def _next_is(self, mark: str) -> bool:
        return self._token["mark"] == mark

    def _error(self, message: str, start: int, end: int, **more: Any) -> LayoutError:
        line_start = self._text.rfind("\n", 0, start) + 1
        line = self._text[line_start:].split("\n", 1)[0]
        length = max(1, min(end, line_start + len(line)) - start)
        number = self._text.count("\n", 0, start) + 1
        return LayoutError(message, SourceLocation("layout", number, start - line_start + 1, line, length), **more)

    def _unexpected(self, expected: str) -> LayoutError:
        return self._error(f"expected {expected}", self._start, max(self._position, self._start + 1))

    # Grammar

    def _expression(self) -> _Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} levels of nesting", self._start, self._start + 1)
        operands = [self._operand()]
        while self._token["compose"]:
            self._advance()
            operands.append(self._operand())
        self._depth -= 1
        return operands[0] if len(operands) == 1 else self._composed(operands)

    def _operand(self) -> _Value:
        shape = self._primary()
        if not self._next_is(":"):
            return shape
        self._advance()
        stride = self._primary()
        for part, what in ((shape, "a shape"), (stride, "a stride")):
            allowed = (int, Symbolic) if part is shape else (int, Symbolic, Basis)
            if not is_integers(part.value) or not all(isinstance(leaf, allowed) for leaf in leaves(part.value)):
                raise self._error(f"{what} is made of integers, not {describe(part.value)}", part.start, part.end)
        return self._checked(lambda: Layout(shape.value, stride.value), shape.start, stride.end)

    def _primary(self) -> _Value:
        start = self._start
        if self._token["name"] == "None":
            self._advance()
            return _Value(None, start, self._end)
        if self._token["name"]:
            return self._call()
        if self._next_is("("):
            return self._parenthesized()
        # A list of CuTe's Python has commas: `mode=[0, 1]`.
        for opening, separators, closing in (("[", ";,", "]"), ("<", ",", ">")):
            if self._next_is(opening):
                parts = self._list(separators, closing)
                return _Value(tuple(part.value for part in parts), start, self._end)
        if self._next_is("_"):
            self._advance()
            return _Value(None, start, self._end)
        if self._token["swizzle"]:
            text = self._token["swizzle"]
            self._advance()
            return self._checked(lambda: parse(text), start, self._end)
        if self._token["symbol"] or self._token["number"]:
            return self._integer()
        raise self._unexpected("a number, '?', '(' or the name of a function")

    def _integer(self) -> _Value:
        """A number, known or not, and what follows `@` where it is a step along modes."""
        start = self._start
        value: Any = self._symbol() if self._token["symbol"] else self._number("a number")
        if isinstance(value, int) and self._next_is("/"):
            self._advance()
            at = self._start
            denominator = self._number("a number after '/'")
            value = self._checked(lambda: Ratio(cast(int, value), denominator), at, self._end).value
            if not self._next_is("@"):
                raise self._unexpected("'@' and the number of a mode after a part of a step")
        path: list[int] = []
        while self._next_is("@"):
            self._advance()
            if (self._token["number"] or "").startswith("-"):
                raise self._error("modes are counted from 0", self._start, self._position)
            path.append(self._number("the number of a mode after '@'"))
        return _Value(Basis(value, tuple(reversed(path))) if path else value, start, self._end)

    def _number(self, expected: str) -> int:
        if not self._token["number"]:
            raise self._unexpected(expected)
        value = int(self._token["number"].lstrip("_"))
        self._advance()
        return value

    def _symbol(self) -> Symbolic:
        text, start = self._token["symbol"], self._start
        self._advance()
        symbol: Symbolic = self._checked(lambda: parse(text), start, self._end).value
        self._symbols += 1
        return replace(symbol, name=str(self._symbols - 1))

    def _parenthesized(self) -> _Value:
        """A tuple; a layout alone in parentheses is that layout."""
        start = self._start
        parts = self._list(",", ")")
        if len(parts) == 1 and isinstance(parts[0].value, Layout | ComposedLayout | Swizzle | View):
            return _Value(parts[0].value, start, self._end)
        return _Value(tuple(part.value for part in parts), start, self._end)

    def _list(self, separators: str, closing: str) -> list[_Value]:
        parts: list[_Value] = []
        self._each(separators, closing, lambda: parts.append(self._expression()))
        return parts

    def _each(self, separators: str, closing: str, read: Callable[[], None]) -> None:
        """Call `read` for each part of a list that begins here; any of `separators`' characters stands between two."""
        self._advance()
        first = True
        while not self._next_is(closing):
            if not first:
                if not self._token["mark"] or self._token["mark"] not in separators:
                    raise self._unexpected(f"'{separators[0]}' or '{closing}'")
                self._advance()
            read()
            first = False
        self._advance()

    def _call(self) -> _Value:
        name, start = self._token["name"], self._start
        self._advance()
        function = FUNCTIONS.get(name)
        if function is None:
            hints = did_you_mean(name, FUNCTIONS, FUNCTIONS.__getitem__) or [f"functions: {', '.join(FUNCTIONS)}"]
            raise self._error(f"there is no function '{name}'", start, start + len(name), hints=hints)
        if not self._next_is("("):
            raise self._error(f"'{name}' needs arguments", start, start + len(name), hints=[str(function)])
        given, more = self._arguments(function)
        values = [self._argument(function, parameter, given[parameter]) for parameter in given]
        values += [self._argument(function, function.parameters[-1], each) for each in more]
        return self._checked(lambda: function.call(*values), start, self._end)

    def _arguments(self, function: Function) -> tuple[dict[Parameter, _Value], list[_Value]]:
        """A call's arguments in the order of parameters, and what follows of the last one, which repeats."""
        given: dict[Parameter, _Value] = {}
        more: list[_Value] = []
        named = False

        def argument() -> None:
            nonlocal named
            start, name = self._start, self._name_of_argument()
            if name:
                named = True
                parameter = next((each for each in function.parameters if name in (each.name, each.python_name)), None)
                if parameter is None:
                    raise self._error(
                        f"{function.name} has no parameter '{name}'", start, start + len(name), hints=[str(function)]
                    )
            elif named:
                raise self._unexpected("a name, as of the argument before")
            else:
                parameter = next((each for each in function.parameters if not each.named and each not in given), None)
            value = self._expression()
            if parameter is None and function.repeats:
                more.append(value)
            elif parameter is None:
                raise self._error(
                    f"{function.name} takes no more arguments", value.start, value.end, hints=[str(function)]
                )
            elif parameter in given:
                raise self._error(f"{function.name}: '{parameter.name}' is given twice", start, value.end)
            else:
                given[parameter] = value

        self._each(",", ")", argument)
        in_order = {parameter: given[parameter] for parameter in function.parameters if parameter in given}
        for position, parameter in enumerate(function.parameters):
            # Of several that can be left out, those before one that is given cannot.
            if parameter not in given and (not parameter.optional or position < len(given)):
                raise self._error(
                    f"{function.name}: '{parameter.name}' is missing", self._end - 1, self._end, hints=[str(function)]
                )
        return in_order, more

    def _name_of_argument(self) -> str:
        """The `name` of `name=`, read; empty where the argument has none."""
        name = self._token["name"]
        following = _TOKEN.match(self._text, self._position)
        if not name or following is None or following["mark"] != "=":
            return ""
        self._advance()
        self._advance()
        return name

    def _argument(self, function: Function, parameter: Parameter, argument: _Value) -> Any:
        def wrong(reason: str, hints: Iterable[str] = ()) -> LayoutError:
            message = f"{function.name}: '{parameter.name}' {reason}"
            return self._error(message, argument.start, argument.end, hints=[*hints, str(function)])

        value = argument.value
        if isinstance(value, View) and parameter.kind not in (Kind.VIEW, Kind.INNER_VIEW, Kind.ANYTHING):
            if any(leaf != 0 for leaf in leaves(value.offset)):
                raise wrong(
                    f"is a layout that begins at {show(value.offset)}",
                    [f"layout(...) gives {value.layout} without that"],
                )
            value = value.layout
        if isinstance(value, TiledLayout) and parameter.kind is not Kind.ANYTHING:
            value = value.layout
        if not parameter.kind.accepts(value):
            raise wrong(f"has to be {parameter.kind.value}, not {describe(value)}")
        return parameter.kind.convert(value)

    # Values

    def _checked(self, make: Callable[[], Any], start: int, end: int) -> _Value:
        """What `make` returns; its errors get the place."""
        try:
            return _Value(make(), start, end)
        except LayoutError as error:
            raise self._error(error.message, start, end, notes=error.notes, hints=error.hints) from None

    def _not_composed(self, value: _Value) -> LayoutError:
        return self._error(f"'o' composes layouts, and this is {describe(value.value)}", value.start, value.end)

    def _composed(self, operands: list[_Value]) -> _Value:
        """`a o b`, or with an offset `a o 4 o b`, from left to right; `(4,0) o b` is `b` that begins at `(4,0)`."""
        result, *rest = operands
        if len(rest) == 1 and _is_offset(result.value) and isinstance(rest[0].value, Layout | ComposedLayout):
            begun, end = View(rest[0].value, result.value), rest[0].end
            self._checked(lambda: add_coordinates(begun.offset, begun.layout(0)), result.start, end)
            return _Value(begun, result.start, end)
        while rest:
            right = rest.pop(0)
            offset = None
            if is_integers(right.value) and rest:
                offset, right = right, rest.pop(0)
            left, outer = _as_layout(result.value), _as_layout(right.value)
            if not isinstance(left, Layout | ComposedLayout | Swizzle):
                raise self._not_composed(result)
            is_tile = is_tuple(outer) and isinstance(left, Layout | ComposedLayout) and offset is None
            if not isinstance(outer, Layout | ComposedLayout) and not is_tile:
                raise self._not_composed(right)
            if offset is not None and isinstance(outer, Layout):
                result = _Value(ComposedLayout(left, offset.value, outer), result.start, right.end)
            elif offset is not None:
                raise self._error("what follows an offset is a plain layout", right.start, right.end)
            else:
                result = self._checked(lambda a=left, b=outer: composition(a, b), result.start, right.end)
        return result


def _as_layout(value: Any) -> Any:
    """A shape as the compact layout of it, what belongs to a layout as that layout."""
    if isinstance(value, TiledLayout):
        return value.layout
    if isinstance(value, View) and value.offset == 0:
        return value.layout
    return make_layout(cast(Any, value)) if _is_offset(value) else value


def _is_offset(value: Any) -> bool:
    return is_integers(value) and None not in leaves(value)
