"""What ran, in the lines above what came of it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_MOST_POINTS = 4
"""Of a sweep, that are told one by one."""
_TOGETHER = "\N{NO-BREAK SPACE}"


def points_text(points: Sequence[str]) -> str:
    """The sizes of a sweep, `M=1; M=2`; of many the first and the last."""
    if len(points) <= _MOST_POINTS:
        return "; ".join(points)
    return f"{points[0]}; …; {points[-1]} ({len(points)} in turn)"


def seeds_text(first: int, last: int) -> str:
    """`seed 7`, `seeds 0 to 9`, which stays on one line."""
    text = f"seed {first}" if first == last else f"seeds {first} to {last}"
    return text.replace(" ", _TOGETHER)


def wrapped(line: str, width: int) -> str:
    """A line of a heading in so many columns."""
    return textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False).replace(_TOGETHER, " ")
