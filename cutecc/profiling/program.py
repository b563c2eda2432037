"""Samples a process of a profiled program, from when it can run kernels to its end. Nothing here is to disturb it."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cutecc.errors import Error
from cutecc.profiling.contexts import driver_version
from cutecc.profiling.folder import write_process
from cutecc.profiling.profile import DEFAULT_PERIOD, Profile

FOLDER = "CUTECC_PROFILE"
"""The folder that a process writes to; empty is off."""
_PERIOD = "CUTECC_PROFILE_PERIOD"
_DSL_LINES = "CUTE_DSL_LINEINFO"
"""Has the DSL's own compiler keep lines."""
_OWN_LINES = "CUTECC_LINE_INFO"
"""Has cutecc keep them."""


def environment(folder: Path, hook: Path, period: int, base: Mapping[str, str]) -> dict[str, str]:
    """`base` with what makes the processes of a program write their samples to `folder`, and keep lines in kernels."""
    return {
        _DSL_LINES: "1",
        _OWN_LINES: "1",
        **base,
        "PYTHONPATH": os.pathsep.join([str(hook), *filter(None, [base.get("PYTHONPATH")])]),
        FOLDER: str(folder.absolute()),
        _PERIOD: str(period),
    }


def begin(folder: str) -> None:
    """Sample this process to its end. No context is made here. Raises `ProfilingError`, `LaunchError`."""
    profile = Profile(period=int(os.environ.get(_PERIOD, DEFAULT_PERIOD)))
    profile.begin([], driver_version())
    pid = os.getpid()

    def finish() -> None:
        if os.getpid() == pid:
            _finish(profile, Path(folder))

    atexit.register(finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=profile.abandon)


def _finish(profile: Profile, folder: Path) -> None:
    try:
        profile.__exit__(None, None, None)
        if profile.samples.total:
            write_process(folder, profile.samples, profile.cubins, profile.compilations)
    except (Error, OSError) as failure:
        _say(f"the samples of process {os.getpid()} are lost: {failure}")
    for failure in profile.failures:
        _say(f"process {os.getpid()} is not sampled: {failure}")


def _say(message: str) -> None:
    # A program may have no stderr any more.
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"cutecc profile: {message}\n")
