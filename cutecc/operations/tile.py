"""How a kernel cuts its work: what a threadblock computes, in how many stages, with which warps and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

from cutecc.errors import UsageError
from cutecc.operations.words import (
    extents,
    known_word,
    of_kind,
    positive_integer,
    shown,
    text_of,
    whole_number,
    whole_numbers,
)

Schedule = Literal["multistage", "cooperative", "pingpong"]
"""`multistage`: all warps load and multiply. Of a warp-specialised kernel, where one warpgroup only loads:
`cooperative`: the others compute one tile together; `pingpong`: each a tile of its own, in turns."""

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
_KEYS = ("stages", "warps", "cluster", "schedule")
_SWAPPED = "swapped"


@dataclass(frozen=True)
class TileDescription:
    """The work of one threadblock. Written `128x128x64:stages=4:warps=2x2x1:cluster=1x1:schedule=multistage`."""

    threadblock: tuple[int, int, int]
    """M, N, K of what a threadblock multiplies at a time; each warpgroup's own tile with `pingpong`."""
    stages: int
    """Tiles of A and of B that are in shared memory at once."""
    warps: tuple[int, int, int]
    """Warps along M, N, K; with `wgmma` the computing warpgroups along M, and 1, 1."""
    cluster: tuple[int, int] = (1, 1)
    """Threadblocks along M and N that share what they load."""
    schedule: Schedule = "multistage"
    swapped: bool = False
    """Whether the rows of D are columns of a `wgmma`, and the columns its rows, of which it has 64: for few rows."""

    def __post_init__(self) -> None:
        for part in _PARTS:
            object.__setattr__(self, part, _checked(part, getattr(self, part)))

    @classmethod
    def parse(cls, text: str) -> TileDescription:
        """The tile that `text` spells; cluster and schedule may be left out.

        Raises `UsageError` for an unknown word, a size that is none, and stages or warps that are not given.
        """
        request = TileRequest.parse(text)
        if request.threadblock is None or request.stages is None or request.warps is None:
            raise UsageError(
                f"tile '{text}' leaves threadblock, stages or warps open",
                hints=["for example 128x128x32:stages=3:warps=2x2x1"],
            )
        cluster, schedule = request.cluster or (1, 1), request.schedule or "multistage"
        return cls(request.threadblock, request.stages, request.warps, cluster, schedule, bool(request.swapped))

    def __str__(self) -> str:
        threadblock, warps, cluster = ("x".join(map(str, getattr(self, part))) for part in _NAMES)
        text = f"{threadblock}:stages={self.stages}:warps={warps}:cluster={cluster}:schedule={self.schedule}"
        return f"{text}:{_SWAPPED}" if self.swapped else text

    def transposed(self) -> TileDescription:
        """M and N exchanged."""
        return _transposed(self)


@dataclass(frozen=True)
class TileRequest:
    """The parts of a tile that are asked for; `None` leaves a part to be chosen. Written as a tile, `128x128x32`."""

    threadblock: tuple[int, int, int] | None = None
    stages: int | None = None
    warps: tuple[int, int, int] | None = None
    cluster: tuple[int, int] | None = None
    schedule: Schedule | None = None
    swapped: bool | None = None

    def __post_init__(self) -> None:
        for part in _PARTS:
            if (value := getattr(self, part)) is not None:
                object.__setattr__(self, part, _checked(part, value))

    @classmethod
    def parse(cls, text: str) -> TileRequest:
        """What `text` spells: sizes of a threadblock, a schedule, and `key=value`, joined by colons, each optional."""
        found: dict[str, object] = {}
        for word in filter(None, (word.strip() for word in text_of(text, "a tile").split(":"))):
            key, value = _read(word)
            if key in found:
                raise UsageError(f"tile '{text}' gives its {key} twice")
            found[key] = value
        return cls(**found)  # type: ignore[arg-type]  # `_read` gives each key its type

    def allows(self, tile: TileDescription) -> bool:
        """Whether `tile` has every part that is asked for."""
        return all(getattr(self, part) in (None, getattr(tile, part)) for part in _PARTS)

    def transposed(self) -> TileRequest:
        return _transposed(self)


def checked_tile(tile: TileDescription | TileRequest | str) -> TileDescription | TileRequest | str:
    """The same. Raises `UsageError` for what is no tile."""
    if not isinstance(tile, TileDescription | TileRequest | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"a tile is text such as 128x128x32, or a TileDescription, not {shown(tile)}")
    return tile


_Tile = TypeVar("_Tile", TileDescription, TileRequest)
_PARTS = ("threadblock", *_KEYS, _SWAPPED)
_NAMES = {"threadblock": "MNK", "warps": "MNK", "cluster": "MN"}
"""What the sizes of a part are of."""


def _transposed(tile: _Tile) -> _Tile:
    sizes: dict[str, Any] = {part: getattr(tile, part) for part in _NAMES}
    return replace(tile, **{part: each and (each[1], each[0], *each[2:]) for part, each in sizes.items()})


def _checked(part: str, value: object) -> object:
    """The value of a part as tiles have it; `UsageError` for one of another type."""
    if part == "stages":
        return whole_number(value, "the number of stages")
    if part == _SWAPPED:
        return of_kind(value, bool, "whether a tile is swapped")
    if part == "schedule":
        return known_word(value, SCHEDULES, "schedule")  # type: ignore[arg-type]  # checked there
    return whole_numbers(value, _NAMES[part], f"a tile's {part}")


def _read(word: str) -> tuple[str, object]:
    key, equals, value = word.partition("=")
    if not equals:
        if word[0].isdigit():
            return "threadblock", extents(word, "MNK", "a threadblock")
        if word == _SWAPPED:
            return _SWAPPED, True
        return "schedule", known_word(word, (*SCHEDULES, _SWAPPED, *(f"{key}=…" for key in _KEYS)), "part of a tile")
    key = known_word(key, _KEYS, "part of a tile")
    if key == "stages":
        return key, positive_integer(value, "the number of stages")
    if key == "schedule":
        return key, known_word(value, SCHEDULES, "schedule")
    return key, extents(value, _NAMES[key], key)
