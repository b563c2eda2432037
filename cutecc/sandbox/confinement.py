"""All of it together: limits, no files, no system calls but those of computing."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from cutecc.sandbox import landlock, seccomp
from cutecc.sandbox.native import give_up_privileges

_MOST, _MOST_SECONDS = 1 << 62, 1 << 31
"""What a limit may be at most: so much is none."""


def confine(*, memory: int, seconds: float, keep: int) -> list[str]:
    """Have this process, which must have one thread, compute and write to the descriptor `keep`, and do nothing else.

    It may take `memory` more bytes than it has, and so many `seconds` of a processor. All other descriptors are closed;
    standard input and output lead nowhere. Returns what is in force: `setrlimit`, and `landlock` and `seccomp` where
    the kernel has them. There is no way back.
    """
    _close_all_but(keep)
    used = _mapped_bytes()
    if used is not None:
        _lower(resource.RLIMIT_AS, used + memory)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NPROC, 0)
    whole = int(min(seconds, _MOST_SECONDS))
    # The first is told as `SIGXCPU`, which says why the process ended.
    _lower(resource.RLIMIT_CPU, whole + 1, whole + 2)
    found = ["setrlimit"]
    has_no_privileges = give_up_privileges()
    if has_no_privileges and landlock.deny_all():
        found.append("landlock")
    # Landlock needs a descriptor of its own, and the filter forbids this call.
    _lower(resource.RLIMIT_NOFILE, 0)
    if has_no_privileges and seccomp.allow_computing():
        found.append("seccomp")
    return found


def _lower(name: int, limit: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(name)
    limit = min(limit, _MOST)
    limits = limit, limit if hard is None else hard
    resource.setrlimit(name, limits if most == resource.RLIM_INFINITY else (min(limits[0], most), min(limits[1], most)))


def _close_all_but(keep: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor != keep:
            # That of the folder itself is closed by now.
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _mapped_bytes() -> int | None:
    """Of this process's address space; `None` where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()
