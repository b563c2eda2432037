"""Colours of pictures: a palette for groups, one for banks and a scale for offsets, all light enough for dark text.

The hues are Paul Tol's light qualitative scheme, made for labelled cells and told apart by colour-blind readers, but
for its olive, which tints of pear come too near; a grey takes its place.
"""

from __future__ import annotations

HUES = ("#77aadd", "#eedd88", "#ee8866", "#bbcc33", "#ffaabb", "#99ddff", "#bfbfbf", "#44bb99")
"""Told apart from each other, in an order in which neighbours differ most."""
TINTS = (0.0, 0.3, 0.5, 0.68)
"""How much white is mixed in, where there are more groups than hues."""
SCALE = ("#fff8dc", "#b5dfc0", "#6fb1de")
"""From the first offset to the last: lightness falls all the way, so that it reads in grey as well."""
INK = "#16191d"
"""Text on any of them, with a contrast of at least 4.5 to 1."""
EMPTY = "#ffffff"
OUTSIDE = "#fafafa"
"""Coordinates beyond the layout, where the last tile is not full."""


def group_colour(group: int) -> str:
    """The colour of a group, a thread's or a tile's; groups near each other, also by rows of 8 or 64, differ."""
    hue = (group + 3 * (group // 8) + 5 * (group // 64)) % 8
    return mixed(HUES[hue], "#ffffff", TINTS[group // 8 % 2])


def bank_colour(bank: int) -> str:
    """The colour of one of 32 banks: a hue for each 16 bytes, the four banks in it from strong to light."""
    return mixed(HUES[bank // 4], "#ffffff", TINTS[bank % 4])


def scale_colour(position: float) -> str:
    """The colour of a position between 0 and 1."""
    first, second, third = SCALE
    if position <= 0.5:
        return mixed(first, second, 2 * position)
    return mixed(second, third, 2 * position - 1)


def mixed(colour: str, other: str, share: float) -> str:
    """`colour` with `share`, between 0 and 1, of `other`."""
    parts = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of `#rrggbb`, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
