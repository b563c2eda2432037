"""The words that a description's text forms are made of, and errors that name the close ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from cutecc.errors import UsageError
from cutecc.spelling import close_names


def known_word(word: str, known: Collection[str], what: str) -> str:
    """`word` as `known` spells it, in any case; `UsageError` with the close words when it is none of them."""
    if word in known:
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
