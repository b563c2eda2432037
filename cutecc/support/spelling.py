"""Which known name a misspelled one may have meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

_LEAST_ALIKE = 0.6
"""The ratio of `difflib`, of 1, below which two names are not alike."""


def close_names(name: str, known: Iterable[str], *, most: int = 1, least: float = _LEAST_ALIKE) -> list[str]:
    """At most `most` of the `known` names that are like `name`, the likest first; case only decides between equals."""
    from difflib import get_close_matches  # only errors need it

    name, folded = name.strip(), defaultdict[str, list[str]](list)
    for each in known:
        folded[each.lower()].append(each)
    close = get_close_matches(name.lower(), folded, n=most, cutoff=least)
    return [each for match in close for each in get_close_matches(name, folded[match], n=most, cutoff=0)][:most]


def did_you_mean(name: str, known: Iterable[str], written: Callable[[str], object] = str) -> list[str]:
    """The hint of an error about an unknown `name`, if one of the `known` is like it: what `written` makes of that."""
    return [f"did you mean {written(each)}?" for each in close_names(name, known)]
