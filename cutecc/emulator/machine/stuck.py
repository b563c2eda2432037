"""What a deadlock says: which warps wait where, and for what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WHERE = re.compile(r" waits? at (.+?) for ")
_FOR_BARRIER = re.compile(r" waits? at .+? for barrier (\d+) of ")


@dataclass(frozen=True, slots=True)
class Stuck:
    """Threads of one warp that cannot go on."""

    block: str
    warp: int
    part: str
    """Of a warp that is not there as a whole: `16 threads from lane 0 on`."""
    where: str
    what: str
    """What they wait for."""


def stuck_lines(found: Iterable[Stuck]) -> list[str]:
    """One line for all warps that wait at one place for the same, and for all blocks of which the same warps do."""
    alike: dict[tuple[str, str, str], dict[str, list[Stuck]]] = {}
    for each in found:
        # Texts name their own block: what is the same but for that is the same.
        key = (each.part, each.where, each.what.replace(each.block, "this block"))
        alike.setdefault(key, {}).setdefault(each.block, []).append(each)
    lines: list[str] = []
    for by_block in alike.values():
        by_warps: dict[tuple[int, ...], list[Stuck]] = {}
        for members in by_block.values():
            warps = tuple(sorted({each.warp for each in members}))
            by_warps.setdefault(warps, []).append(members[0])
        lines += [_line(warps, blocks) for warps, blocks in by_warps.items()]
    return lines


def places_in(lines: Iterable[str]) -> frozenset[str]:
    """Where threads wait, of such lines; they are in another order, and more or fewer, under other schedules."""
    return frozenset(match[1] for line in lines if (match := _WHERE.search(line)))


def awaited_barriers(lines: Iterable[str]) -> frozenset[int | None]:
    """The numbers of the barriers of a block that threads wait for, of such lines; `None` for other things."""
    waits = [line for line in lines if _WHERE.search(line)]
    return frozenset(int(match[1]) if (match := _FOR_BARRIER.search(line)) else None for line in waits) or frozenset(
        {None}
    )


def _line(warps: tuple[int, ...], blocks: Sequence[Stuck]) -> str:
    first, others = blocks[0], len(blocks) - 1
    one = len(warps) == 1
    part = f", {'' if one else 'of each '}{first.part}," if first.part else ""
    who = f"warp{'s' * (not one)} {ranges(warps)} of {first.block}{part}"
    same = f"; the same in {others} more block{'s' * (others > 1)}" if others else ""
    return f"{who} wait{'s' * one} at {first.where} for {first.what}{same}"


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in short: `0–3, 6`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in ranges)
