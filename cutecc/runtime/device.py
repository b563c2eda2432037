"""The GPUs of this machine: what they are, and which code runs on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cached_property

from cutecc.errors import LaunchError
from cutecc.record.compilation import Compilation
from cutecc.runtime.driver import DeviceAttribute, Driver
from cutecc.support import forks
from cutecc.target import native_target

_TARGET = re.compile(r"sm_(\d+)(\d)([af]?)")


class CudaDevice:
    """One GPU, by its CUDA ordinal."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        """Raises `LaunchError` when there is no such GPU."""
        count = driver.device_count()
        if not 0 <= ordinal < count:
            raise LaunchError(
                f"there is no cuda:{ordinal}: the driver sees {count} GPU{'' if count == 1 else 's'}",
                hints=["CUDA_VISIBLE_DEVICES says which ones it may see"],
            )
        self.driver = driver
        self.ordinal = ordinal
        self.is_only = count == 1
        """Whether a context can be of no other GPU."""
        self._primary: int | None = None
        self._lock = forks.lock()

    @cached_property
    def capability(self) -> tuple[int, int]:
        """The compute capability: `(9, 0)`."""
        read = self.driver.device_attribute
        return (
            read(self.ordinal, DeviceAttribute.CAPABILITY_MAJOR),
            read(self.ordinal, DeviceAttribute.CAPABILITY_MINOR),
        )

    @cached_property
    def multiprocessors(self) -> int:
        """How many there are, of a part of a GPU only its own."""
        return self.driver.device_attribute(self.ordinal, DeviceAttribute.MULTIPROCESSORS)

    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory that one block can have, static and dynamic."""
        return self.driver.device_attribute(self.ordinal, DeviceAttribute.SHARED_BYTES_OPT_IN)

    def __str__(self) -> str:
        major, minor = self.capability
        return f"cuda:{self.ordinal} ({self.driver.device_name(self.ordinal)}, sm_{major}{minor})"

    @contextmanager
    def current(self) -> Generator[None]:
        """Makes a context of this GPU the current one.

        A thread that has one keeps it, also when it is not the primary one. A thread without any gets the primary one
        for good, as the CUDA runtime has it. A thread that uses another GPU has that one back afterwards.
        """
        driver = self.driver
        found = driver.current_device()
        if found == self.ordinal:
            yield
        elif found is None:
            driver.set_context(self._primary_context())
            yield
        else:
            driver.push_context(self._primary_context())
            try:
                yield
            finally:
                driver.pop_context()

    def guarded(self, run: Callable[..., None]) -> Callable[..., None]:
        """`run` in a context of this GPU."""

        def guarded(*values: object) -> None:
            if self.driver.current_device() == self.ordinal:
                run(*values)
            else:
                with self.current():
                    run(*values)

        return guarded

    def _primary_context(self) -> int:
        # Kept for as long as the process lives: kernels loaded into it may run at any time.
        with self._lock:
            if self._primary is None:
                self._primary = self.driver.retain_primary_context(self.ordinal)
            return self._primary


def runs_on(target: str, capability: tuple[int, int], *, ptx: bool = False) -> bool:
    """Whether code for `target` runs on a GPU of this compute capability.

    A cubin runs on its own capability and later minor ones of the same major one, PTX on all later ones. With the
    suffix `a` both run on exactly one capability, with `f` within one major one.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        return False
    major, minor, suffix = int(match[1]), int(match[2]), match[3]
    if suffix == "a":
        return capability == (major, minor)
    if suffix == "f" or not ptx:
        return capability[0] == major and capability[1] >= minor
    return capability >= (major, minor)


def choose(compilations: Sequence[Compilation], device: CudaDevice) -> tuple[Compilation, bytes]:
    """The compilation that fits `device` best, and its code: a cubin, or else PTX for the driver to assemble.

    Among several the latest fits best, and of one capability the most specific. Raises `LaunchError` that names both
    sides when none fits.
    """
    best = sorted(compilations, key=lambda each: _rank(each.target), reverse=True)
    for compilation in best:
        if runs_on(compilation.target, device.capability) and (cubin := compilation.artifact("cubin")):
            return compilation, cubin
    for compilation in best:
        if runs_on(compilation.target, device.capability, ptx=True) and (ptx := compilation.artifact("ptx")):
            return compilation, ptx.rstrip(b"\0") + b"\0"
    targets = ", ".join(dict.fromkeys(each.target for each in compilations))
    raise LaunchError(
        f"{compilations[0].name} is compiled for {targets}, which does not run on {device}",
        hints=[f"compile it for this GPU, target {native_target(device.capability)}"],
    )


def _rank(target: str) -> tuple[int, int, int]:
    match = _TARGET.fullmatch(target)
    return (int(match[1]), int(match[2]), ("", "f", "a").index(match[3])) if match else (0, 0, 0)
