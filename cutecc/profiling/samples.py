"""What was sampled, as plain data: kept on disk, read again elsewhere."""

from __future__ import annotations

import msgspec

Reasons = dict[str, int]
"""Samples by what the warp waited for, as `cutecc.report.stalls` names it."""


class KernelSamples(msgspec.Struct, frozen=True):
    """The samples of one kernel in one cubin."""

    symbol: str
    crc: int
    """Of the cubin, as CUPTI computes it."""
    offsets: dict[int, Reasons]
    """By the byte of an instruction from the function's beginning."""

    @property
    def total(self) -> int:
        """Samples of the kernel."""
        return sum(sum(reasons.values()) for reasons in self.offsets.values())


class Samples(msgspec.Struct):
    """The samples of one process on one device."""

    device: str
    """Its name, `NVIDIA H200`."""
    capability: tuple[int, int]
    period: int
    """Cycles between two samples of a scheduler."""
    seconds: float
    """From the beginning of sampling to its end."""
    pid: int
    """Of the process."""
    kernels: list[KernelSamples]
    """The most sampled first."""
    dropped: int = 0
    """Samples that the hardware could not keep."""
    other: int = 0
    """Samples of the driver's own kernels, of which nothing more is known."""
    was_full: bool = False
    """Whether the hardware's buffer overflowed: then a stretch of time has no samples."""

    @property
    def total(self) -> int:
        """Samples of all kernels."""
        return sum(each.total for each in self.kernels)
