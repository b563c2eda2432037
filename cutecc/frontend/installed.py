"""Telling the user's files from those of Python's library and of installed packages."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Where cutecc's own files are."""


def is_installed(path: str) -> bool:
    """Whether an absolute path is below the folders of Python's library and of installed packages."""
    packages, library = _folders()
    return f"{path}{os.sep}".startswith(packages + library)


def is_users(path: str) -> bool:
    """Whether an absolute path is neither of Python's library, of an installed package, nor of cutecc."""
    return not is_installed(path) and not path.startswith(OWN)


def is_library(path: str) -> bool:
    """Whether an absolute path is in Python's own library."""
    packages, library = _folders()
    return path.startswith(library) and not path.startswith(packages)


@functools.cache
def _folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of installed packages, and those of Python's library.

    Found when they are first asked for: a watched program is not to pay for what `sysconfig` reads.
    """
    paths = sysconfig.get_paths()
    stdlib, platstdlib = paths["stdlib"], paths["platstdlib"]
    packages = {
        paths["purelib"],
        paths["platlib"],
        *(os.path.join(folder, "site-packages") for folder in (stdlib, platstdlib)),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
    archive = os.path.join(os.path.dirname(stdlib), f"python{sys.version_info[0]}{sys.version_info[1]}.zip")
    return _ended(packages), _ended({stdlib, platstdlib, archive})


def _ended(paths: set[str]) -> tuple[str, ...]:
    return tuple(os.path.abspath(folder) + os.sep for folder in paths)
