"""What of a launch's accesses reaches DRAM, and at which rates a multiprocessor gets what it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.estimating.devices import Device
from cutecc.estimating.state import Rates
from cutecc.estimating.trace import SECTOR

_KEPT = 0.6
"""The part of the L2 cache in which what a kernel reads stays from one wave of blocks to the next."""
_OWN = 0.7
"""The part in which a block finds again what it has read or written itself."""
_SHARED = 1.8
"""How much more the L2 cache gives of what several multiprocessors read at about the same time."""
_ALONE = 1.1
"""Of what blocks read to how much of it is different, up to which they have nothing in common."""
_L1_BYTES = 228 << 10
"""With shared memory, of a multiprocessor of capability 9.0."""
_RESERVED = 1024
"""Bytes of shared memory that the system takes of each block."""
_COLD = 500.0
"""Cycles by which a block that does something begins later than one that does nothing: its first instructions and
constants are in no cache."""
_MOST = 64.0
"""Bytes in a cycle that a multiprocessor takes of one source."""


@dataclass(frozen=True)
class Traffic:
    """Of a launch: sectors by tensor, as `TracedLaunch` has them."""

    read: list[float]
    sizes: list[int]
    sharing: list[float]
    written: float

    @property
    def total(self) -> float:
        """Sectors that blocks read, each counted once for each block."""
        return sum(self.read)

    @property
    def different(self) -> float:
        """How many different ones these are."""
        return sum(map(min, self.read, self.sizes))

    @property
    def is_shared(self) -> bool:
        """Whether blocks have what they read in common."""
        return self.total > _ALONE * self.different

    def from_memory(self, l2_bytes: int) -> float:
        """Sectors that are read from DRAM: each one once where the L2 cache keeps it, or else once a wave."""
        if self.different * SECTOR <= _KEPT * l2_bytes:
            return self.different
        return sum(
            min(read, size) if read <= _ALONE * size else max(float(size), read * sharing)
            for read, size, sharing in zip(self.read, self.sizes, self.sharing, strict=True)
        )


def memory_rate(device: Device, read: float, written: float) -> float:
    """GB/s of DRAM while so much is read for so much that is written: turning round costs some."""
    both = read + written
    part = read / both if both else 1.0
    pure = device["gbps/dram.read"] * part + device["gbps/dram.write"] * (1 - part)
    mean = (device["gbps/dram.read"] + device["gbps/dram.write"]) / 2
    turning = 1 - device["gbps/dram.copy.kernel"] / mean
    return pure * (1 - turning * 4 * part * (1 - part))


def rates_of(device: Device, traffic: Traffic, clock: float, grid_blocks: int, resident: int, shared: int) -> Rates:
    """What a multiprocessor gets at a clock in MHz; `shared` bytes of shared memory are those of a block."""
    from_memory = traffic.from_memory(device.l2_bytes)
    sharers = min(device.processors, grid_blocks)
    cycles = clock * 1e-3 * sharers

    def share(rate: float) -> float:
        """Bytes in a cycle of one multiprocessor, of GB/s that all have together."""
        return min(_MOST, rate / cycles)

    l2 = device["gbps/l2.read"] * (_SHARED if traffic.is_shared else 1.0)
    return Rates(
        read=share(l2),
        bulk=min(device["rate/tensor.l2.1sm.8192"], l2 / cycles),
        write=share(device["gbps/l2.write"]),
        partial=device["gbps/l2.write"] / device["gbps/l2.write.partial"],
        dram=share(memory_rate(device, from_memory, traffic.written)),
        crowding=device["loaded/crowding"],
        from_dram=from_memory / traffic.total if traffic.total else 1.0,
        l1_bytes=max(0, _L1_BYTES - resident * (shared + _RESERVED)),
        l2_bytes=int(_OWN * device.l2_bytes / sharers),
        l1=device.latency("global.l1"),
        l2=device.latency("global.l2"),
        latency_dram=device.latency("global.dram"),
        bulk_l2=device["cycles/bulk.l2.128"],
        bulk_dram=device["cycles/bulk.dram.128"],
        bulk_issue=10.0,
        store_read=device["cycles/bulk.store.1024"] / 2,
        barrier=device["cycles/bar.sync.4"] - 4.0,
        test=28.0,
        wake=device["cycles/mbarrier.there_and_back"] / 2 - 33.0,
        drain=device["cycles/wgmma.f16.n128.wait1"] - device["cycles/wgmma.f16.n128"],
        apart=_block_cycles(device, "us/launch.128.0"),
        start=_block_cycles(device, "us/launch.384.204800") + _COLD,
    )


def _block_cycles(device: Device, launches: str) -> float:
    """Cycles of a multiprocessor for each block of a launch of blocks that do nothing."""
    many, one = device[f"{launches}.512"], device[f"{launches}.1"]
    return (many - one) / 511 * device["mhz/fma.f32"]
