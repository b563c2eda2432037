"""Keeping the cache within its size: the least recently used files go first."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from filelock import FileLock, Timeout

PARTIAL = ".partial-"
"""Begins the names of files that are being written."""
_LOCK = ".lock"
_SHARE_KEPT = 0.9
"""Of the limit, so that room is made for several files at once."""
_ABANDONED_SECONDS = 3600.0
"""A file that has been written for so long is what a killed process left."""


def make_room(folder: Path, limit: int) -> None:
    """Remove files of `folder` until they have no more than `limit` bytes together, and what killed processes left.

    One process at a time does so; others leave it to that one. Files that cannot be removed stay.
    """
    with contextlib.suppress(OSError):
        _remove_abandoned(folder)
        # Again once the lock is free: who found it taken has left its own file to us.
        while _bytes(folder) > limit and _remove_alone(folder, int(limit * _SHARE_KEPT)):
            pass


def _bytes(folder: Path) -> int:
    return sum(status.st_size for _, status in _files(folder))


def _remove_alone(folder: Path, kept: int) -> bool:
    """Whether this process had the lock, and removed something. Raises `OSError`."""
    try:
        with FileLock(folder / _LOCK, blocking=False, mode=0o600):
            return _remove_oldest(folder, kept)
    except Timeout:
        return False


def _remove_abandoned(folder: Path) -> None:
    now = time.time()
    for path, status in _files(folder, partial=True):
        if now - status.st_mtime > _ABANDONED_SECONDS:
            path.unlink(missing_ok=True)


def _remove_oldest(folder: Path, kept: int) -> bool:
    """Whether anything was removed."""
    removed = False
    files = sorted(_files(folder), key=lambda each: each[1].st_mtime)
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= kept:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= status.st_size
            removed = True
    return removed


def _files(folder: Path, *, partial: bool = False) -> list[tuple[Path, os.stat_result]]:
    """The finished files of `folder`, or those that are being written."""
    found: list[tuple[Path, os.stat_result]] = []
    with os.scandir(folder) as items:
        for item in items:
            if item.name.startswith(PARTIAL) == partial and item.name != _LOCK:
                with contextlib.suppress(FileNotFoundError):
                    found.append((Path(item.path), item.stat(follow_symlinks=False)))
    return found
