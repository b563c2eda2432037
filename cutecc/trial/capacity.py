"""Whether this machine's memory holds what a trial needs, found out before it is filled."""

from __future__ import annotations

import os
from pathlib import Path

from cutecc.errors import UsageError


def available_bytes() -> int | None:
    """Bytes that this machine can still give without swapping; `None` where the system does not say."""
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
