"""Contents of files as hashes, and which cutecc this is."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path

from cutecc import __version__

_PACKAGE = Path(__file__).parents[1]


def digest_of(value: object) -> str:
    """The SHA-256 of plain data (dictionaries, lists, strings, numbers), in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal; raises `OSError`. A file that stays the same is read once."""
    status = os.stat(path)
    return _file_digest(str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@functools.lru_cache(maxsize=1024)
def _file_digest(path: str, *_identity: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def own_fingerprint() -> str:
    """Which cutecc this is: the version of an installed one, with its files' sizes and times when it is a checkout."""
    if _PACKAGE.parent.name in ("site-packages", "dist-packages"):
        return __version__
    digest = hashlib.sha256(__version__.encode())
    for folder, folders, files in os.walk(_PACKAGE):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\0".encode())
    return f"{__version__}-{digest.hexdigest()}"
