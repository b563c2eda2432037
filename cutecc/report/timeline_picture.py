"""A timeline in what `cutecc profile --json` wrote, for the page to draw."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from cutecc.report.paths import same_file


class _Site(msgspec.Struct):
    kind: str
    name: str
    barrier: str | None
    file: str
    line: int


class _Spans(msgspec.Struct):
    sites: list[int]
    starts: list[float]
    lengths: list[float]


class _Group(msgspec.Struct):
    role: str
    warps: list[int]
    title: str


class _Lane(msgspec.Struct):
    warp: int
    role: str
    start: float
    end: float
    kept: list[tuple[float, float]]
    spans: _Spans
    ended: list[int]
    ended_by: list[tuple[int, int] | None]


_Part = tuple[int, float, float, str, int]


class _Share(msgspec.Struct):
    cause: str
    file: str
    line: int
    time: float
    share: float


class _Block(msgspec.Struct):
    kernel: str
    launch: int
    block: int
    processor: int
    why: list[str]
    start: float
    end: float
    groups: list[_Group]
    lanes: list[_Lane]
    path: list[_Part]
    shares: list[_Share]


class _FoldedLane(_Group):
    turns: int
    spans: _Spans
    ended: list[int]
    ended_by: list[tuple[int, int] | None]


class _Steady(msgspec.Struct):
    period: float
    periods: int
    blocks: int
    left_out: list[str]
    lanes: list[_FoldedLane]
    path: list[_Part]
    shares: list[_Share]


class _Slowdown(msgspec.Struct):
    recorded: float
    idle: float
    plain: float | None


class _Line(msgspec.Struct):
    file: str
    line: int
    share: float


def chunk_name(number: int) -> str:
    """What holds a timeline of a page, counted from 0."""
    return f"timeline:{number}"


class Picture(msgspec.Struct):
    """What `cutecc.timelines.document.timeline_dict` gives, and of what run it is."""

    unit: Literal["ns", "instructions"]
    device: str
    slowdown: _Slowdown | None
    notes: list[str]
    lost: int
    recorded_blocks: int
    sites: list[_Site]
    lines: list[_Line]
    blocks: list[_Block]
    steady: _Steady | None
    why_no_steady: str
    title: str = ""
    deadlock: list[str] = []

    def in_files(self, files: Collection[str]) -> Picture:
        """With the names that the record has for its files: a GPU's machine may have them elsewhere."""
        names = {each.file for each in [*self.sites, *self.lines]}
        known = {name: same_file(name, files) for name in names}
        shares = [each for block in self.blocks for each in block.shares]
        shares += self.steady.shares if self.steady else []
        for each in [*self.sites, *self.lines, *shares]:
            each.file = known.get(each.file, each.file)
        return self
