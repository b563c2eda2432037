"""Where the cache is, and whether its folder is this user's alone."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from cutecc.config import Settings
from cutecc.errors import Error

_LAYOUT = "v1"
"""Changes with the format of files, so that releases of cutecc never read one another's."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ELSEWHERE = "name a folder of your own with CUTECC_CACHE_DIR"
_MOST_LINKS = 40


class CacheError(Error):
    """The cache cannot be used. Nobody fails because of it: the message becomes a warning."""


def cache_folder(settings: Settings) -> Path:
    """The folder that holds the entries: in `CUTECC_CACHE_DIR`, else in `$XDG_CACHE_HOME/cutecc`, `~/.cache/cutecc`."""
    if settings.cache_dir is not None:
        return settings.cache_dir.absolute() / _LAYOUT
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    base = Path(xdg) if os.path.isabs(xdg) else Path(os.path.expanduser("~/.cache"))
    if not base.is_absolute():
        raise CacheError("there is no home folder for the cache", hints=["set CUTECC_CACHE_DIR"])
    return base / "cutecc" / _LAYOUT


def environments_folder(settings: Settings) -> Path:
    """The folder beside it that holds environments for versions of nvidia-cutlass-dsl (`cutecc.versions`).

    Raises `CacheError` as `cache_folder` does.
    """
    return cache_folder(settings).parent / "environments"


def check_folder(folder: Path) -> bool:
    """Whether there is a cache at `folder`.

    Raises `CacheError` when what is there is no folder, or somebody else can write to it or put another in its place:
    entries are code that will run. A folder of ours that others may read or write is closed to them.
    """
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise CacheError(f"the cache {folder} is not used: it is not a folder")
        if status.st_uid != os.geteuid():
            raise CacheError(f"the cache {folder} is not used: it belongs to another user")
        _check_above(folder)
        if status.st_mode & 0o077:
            os.chmod(folder, 0o700)
            if os.lstat(folder).st_mode & _OTHERS_WRITE:  # a file system without modes
                raise CacheError(f"the cache {folder} is not used: others may write to it; {_ELSEWHERE}")
    except FileNotFoundError:
        return False
    except OSError as failure:
        raise CacheError(f"the cache {folder} cannot be used: {failure.strerror}") from None
    return True


def make_folder(folder: Path) -> None:
    """Make sure that there is a cache at `folder`; raises `CacheError` when there cannot be."""
    try:
        with contextlib.suppress(FileNotFoundError):
            _check_above(folder)
        for each in reversed([folder, *folder.parents]):
            if not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        pass  # of another kind: said below
    except OSError as failure:
        raise CacheError(f"the cache {folder} cannot be made: {failure.strerror}") from None
    if not check_folder(folder):
        raise CacheError(f"the cache {folder} cannot be made: somebody removes it")


def _check_above(folder: Path) -> None:
    """Raise `CacheError` when somebody else can put another folder in the place of one that leads to `folder`.

    As `ssh` and `sudo` have it: each folder, and each link on the way, belongs to this user or to root, and nobody else
    may write to it, but for one like `/tmp` (the sticky bit) where each removes only what is theirs. Who owns `/` is
    root, also where a container calls root otherwise. Raises `OSError`.
    """
    trusted = {0, os.geteuid(), os.lstat("/").st_uid}
    left = list(reversed(folder.absolute().parent.parts))
    at = ""
    links = 0
    while left:
        step = os.path.normpath(os.path.join(at, left.pop()))
        status = os.lstat(step)
        if status.st_uid not in trusted:
            raise CacheError(f"the cache {folder} is not used: {step} belongs to another user; {_ELSEWHERE}")
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            left += reversed(Path(os.readlink(step)).parts)
            continue
        if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            raise CacheError(
                f"the cache {folder} is not used: others may write to {step}; 'chmod go-w {step}', or {_ELSEWHERE}"
            )
        at = step
