"""Telling the user's files from those of Python's library and of installed packages."""

from __future__ import annotations

import os
import site
import sys
import sysconfig


def is_installed(path: str) -> bool:
    """Whether an absolute path is below the folders of Python's library and of installed packages."""
    return f"{path}{os.sep}".startswith(_INSTALLED)


def is_library(path: str) -> bool:
    """Whether an absolute path is in Python's own library."""
    return path.startswith(_LIBRARY) and not path.startswith(_PACKAGES)


def _folders(paths: set[str]) -> tuple[str, ...]:
    return tuple(os.path.abspath(folder) + os.sep for folder in paths)


OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Where cutecc's own files are."""
_PATHS = sysconfig.get_paths()
_PACKAGES = _folders(
    {
        _PATHS["purelib"],
        _PATHS["platlib"],
        *(os.path.join(_PATHS[name], "site-packages") for name in ("stdlib", "platstdlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
)
_ARCHIVE = os.path.join(os.path.dirname(_PATHS["stdlib"]), f"python{sys.version_info[0]}{sys.version_info[1]}.zip")
_LIBRARY = _folders({_PATHS["stdlib"], _PATHS["platstdlib"], _ARCHIVE})
_INSTALLED = _PACKAGES + _LIBRARY
