"""The numbers that are counted, of an instruction, a line, or a whole kernel."""

from __future__ import annotations

from dataclasses import dataclass, fields

from cutecc.emulator.machine.lanes import WARP


@dataclass(slots=True)
class Counts:
    """Sums over all threads that ran."""

    warps: int = 0
    """Executions by a warp, also when the instruction's guard holds for none of its threads."""
    threads: int = 0
    """Executions by a thread that takes part, whether the guard holds or not."""
    predicated_threads: int = 0
    """Executions by a thread for which the guard holds."""
    global_requests: int = 0
    """Executions by a warp that access global memory."""
    global_sectors: int = 0
    """Sectors of 32 bytes that requests touch, each once per request; with `cp.async.cg`, transfers of a sector."""
    global_ideal_sectors: int = 0
    """The fewest sectors that hold the bytes that requests touch."""
    shared_requests: int = 0
    """Executions by a warp that access shared memory."""
    shared_wavefronts: int = 0
    """Passes over the 32 banks that the requests take."""
    shared_ideal_wavefronts: int = 0
    """Passes that they would take without bank conflicts."""
    global_bytes_read: int = 0
    """By threads; an atomic access counts as read and as written."""
    global_bytes_written: int = 0
    shared_bytes_read: int = 0
    shared_bytes_written: int = 0
    local_bytes_read: int = 0
    local_bytes_written: int = 0
    async_global_bytes_read: int = 0
    """By asynchronous operations: bulk and tensor copies."""
    async_global_bytes_written: int = 0
    async_shared_bytes_read: int = 0
    """Also what `wgmma`, `tcgen05.mma` and `tcgen05.cp` read."""
    async_shared_bytes_written: int = 0
    tensor_bytes_read: int = 0
    """Of tensor memory: by loads, and by multiplications what they add to, scales, and A where it is there."""
    tensor_bytes_written: int = 0
    """By stores, copies and multiplications."""
    matrix_operations: int = 0
    """Matrix instructions; one of a warpgroup counts once, and one of a pair of blocks."""
    matrix_flops: int = 0
    """Multiplications and additions of those."""

    def add(self, other: Counts) -> None:
        """Take another's numbers."""
        for name in FIELDS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def thread_efficiency(self) -> float | None:
        """The part of the threads of executing warps that takes part: 1 without divergence."""
        return self.threads / (WARP * self.warps) if self.warps else None

    @property
    def sectors_per_request(self) -> float | None:
        return self.global_sectors / self.global_requests if self.global_requests else None

    @property
    def coalescing_efficiency(self) -> float | None:
        """The fewest sectors possible over those touched: 1 for accesses side by side."""
        return self.global_ideal_sectors / self.global_sectors if self.global_sectors else None

    @property
    def bank_conflicts(self) -> int:
        """Passes over the banks that conflicts add."""
        return self.shared_wavefronts - self.shared_ideal_wavefronts

    @property
    def bank_efficiency(self) -> float | None:
        """The passes without conflicts over those taken."""
        return self.shared_ideal_wavefronts / self.shared_wavefronts if self.shared_wavefronts else None

    @property
    def global_bytes(self) -> int:
        """All bytes of global memory that were accessed."""
        return (
            self.global_bytes_read
            + self.global_bytes_written
            + self.async_global_bytes_read
            + self.async_global_bytes_written
        )

    @property
    def shared_bytes(self) -> int:
        """All bytes of shared memory that were accessed."""
        return (
            self.shared_bytes_read
            + self.shared_bytes_written
            + self.async_shared_bytes_read
            + self.async_shared_bytes_written
        )

    @property
    def tensor_bytes(self) -> int:
        """All bytes of tensor memory that were accessed."""
        return self.tensor_bytes_read + self.tensor_bytes_written

    def to_dict(self) -> dict[str, int | float]:
        """Everything that is not zero, ratios among it."""
        numbers: dict[str, int | float] = {name: getattr(self, name) for name in FIELDS if getattr(self, name)}
        if self.shared_wavefronts:
            numbers["bank_conflicts"] = self.bank_conflicts
        for name in RATIOS:
            if (ratio := getattr(self, name)) is not None:
                numbers[name] = ratio
        return numbers


FIELDS = tuple(field.name for field in fields(Counts))
RATIOS = ("thread_efficiency", "sectors_per_request", "coalescing_efficiency", "bank_efficiency")
