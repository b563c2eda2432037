"""The words that a description's text forms are made of, and errors that name the close ones."""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

from cutecc.errors import UsageError
from cutecc.support.spelling import close_names

_Kind = TypeVar("_Kind")


def shown(value: object) -> str:
    """A wrong value as errors show it: on one line, and not all of a long one."""
    return " ".join(reprlib.repr(value).split())


def text_of(value: object, what: str) -> str:
    """`value` itself, if it is text. Raises `UsageError`, which says `what` has to be."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is text, not {shown(value)}")
    return value


def of_kind(value: object, kind: type[_Kind], what: str) -> _Kind:
    """`value` itself, if it is an instance of the class `kind`. Raises `UsageError`, which says `what` has to be."""
    if not isinstance(value, kind):
        raise UsageError(f"{what} is {article(kind.__name__)}, not {shown(value)}")
    return value


def path_of(value: object) -> Path:
    """`value` as a path. Raises `UsageError` for what is none."""
    if not isinstance(value, str | PathLike):
        raise UsageError(f"a file is named by text or a path, not by {shown(value)}")
    return Path(cast("PathLike[str]", value))


def whole_number(value: object, what: str) -> int:
    """`value` as an `int`. Raises `UsageError`, which says `what` has to be, for what is no whole number."""
    try:
        return operator.index(cast("Any", value))
    except TypeError:
        raise UsageError(f"{what} is a whole number, not {shown(value)}") from None


def whole_numbers(value: object, names: str, what: str) -> tuple[int, ...]:
    """`value` as a tuple of whole numbers, one for each letter of `names`, such as `MNK`; `UsageError` for others."""
    try:
        found = tuple(map(operator.index, cast("Any", value)))
    except TypeError:
        found = ()
    if len(found) != len(names):
        raise UsageError(f"{what} is ({', '.join(names)}) in whole numbers, not {shown(value)}")
    return found


def article(name: str) -> str:
    """`a list`, `an int`, `a unit`."""
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def known_word(word: str, known: Collection[str], what: str) -> str:
    """`word` as `known` spells it, in any case; `UsageError` with the close words when it is none of them."""
    if text_of(word, article(what)) in known:
        return word
    folded = {each.lower(): each for each in known}
    if found := folded.get(word.strip().lower()):
        return found
    raise unknown_word(word, known, what)


def unknown_word(word: str, known: Collection[str], what: str, *, close: Sequence[str] | None = None) -> UsageError:
    """The error that `word` is no `what`; `close` are the words that it may be a misspelling of, best first."""
    if close is None:
        close = close_names(word, known)
    hints = [f"did you mean {close[0]}?"] if close else []
    return UsageError(f"unknown {what} '{word.strip()}'", hints=[*hints, f"known: {', '.join(known)}"])


def positive_integer(text: str, what: str) -> int:
    """The number that `text` spells in decimal digits, at least 1 and of at most 9 digits."""
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()) or int(text) < 1:
        raise UsageError(f"{what} is a whole number of at least 1, not '{text.strip()}'")
    return int(text)


def extents(text: str, names: str, what: str) -> tuple[int, ...]:
    """The sizes of `128x128x32`, one for each letter of `names`, such as `MNK`; `*` separates them too."""
    parts = re.split(r"[x*×]", text.strip().lower())
    if len(parts) != len(names) or not all(re.fullmatch(r"[0-9]{1,9}", part) and int(part) > 0 for part in parts):
        example = "x".join(["128", "64", "32"][: len(names)])
        raise UsageError(f"{what} is {'x'.join(names)} in whole numbers, such as {example}, not '{text.strip()}'")
    return tuple(map(int, parts))
