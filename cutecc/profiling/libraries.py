"""Which CUPTI of those on a machine fits its driver."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cutecc.errors import ProfilingError
from cutecc.profiling.cupti import Cupti

_NAME = re.compile(r"libcupti\.so\.(\d\d)")


def open_cupti(driver_version: int) -> Cupti:
    """The CUPTI of this process for a driver of this version, 13000 for CUDA 13.0.

    One that is loaded already, as torch does, is taken as it is: two of them do not go together. Raises
    `ProfilingError` where there is none.
    """
    if loaded := _loaded():
        return Cupti(loaded)
    major = driver_version // 1000
    found = [path for path in installed() if (_major(path) or 0) <= major]
    if not found:
        raise ProfilingError(
            f"there is no CUPTI here for a driver of CUDA {major}, which samples are taken with",
            hints=[f"pip install 'nvidia-cuda-cupti{'' if major > 12 else '-cu12'}>={major},<{major + 1}'"],
        )
    # A newer one knows newer GPUs; of the same age, the first.
    return Cupti(max(found, key=lambda path: _major(path) or 0))


def installed() -> list[Path]:
    """Those of Python's packages (torch's, that of `nvidia-cuda-cupti`) and of CUDA toolkits, without repetitions."""
    found = (path for folder in _folders() for path in sorted(folder.glob("libcupti.so.*")) if _major(path))
    return [*{path.resolve(): path for path in found}.values()]


def _folders() -> Iterator[Path]:
    for entry in sys.path:
        yield from (Path(each) for each in sorted(glob.glob(f"{glob.escape(entry)}/nvidia/*/lib")))
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *sorted(glob.glob("/usr/local/cuda*"))]
    for toolkit in filter(None, toolkits):
        yield Path(toolkit, "extras/CUPTI/lib64")
        yield Path(toolkit, "lib64")


def _loaded() -> str | None:
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return None
    return next((line.split(maxsplit=5)[5] for line in maps.splitlines() if "/libcupti.so" in line), None)


def _major(path: Path) -> int | None:
    """The CUDA version that a library is of, by its name; `None` for a longer name of one."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else None
