"""The device that the user names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator

import click

from cutecc.errors import NoGpuError, UsageError
from cutecc.harness.on_device import HostMemory
from cutecc.runtime.workspace import Workspace
from cutecc.support.spelling import did_you_mean

NO_GPU = "no GPU here: running on the CPU emulator"
"""Said where the user has named no device and there is only this one."""


def open_device(name: str) -> Workspace:
    """The GPU called `cuda` or `cuda:1`. Raises `UsageError` for another name, `LaunchError` where it is not."""
    match = re.fullmatch(r"cuda(?::([0-9]+))?", name)
    if match is None:
        if name == "cpu":
            raise UsageError("the CPU emulator has no times to measure", hints=["cutecc run --device cpu --counters"])
        hints = [
            *did_you_mean(name, ("cpu", "cuda", "cuda:0")),
            "devices: cpu, which is the emulator, cuda:0, cuda:1, …",
        ]
        raise UsageError(f"no device is called '{name}'", hints=hints)
    return Workspace(int(match[1] or 0))


def find_cpu(name: str | None) -> HostMemory | None:
    """The memory of the emulator, when the user names the CPU, or no device and there is no GPU; else `None`."""
    return HostMemory() if name == "cpu" or (name is None and not has_gpu()) else None


@contextlib.contextmanager
def chosen_device(name: str | None, *, quiet: bool, err: bool = False) -> Generator[Workspace | HostMemory]:
    """The device that the user names, or the one there is; unless `quiet`, it is said where that is the emulator."""
    on_cpu = find_cpu(name)
    if on_cpu and name is None and not quiet:
        click.echo(NO_GPU, err=err)
    with on_cpu or open_device(name or "cuda:0") as device:
        yield device


def has_gpu() -> bool:
    """Whether the CUDA driver finds a GPU here."""
    from cutecc.target import native_targets

    try:
        return bool(native_targets())
    except NoGpuError:
        return False
    except UsageError:  # one that cutecc has no target for
        return True
