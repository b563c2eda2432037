"""Where the cache is, and whether its folder is this user's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cutecc.config import Settings
from cutecc.errors import Error

_LAYOUT = "v1"
"""Changes with the format of files, so that releases of cutecc never read one another's."""


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


def check_folder(folder: Path) -> bool:
    """Whether there is a cache at `folder`.

    Raises `CacheError` when what is there is no folder, or another user's: entries are code that will run. A folder of
    ours that others may read or write is closed to them.
    """
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return False
    except OSError as failure:
        raise CacheError(f"the cache {folder} cannot be used: {failure.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(f"the cache {folder} is not used: it is not a folder")
    if status.st_uid != os.geteuid():
        raise CacheError(f"the cache {folder} is not used: it belongs to another user")
    if status.st_mode & 0o077:
        try:
            os.chmod(folder, 0o700)
        except OSError as failure:
            raise CacheError(f"the cache {folder} is open to other users: {failure.strerror}") from None
    return True


def make_folder(folder: Path) -> None:
    """Make sure that there is a cache at `folder`; raises `CacheError` when there cannot be."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        pass  # of another kind: said below
    except OSError as failure:
        raise CacheError(f"the cache {folder} cannot be made: {failure.strerror}") from None
    check_folder(folder)
