"""`with cutecc.profile() as p`: what ran in the block, by kernel and line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from types import TracebackType

from cutecc.errors import LaunchError, ProfilingError
from cutecc.profiling.collector import Collector
from cutecc.profiling.contexts import active_contexts, describe_device, driver_version, synchronize
from cutecc.profiling.cupti import Cupti
from cutecc.profiling.kernels import ProfiledKernel, SampledLine, profiled
from cutecc.profiling.libraries import open_cupti
from cutecc.profiling.sampler import kernels_of
from cutecc.profiling.samples import Samples
from cutecc.record import Compilation
from cutecc.runtime.library import Library, loaded_libraries, loading

PERIODS = range(5, 32)
"""What `period` may be."""
_ELF = b"\x7fELF"
DEFAULT_PERIOD = 11
"""CUPTI's own: a sample of each scheduler every 2048 cycles."""


class Profile:
    """Samples of every kernel that this process runs inside of the `with` block, whoever compiled it.

    Afterwards `kernels`, the most sampled first, and `lines()`. A kernel has its lines where it was compiled with line
    information. Sampling does not change what runs beside what, and costs about 1 % of the time.
    """

    def __init__(self, *, period: int = DEFAULT_PERIOD, cupti: Cupti | None = None) -> None:
        """A sample every `2**period` cycles, 5 to 31. `cupti` stands in for the one of this machine."""
        if period not in PERIODS:
            raise ProfilingError(f"a sample every 2**{period} cycles: the exponent is {PERIODS[0]} to {PERIODS[-1]}")
        self._period = period
        self._given = cupti
        self._collector: Collector | None = None
        self._libraries: list[Library] = []
        """Those that are loaded, and those that come: a kernel may be gone before the block ends."""
        self._samples: Samples | None = None
        self._cubins: dict[int, bytes] = {}
        self._compilations: dict[int, Compilation] = {}

    def __enter__(self) -> Profile:
        """Begin. Raises `ProfilingError` where no samples can be taken, which says why, `LaunchError` without a GPU."""
        self.begin(active_contexts(), driver_version())
        return self

    def begin(self, contexts: Sequence[int], version: int) -> None:
        """Begin with these contexts, and a driver of this version, 13000 for CUDA 13.0. Raises `ProfilingError`."""
        self._cupti = self._given or open_cupti(version)
        self._collector = Collector(self._cupti, period=self._period)
        self._collector.begin(contexts)
        self._samples = None
        vars(self).pop("kernels", None)
        self._libraries = loaded_libraries()
        loading.append(self._libraries.append)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            synchronize(self._collector.contexts if self._collector else ())
        except LaunchError:
            # What failed in the block says so itself.
            if error is None:
                raise
        finally:
            self.end()

    def abandon(self) -> None:
        """In a forked process, which has nothing to sample: leave what was begun alone."""
        if self._collector is not None:
            self._collector.abandon()

    def end(self) -> None:
        """End, all kernels having ended."""
        assert self._collector is not None
        loading.remove(self._libraries.append)
        contexts = self._collector.contexts
        # A process without any has not used CUDA, and is not to begin with it now.
        known = contexts or self._collector.counts
        name, capability = describe_device(next(iter(contexts), None)) if known else ("", (0, 0))
        self._collector.end()
        self._cubins = self._collector.cubins
        # What the driver made of PTX has been heard of as it was loaded.
        for library in self._libraries:
            if library.image.startswith(_ELF):
                crc = self._cupti.crc(library.image)
                self._cubins.setdefault(crc, library.image)
                if library.compilation is not None:
                    self._compilations[crc] = library.compilation
        self._libraries = []
        self._samples = Samples(
            name,
            capability,
            1 << self._period,
            self._collector.seconds,
            os.getpid(),
            kernels_of(self._collector.counts),
            self._collector.dropped,
            self._collector.other,
            self._collector.was_full,
        )

    @property
    def failures(self) -> list[ProfilingError]:
        """Why contexts that came later could not be sampled."""
        return [] if self._collector is None else self._collector.failures

    @property
    def samples(self) -> Samples:
        """Everything as it was sampled. Raises `ProfilingError` inside of the block."""
        if self._samples is None:
            raise ProfilingError("a profile has its samples after the with block")
        return self._samples

    @property
    def cubins(self) -> dict[int, bytes]:
        """By CRC the cubins that were loaded meanwhile, and those of cutecc's kernels."""
        return self._cubins

    @property
    def compilations(self) -> dict[int, Compilation]:
        """By the CRC of its cubin the record of each kernel that cutecc has compiled and loaded."""
        return self._compilations

    @cached_property
    def kernels(self) -> list[ProfiledKernel]:
        """The kernels that were sampled, the most sampled first."""
        return [
            profiled(each, self._compilations.get(each.crc), self._cubins.get(each.crc))
            for each in self.samples.kernels
        ]

    def lines(self) -> list[SampledLine]:
        """The lines of all kernels that were sampled, the most sampled first."""
        return sorted((line for kernel in self.kernels for line in kernel.lines()), key=lambda each: -each.samples)


def profile(*, period: int = DEFAULT_PERIOD) -> Profile:
    """A `with` block whose kernels are sampled: `with cutecc.profile() as p: …`, then `p.lines()`.

    A sample of each scheduler every `2**period` cycles, 5 to 31. Raises `ProfilingError` where none can be taken.
    """
    return Profile(period=period)
