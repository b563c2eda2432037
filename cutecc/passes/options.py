"""Pass options in MLIR's textual form: `{name=value other={a b}}`."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean

Option = tuple[str, str]
"""An option's name and its value as written, without quotes or braces around it."""

_CLOSING = {"{": "}", "[": "]", "(": ")", '"': '"', "'": "'"}


def parse_options(text: str) -> list[Option]:
    """The options of `text`, the part between a pass's braces, in order.

    A value ends at the next space outside quotes and brackets; an option without `=` is a flag and counts as `true`.
    Raises `UsageError` for an unclosed quote or bracket.
    """
    options: list[Option] = []
    for token in _split(text, " \t\n"):
        name, equals, value = token.partition("=")
        if not name:
            raise UsageError(f"pass options '{text}': a value without a name at '{token}'")
        options.append((name, _unwrapped(value) if equals else "true"))
    return options


def print_options(options: typing.Iterable[Option]) -> str:
    """Options in the form that `parse_options` and MLIR read; empty without options."""
    text = " ".join(f"{name}={_wrapped(value)}" for name, value in options)
    return f"{{{text}}}" if text else ""


def split_list(text: str) -> list[str]:
    """The parts of a comma-separated list, commas inside quotes and brackets left alone."""
    return [part.strip() for part in _split(text, ",")]


def _split(text: str, separators: str) -> list[str]:
    parts: list[str] = []
    current = ""
    open_brackets: list[str] = []
    for character in text:
        if open_brackets and character == open_brackets[-1]:
            open_brackets.pop()
        elif open_brackets and open_brackets[-1] in "\"'":
            pass
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character in "}])":
            raise UsageError(f"'{text}': '{character}' closes nothing")
        if character in separators and not open_brackets:
            if current:
                parts.append(current)
            current = ""
        else:
            current += character
    if open_brackets:
        raise UsageError(f"'{text}': '{open_brackets[-1]}' is missing")
    if current.strip():
        parts.append(current)
    return parts


def _unwrapped(value: str) -> str:
    # MLIR strips one pair of quotes or braces around a value.
    if len(value) >= 2 and value[0] in "{\"'" and value[-1] == _CLOSING[value[0]]:
        return value[1:-1]
    return value


def _wrapped(value: str) -> str:
    needs_braces = any(character in " \t\n{}[]\"'," for character in value)
    return f"{{{value}}}" if needs_braces else value


def convert_options(pass_class: type[Any], options: typing.Iterable[Option]) -> dict[str, Any]:
    """Keyword arguments for the dataclass `pass_class` from textual options, by its field types.

    Raises `UsageError` that lists the options there are, or says what a value has to look like.
    """
    types_by_field = typing.get_type_hints(pass_class)
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(pass_class)}
    values: dict[str, Any] = {}
    for name, text in options:
        field = fields.get(name)
        if field is None:
            hints = [*did_you_mean(name, fields), f"options of {pass_class.name}: {', '.join(fields) or 'none'}"]
            raise UsageError(f"pass {pass_class.name} has no option '{name}'", hints=hints)
        values[field.name] = _convert(pass_class.name, name, text, types_by_field[field.name])
    return values


def _convert(pass_name: str, option: str, text: str, kind: Any) -> Any:
    def wrong(expected: str) -> UsageError:
        return UsageError(f"pass {pass_name}: option '{option}' takes {expected}, not '{text}'")

    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        choices = typing.get_args(kind)
        if text not in choices:
            raise wrong(" or ".join(map(repr, choices)))
        return text
    if origin in (types.UnionType, typing.Union):
        inner = next(choice for choice in typing.get_args(kind) if choice is not type(None))
        return None if text == "" else _convert(pass_name, option, text, inner)
    if origin is tuple:
        inner = typing.get_args(kind)[0]
        return tuple(_convert(pass_name, option, part, inner) for part in split_list(text))
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise wrong("true or false")
        return text.lower() in ("true", "1")
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise wrong("a whole number" if kind is int else "a number") from None
    return text


def option_text(value: Any) -> str:
    """A field's value in textual form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(option_text(part) for part in typing.cast(tuple[Any, ...], value))
    return "" if value is None else str(value)
