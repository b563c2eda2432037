"""What comes of an edit of a small module; what the tests of edits share."""

from __future__ import annotations

from cutecc.workbench.reduction.working import Manner, count_sites, edited, normalised

ALL = "all"


def canonical(text: str) -> str:
    return normalised(text.encode(), False).text


def after(kind: str, text: str, *chosen: int | str, manner: Manner = Manner()) -> str | None:
    """What comes of an edit to some sites, or to all."""
    text = normalised(text.encode(), manner.locations).text
    numbers = [*range(count_sites(text, kind))] if chosen == (ALL,) else [int(each) for each in chosen]
    found = edited(text, kind, numbers, manner)
    return found and found.text


def check(kind: str, text: str, chosen: tuple[int | str, ...], expected: str | None) -> None:
    assert after(kind, text, *chosen) == (expected and canonical(expected))
