"""Whether this machine's memory holds what a trial needs, found out before it is filled."""

from __future__ import annotations

import os
from pathlib import Path

from cutecc.errors import UsageError

_CGROUP = Path("/sys/fs/cgroup")
"""Of this process, in a container that has its own."""


def available_bytes() -> int | None:
    """Bytes that this machine, or the container, can still give without swapping; `None` where neither says."""
    known = [each for each in (_of_machine(), _of_container()) if each is not None]
    return min(known, default=None)


def whole_bytes() -> int:
    """Bytes of memory that this machine, or the container, has."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int((_CGROUP / "memory.max").read_text()))  # or the word max
    except (OSError, ValueError):
        return machine


def _of_container() -> int | None:
    try:
        limit = int((_CGROUP / "memory.max").read_text())  # or the word max
        used = int((_CGROUP / "memory.current").read_text())
        statistics = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        # The cache of files counts as used, and is given up when memory is wanted.
        return limit - used + int(statistics["inactive_file"])
    except (OSError, ValueError, KeyError):
        return None


def _of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) << 10
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def check_fits(needed: int, what: str) -> None:
    """Raises `UsageError` unless so many bytes are available; `what` begins the message, `argument 'a' has`."""
    available = available_bytes()
    if available is not None and needed > available:
        raise UsageError(
            f"{what} {needed:,} bytes, which this machine cannot hold: it has {available:,} left",
            hints=["give smaller sizes"],
        )
