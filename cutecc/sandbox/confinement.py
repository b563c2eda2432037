"""All of it together: limits, no files, no system calls but those of computing."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from cutecc.sandbox import landlock, seccomp
from cutecc.sandbox.native import give_up_privileges


def confine(*, memory: int, seconds: float, keep: int) -> list[str]:
    """Have this process, which must have one thread, compute and write to the descriptor `keep`, and do nothing else.

    It may take `memory` more bytes than it has, and so many `seconds` of a processor. All other descriptors are closed;
    standard input and output lead nowhere. Returns what is in force: `setrlimit`, and `landlock` and `seccomp` where
    the kernel has them. There is no way back.
    """
    _close_all_but(keep)
    used = _mapped_bytes()
    for name, limit in (
        (resource.RLIMIT_AS, None if used is None else used + memory),
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        if limit is not None:
            _lower(name, limit)
    found = ["setrlimit"]
    has_no_privileges = give_up_privileges()
    if has_no_privileges and landlock.deny_all():
        found.append("landlock")
    # Landlock needs a descriptor of its own, and the filter forbids this call.
    _lower(resource.RLIMIT_NOFILE, 0)
    if has_no_privileges and seccomp.allow_computing():
        found.append("seccomp")
    return found


def _lower(name: int, limit: int) -> None:
    _, hard = resource.getrlimit(name)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(name, (limit, limit))


def _close_all_but(keep: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, keep)
    os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _mapped_bytes() -> int | None:
    """Of this process's address space; `None` where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()
