"""Which flavours of nvidia-cutlass-dsl are installed, and which of them is used: told without importing the bindings.

The wheel always brings the libraries for CUDA 12, and those for CUDA 13 beside them with its extra `cu13`. When it is
imported, it takes the newest that the driver supports, or the newest of all without a driver.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import sys
from collections.abc import Iterable

LIBRARY = "cutlass._mlir._mlir_libs._cutlass_ir"
"""The module of the bindings' native library."""
_FILE = re.compile(r"_cutlass_ir\.(cu\d+)\.")


def flavour() -> str:
    """The flavour that this process works with, `cu12`: of the bindings that are loaded, or would be; empty if untold.

    Of a driver that supports none of those installed the bindings say so themselves; until then it is the oldest.
    """
    if loaded := sys.modules.get(LIBRARY):
        return _of_file(loaded.__file__ or "")
    found = installed_flavours()
    return chosen(found, driver_version()) if len(found) > 1 else "".join(found)


def chosen(flavours: Iterable[str], driver: tuple[int, int] | None) -> str:
    """Of these, that which the bindings take with a driver for this version of CUDA, or without one."""
    oldest_first = sorted(flavours, key=cuda_major)
    supported = [each for each in oldest_first if driver is None or cuda_major(each) <= driver[0]]
    return (supported or oldest_first[:1] or [""])[-1]


@functools.cache
def installed_flavours() -> tuple[str, ...]:
    """The flavours whose libraries are there, oldest first; none where there are no bindings."""
    try:
        spec = importlib.util.find_spec("cutlass")
    except (ImportError, ValueError):  # it is kept away, or says nothing of where it is from
        return ()
    found: set[str] = set()
    for folder in (spec and spec.submodule_search_locations) or ():
        try:
            names = os.listdir(os.path.join(folder, "_mlir", "_mlir_libs"))
        except OSError:
            continue
        found.update(filter(None, map(_of_file, names)))
    return tuple(sorted(found, key=cuda_major))


def cuda_major(flavour: str) -> int:
    """The major version of CUDA that a flavour is for: 12 of `cu12`."""
    return int(flavour.removeprefix("cu"))


@functools.cache
def driver_version() -> tuple[int, int] | None:
    """The newest version of CUDA that this machine's driver supports, `(13, 0)`; `None` without a driver.

    Starts nothing on a GPU: a process that asks can still be forked.
    """
    number = ctypes.c_int(0)
    try:
        status = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return (number.value // 1000, number.value % 1000 // 10) if status == 0 else None


def _of_file(path: str) -> str:
    told = _FILE.search(path)
    return told[1] if told else ""
