"""What limits a kernel: its rates beside the device's, and how its blocks fill the multiprocessors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from cutecc.backend.occupancy import occupancy
from cutecc.benchmarking.results import Measurement
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.runtime.launch import Launch
from cutecc.target import Target

_NEAR = 60.0
"""Percent of what the device reaches from which on a kernel counts as limited by that."""


class Filling(msgspec.Struct, frozen=True):
    """How the blocks of one launch fill the device."""

    kernel: str
    grid: tuple[int, int, int]
    block_threads: int
    blocks_per_sm: int
    """That fit beside each other."""
    warps_per_sm: int
    limited_by: list[str]
    """What lets no more in."""
    waves: float
    """Blocks over how many run at a time."""

    @property
    def last_wave(self) -> float:
        """Which share of the last wave's places has a block: 1 where all have."""
        return 1 - (math.ceil(self.waves) - self.waves) if self.waves else 0.0


class Limits(msgspec.Struct, frozen=True):
    """One call of a kernel beside what the device reaches."""

    microseconds: float
    """Of one call, the median without sampling."""
    gigabytes_per_second: float | None
    percent_of_copy: float | None
    teraflops: float | None
    percent_of_matrix: float | None
    intensity: float | None
    """Operations for each byte."""
    fillings: list[Filling]

    @property
    def bound(self) -> Literal["memory", "matrix", "neither", "unknown"]:
        """Which of the device's rates the kernel is near to."""
        shares = {"memory": self.percent_of_copy, "matrix": self.percent_of_matrix}
        known = {name: share for name, share in shares.items() if share is not None}
        if not known:
            return "unknown"
        best = max(known, key=lambda name: known[name])
        return ("memory" if best == "memory" else "matrix") if known[best] >= _NEAR else "neither"


def limits_of(measurement: Measurement, fillings: list[Filling]) -> Limits:
    """The limits of a kernel that was timed."""
    bytes_, flops = measurement.bytes, measurement.flops
    return Limits(
        measurement.median,
        measurement.gigabytes_per_second,
        measurement.percent_of_copy,
        measurement.teraflops,
        measurement.percent_of_matrix,
        flops / bytes_ if flops and bytes_ else None,
        fillings,
    )


def fillings(compilation: Compilation, launches: Sequence[Launch], multiprocessors: int) -> list[Filling]:
    """How each launch fills a device of so many multiprocessors; without those of which that is not known."""
    try:
        target = Target.of_ptx(compilation.target)
    except UsageError:
        return []
    resources = {each.kernel: each for each in compilation.resources}
    found: list[Filling] = []
    for launch in launches:
        used = resources.get(launch.kernel.name)
        if used is None:
            continue
        fit = occupancy(
            target,
            registers=used.registers,
            threads=math.prod(launch.block),
            shared_bytes=used.shared_static_bytes + launch.shared_bytes,
            barriers=used.barriers,
        )
        places = multiprocessors * fit.blocks_per_sm
        found.append(
            Filling(
                short_kernel_name(launch.kernel.name),
                launch.grid,
                fit.block_threads,
                fit.blocks_per_sm,
                fit.warps_per_sm,
                fit.limited_by,
                math.prod(launch.grid) / places if places else 0.0,
            )
        )
    return found
