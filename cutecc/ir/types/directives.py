"""How a type is spelled, in one line that both reads and writes it.

A format is literal text with fields, `{name:kind}`, and with parts in brackets that may be missing:

    <{element:type}[, {copy_bits:int} b]>

Kinds: `int`, `word`, `type`, `layout`, `tuple`, `coord`, `tile`, `swizzle`, `space`, `mnk` (16x8x16),
`bool=false|true` (the words for either) and `flag=word` (true when the word is there).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cutecc.errors import Error
from cutecc.ir.types.elements import AddressSpace
from cutecc.layout import (
    parse,
    parse_int_tuple,
    parse_tile,
    show,
    show_tile,
)
from cutecc.layout.naming import rename_symbols
from cutecc.layout.text import parse_any_layout


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    words: tuple[str, ...]


_Part: TypeAlias = "str | _Field | tuple[_Part, ...]"

_FIELD = re.compile(r"\{(\w+):(\w+)(?:=([^}]*))?\}")


@functools.cache
def _parts(format: str) -> tuple[_Part, ...]:
    """The literals, fields and optional parts of a format."""
    found: list[list[_Part]] = [[]]
    position = 0
    while position < len(format):
        character = format[position]
        if match := _FIELD.match(format, position):
            found[-1].append(_Field(match[1], match[2], tuple((match[3] or "").split("|"))))
            position = match.end()
            continue
        if character == "[":
            found.append([])
        elif character == "]":
            found[-2].append(tuple(found.pop()))
        elif found[-1] and isinstance(found[-1][-1], str):
            found[-1][-1] += character
        else:
            found[-1].append(character)
        position += 1
    return tuple(found[0])


# Reading: each kind has a pattern for its text and a function from that text to its value.

_READERS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "int": (re.compile(r"-?\d+"), int),
    "word": (re.compile(r"[A-Za-z_]\w*"), str),
    "mnk": (re.compile(r"\d+(?:x\d+)*"), lambda text: tuple(map(int, text.split("x")))),
    "space": (re.compile(r"\w+"), AddressSpace),
    "swizzle": (re.compile(r"S<[\d,-]+>"), parse),
    "layout": (re.compile(r'[^"]+'), parse_any_layout),
    "tuple": (re.compile(r'[^"]+'), parse_int_tuple),
    "coord": (re.compile(r'[^"]+'), parse_int_tuple),
    "tile": (re.compile(r'[^"]+'), parse_tile),
}
_TYPE_NAME = re.compile(r"!?[\w.]+")
_BRACKETS = {"<": ">", "(": ")", "[": "]", "{": "}"}


class Mismatch(Exception):
    """The text is not what the format says."""


def read(format: str, text: str, read_type: Callable[[str], Any]) -> dict[str, Any]:
    """The fields of `text`, optional ones only where they are there; nested types through `read_type`.

    The `?` of all fields together are named by their place in `text`. Raises `Mismatch`.
    """
    fields: dict[str, Any] = {}
    if _read_parts(_parts(format), text, 0, fields, read_type) != len(text):
        raise Mismatch
    return fields


def _read_parts(
    parts: tuple[_Part, ...], text: str, position: int, fields: dict[str, Any], read_type: Callable[[str], Any]
) -> int:
    """Match `parts` at `position`; where they end."""
    for part in parts:
        if isinstance(part, str):
            if not text.startswith(part, position):
                raise Mismatch
            position += len(part)
        elif isinstance(part, _Field):
            position = _read_field(part, text, position, fields, read_type)
        else:
            found: dict[str, Any] = {}
            try:
                position = _read_parts(part, text, position, found, read_type)
            except Mismatch:
                continue
            fields.update(found)
    return position


def _read_field(
    field: _Field, text: str, position: int, fields: dict[str, Any], read_type: Callable[[str], Any]
) -> int:
    if field.kind in ("bool", "flag"):
        for value, word in enumerate(field.words, start=2 - len(field.words)):
            if re.compile(rf"{re.escape(word)}\b").match(text, position):
                fields[field.name] = bool(value)
                return position + len(word)
        raise Mismatch
    if field.kind == "type":
        end = type_end(text, position)
        fields[field.name] = read_type(text[position:end])
        return end
    pattern, value_of = _READERS[field.kind]
    match = pattern.match(text, position)
    if match is None:
        raise Mismatch
    try:
        value = value_of(match[0])
    except ValueError:
        raise Mismatch from None
    if "?" in match[0]:
        # Each `?` is called by its place among those of the whole text.
        value = rename_symbols(value, map(str, itertools.count(text.count("?", 0, position))))
    fields[field.name] = value
    return match.end()


def type_end(text: str, position: int) -> int:
    """Where the type that starts at `position` ends: behind its name and, if it has some, its `<...>`."""
    match = _TYPE_NAME.match(text, position)
    if match is None:
        raise Mismatch
    position = match.end()
    if not text.startswith("<", position):
        return position
    open_: list[str] = []
    quoted = False
    for at in range(position, len(text)):
        character = text[at]
        if character == '"':
            quoted = not quoted
        elif quoted or text.startswith("->", at - 1):
            continue
        elif character in _BRACKETS:
            open_.append(_BRACKETS[character])
        elif open_ and character == open_[-1]:
            open_.pop()
            if not open_:
                return at + 1
    raise Mismatch


# Writing.


def write(format: str, fields: Mapping[str, Any], write_type: Callable[[Any], str]) -> str:
    """The text with `fields` in it; a part in brackets is left out when its fields are missing, `None` or false.

    Raises `Error` for a field that the format needs and does not get, or does not have.
    """
    used: set[str] = set()
    text = _write_parts(_parts(format), fields, used, write_type)
    if unknown := {name for name, value in fields.items() if value is not None} - used:
        names: list[str] = re.findall(r"\{(\w+):", format)
        raise Error(
            f"there is no place for {', '.join(sorted(unknown))} in the type", hints=[f"it has {', '.join(names)}"]
        )
    return text


def _write_parts(
    parts: tuple[_Part, ...], fields: Mapping[str, Any], used: set[str], write_type: Callable[[Any], str]
) -> str:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, _Field):
            used.add(part.name)
            if fields.get(part.name) is None and part.kind not in ("tile", "coord"):
                raise Error(f"the type needs {part.name}")
            text += _write_field(part, fields.get(part.name), write_type)
        else:
            names = [inner.name for inner in part if isinstance(inner, _Field)]
            used.update(names)
            given = [fields.get(name) is not None and fields.get(name) is not False for name in names]
            if all(given):
                text += _write_parts(part, fields, used, write_type)
            elif any(given):
                raise Error(f"the type needs all or none of {', '.join(names)}")
    return text


def _write_field(field: _Field, value: Any, write_type: Callable[[Any], str]) -> str:
    match field.kind:
        case "bool" | "flag":
            return field.words[-1] if value else field.words[0]
        case "type":
            return write_type(value)
        case "mnk":
            return "x".join(map(str, value))
        case "tuple" | "coord":
            return show(value)
        case "tile":
            return show_tile(value)
        case _:
            return str(value)
