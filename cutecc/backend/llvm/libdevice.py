"""NVIDIA's library of mathematical functions for the device, as LLVM bitcode: where it is."""

from __future__ import annotations

import functools
import importlib.metadata
from pathlib import Path

_PACKAGE = "nvidia-nvvm"


@functools.cache
def libdevice() -> str | None:
    """The path of `libdevice.10.bc` in the installed package `nvidia-nvvm`; `None` when that is not installed."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith("libdevice.") and file.suffix == ".bc":
            path = Path(str(file.locate()))
            if path.is_file():
                return str(path)
    return None
