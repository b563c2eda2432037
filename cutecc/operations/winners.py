"""What autotuning found, kept for later processes: the winner for a device and a class of shapes, a small file each.

The files are next to the cache of compiled kernels, in the folder `tuned`. Each appears whole or not at all.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from cutecc.cache.fingerprint import digest_of
from cutecc.cache.folder import CacheError, cache_folder, check_folder, make_folder
from cutecc.config import Settings
from cutecc.errors import UsageError
from cutecc.operations.any_description import Description, from_json
from cutecc.support.malformed import MALFORMED
from cutecc.support.open_folder import replace_file

_FORMAT = 1
_LARGEST = 1 << 20
"""Bytes of a file that is read."""


class Winner(msgspec.Struct):
    """The best of those that were timed."""

    device: str
    """The GPU's name."""
    asked: str
    """What the product is of, for people."""
    shapes: str
    """The class of shapes, `4096x4096x4096`."""
    description: msgspec.Raw
    """As its `to_json` writes it."""
    microseconds: float
    """The median on the problem that was timed."""
    problem: tuple[int, ...]
    """All sizes."""
    timed: int
    """How many were timed."""
    date: str


def shape_class(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that share a winner with these: each rounded up to a power of two."""
    return tuple(1 << max(0, size - 1).bit_length() for size in sizes)


def key_of(device: str, asked: str, sizes: tuple[int, ...]) -> str:
    """The name under which a winner is kept."""
    return digest_of([_FORMAT, device, asked, *shape_class(sizes)])


def remembered(key: str) -> tuple[Description, Winner] | None:
    """The winner that is kept under `key`; `None` when there is none, or only what cannot be read."""
    try:
        folder = _folder()
        if not check_folder(folder):
            return None
        with open(folder / f"{key}.json", "rb") as file:
            winner = msgspec.json.decode(file.read(_LARGEST), type=Winner)
        return from_json(bytes(winner.description)), winner
    except (OSError, CacheError, UsageError, *MALFORMED):
        return None


def remember(key: str, winner: Winner) -> Path:
    """Keep a winner in the place of the one that is there. Raises `CacheError` when it cannot be written."""
    folder = _folder()
    make_folder(folder)
    path = folder / f"{key}.json"
    try:
        replace_file(path, lambda file: file.write(msgspec.json.encode(winner)))
    except OSError as failure:
        raise CacheError(f"the winner cannot be kept in {folder}: {failure.strerror}") from None
    return path


def forget() -> int:
    """Remove all winners; returns how many there were."""
    folder = _folder()
    if not check_folder(folder):
        return 0
    files = list(folder.glob("*.json"))
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _folder() -> Path:
    return cache_folder(Settings.from_environment()).parent / "tuned"
