"""Keeping the cache within its size: the least recently used files go first."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from cutecc.cache.partial import PARTIAL, remove, remove_abandoned
from cutecc.support.open_folder import CLOCKS_APART

SHARE_KEPT = 0.9
"""Of the limit, so that room is made for several files at once."""


def make_room(folder: Path, limit: int, now: float) -> None:
    """Remove files of `folder` until they have no more than `limit` bytes together, and what killed processes left.

    `now` is the time in seconds since 1970, by the clock that dates the files. Several processes may be at it: they
    remove the same files. Those that cannot be removed stay.
    """
    with contextlib.suppress(OSError):
        remove_unfinished(folder, now)
        # Again: others may have written meanwhile.
        while _bytes(folder) > limit and _remove_oldest(folder, int(limit * SHARE_KEPT), now):
            pass


def remove_unfinished(folder: Path, now: float) -> None:
    """Remove the files of `folder` that killed processes left, where that can be. Raises `OSError`."""
    for path, _ in unfinished(folder):
        with contextlib.suppress(OSError):
            remove_abandoned(path, now)


def unfinished(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """The files of `folder` that are being written, or were when their writers were killed. Raises `OSError`."""
    return [each for each in _files(folder) if _is_partial(each[0])]


def _bytes(folder: Path) -> int:
    return sum(status.st_size for _, status in _files(folder))


def _remove_oldest(folder: Path, kept: int, now: float) -> bool:
    """Whether anything was removed. What is dated in the future goes first: it would stay for ever."""
    removed = False
    files = _files(folder)
    total = sum(status.st_size for _, status in files)
    used = {path: status.st_mtime if status.st_mtime <= now + CLOCKS_APART else 0.0 for path, status in files}
    for path, status in sorted(files, key=lambda each: used[each[0]]):
        if total <= kept:
            break
        if _is_partial(path):
            continue
        with contextlib.suppress(OSError):
            remove(path)
            total -= status.st_size
            removed = True
    return removed


def _is_partial(path: Path) -> bool:
    return path.name.startswith(PARTIAL)


def _files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    found: list[tuple[Path, os.stat_result]] = []
    with os.scandir(folder) as items:
        for item in items:
            with contextlib.suppress(FileNotFoundError):
                found.append((Path(item.path), item.stat(follow_symlinks=False)))
    return found
