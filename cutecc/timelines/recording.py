"""Recording on a GPU: a kernel that the pass `record-timeline` has been over is armed, launched, and read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from cutecc.errors import ProfilingError
from cutecc.runtime.launch import Launch
from cutecc.support.malformed import MALFORMED
from cutecc.timelines.layout import ARMING, HEADER, HEADERS, NAME, RECORD, RECORDS, SITES_NAME, KernelSites

ALL_WARPS = (1 << 32) - 1
_FIRST_STRIDE = 4096
"""Bytes for each warp of the first launch, which says how many there have to be."""
_MOST_BYTES = 1 << 30
_TRIES = 4
"""Further launches until all records have room; blocks that take tiles as they come need others each time."""
_ROUND = 256
"""Bytes of regions are multiples of it."""


class Memory(Protocol):
    """The GPU's, as `cutecc.runtime.workspace.Workspace` has it: clearing and copying are on its stream."""

    def allocate(self, size: int) -> int: ...

    def clear(self, address: int, size: int) -> None: ...

    def upload(self, address: int, data: Any) -> None: ...

    def download(self, data: Any, address: int) -> None: ...

    def copy(self, destination: int, source: int, size: int) -> None: ...


class Recorded(Protocol):
    """A prepared call (`cutecc.runtime.prepared.Prepared`)."""

    @property
    def launches(self) -> Sequence[Launch]: ...

    def variable(self, name: str) -> tuple[int, int] | None: ...

    def __call__(self) -> object: ...


@dataclass(frozen=True)
class Selection:
    """What is recorded."""

    first: int = 0
    """The first block, by its number in the grid."""
    blocks: int | None = None
    """How many; all from there on unless said."""
    warps: int = ALL_WARPS
    """A bit for each warp of a block."""

    def of(self, blocks: int) -> range:
        """Which of so many blocks. Raises `ProfilingError` where none of these is there."""
        chosen = range(self.first, blocks if self.blocks is None else min(blocks, self.first + self.blocks))
        if not chosen:
            raise ProfilingError(f"block {self.first} is not there: the grid has {blocks:,} blocks")
        return chosen


@dataclass(frozen=True, eq=False)
class Records:
    """What the warps of one launch wrote."""

    sites: KernelSites
    launch: int
    blocks: range
    headers: NDArray[np.void]
    """Of `layout.HEADERS`, by block and warp."""
    records: NDArray[np.void]
    """Of `layout.RECORDS`, by block, warp, and order; zeros are none."""

    @property
    def repeated(self) -> bool:
        """Whether the kernel was launched again by the same call, which is not recorded."""
        return bool(self.headers["repeated"].any())

    @property
    def lost(self) -> int:
        """Records that no room was left for, at most."""
        over = self.headers["used"].astype(np.int64) - (HEADER + RECORD * self.records.shape[-1])
        return int(over[over > 0].sum()) // RECORD


@dataclass(frozen=True)
class _Variables:
    """Of one kernel: what arms it, and what its sites are."""

    arming: int
    sites: KernelSites


class Recorder:
    """Launches a call with its kernels armed. What it allocates is the memory's, for a `scope` of it."""

    def __init__(self, call: Recorded, memory: Memory, *, selection: Selection = Selection()) -> None:
        """Raises `ProfilingError` for a kernel that does not record, or whose grids are known only as it runs."""
        self._call, self._memory, self._selection = call, memory, selection
        self._kernels = list(_variables(call, memory))
        if not self._kernels:
            raise ProfilingError(
                "the kernel records nothing: it has no waits, barriers or marks, or no pass record-timeline",
                hints=["cutecc compile FILE.py --insert-before=cute-remove-static-args=record-timeline"],
            )
        if not call.launches:
            raise ProfilingError("the kernel's grid is known only while the host function runs: nothing is recorded")
        self._launches = {each.kernel.name: each for each in reversed(call.launches)}
        """Of each kernel the first, which is the one that records."""
        self._regions: dict[tuple[str, int], tuple[int, int]] = {}
        warps = max(map(self._warps, self._launches))
        if not selection.warps & (1 << warps) - 1:
            raise ProfilingError(f"none of these warps is there: a block has {warps}")
        self._strides = {name: self._first_stride(name) for name in self._launches}

    def record(self, number: int = 0) -> list[Records]:
        """Launch until all records have room; those of each kernel. Raises `ProfilingError`, `LaunchError`."""
        found = self._launch(number)
        for _ in range(_TRIES):
            if not any(each.lost for each in found):
                break
            for each in found:
                name = each.sites.kernel
                needed = int(each.headers["used"].max(initial=0))
                self._strides[name] = max(self._strides[name], -(-needed // _ROUND) * _ROUND)
            found = self._launch(number)
        return found

    def _launch(self, number: int) -> list[Records]:
        armed = self.armed()
        try:
            self.arm(armed)
            self._call()
            return [
                self._read(kernel, regions, number) for kernel, (regions, _) in zip(self._kernels, armed, strict=True)
            ]
        finally:
            self.disarm()

    def armed(self) -> list[tuple[int, int]]:
        """Of each kernel where its regions lie, and what arms it with them; the same until they need more room."""
        return [self._armed(kernel) for kernel in self._kernels]

    def _armed(self, kernel: _Variables) -> tuple[int, int]:
        name = kernel.sites.kernel
        stride, chosen = self._strides[name], self._chosen(name)
        if (name, stride) not in self._regions:
            regions, arming = self._memory.allocate(self._bytes(name)), self._memory.allocate(ARMING.itemsize)
            values = (regions, chosen.start, len(chosen), stride, self._selection.warps, 0)
            self._memory.upload(arming, np.array([values], ARMING))
            self._regions[name, stride] = regions, arming
        return self._regions[name, stride]

    def arm(self, armed: Sequence[tuple[int, int]]) -> None:
        """Put on the stream what has the next call record: its regions hold nothing then."""
        for kernel, (regions, arming) in zip(self._kernels, armed, strict=True):
            self._memory.clear(regions, self._bytes(kernel.sites.kernel))
            self._memory.copy(kernel.arming, arming, ARMING.itemsize)

    def disarm(self) -> None:
        """Put on the stream what has no further call record."""
        for kernel in self._kernels:
            self._memory.clear(kernel.arming, ARMING.itemsize)

    def _chosen(self, name: str) -> range:
        return self._selection.of(math.prod(self._launches[name].grid))

    def _warps(self, name: str) -> int:
        return -(-math.prod(self._launches[name].block) // 32)

    def _first_stride(self, name: str) -> int:
        fit = _MOST_BYTES // max(1, len(self._chosen(name)) * self._warps(name))
        return max(_ROUND, min(_FIRST_STRIDE, fit // _ROUND * _ROUND))

    def _bytes(self, name: str) -> int:
        """Of the regions of a kernel's warps. Raises `ProfilingError` where they are more than can be had."""
        blocks = len(self._chosen(name))
        size = blocks * self._warps(name) * self._strides[name]
        if size > _MOST_BYTES:
            fit = max(1, blocks * _MOST_BYTES // size)
            raise ProfilingError(
                f"{blocks:,} blocks would write {size / (1 << 30):.1f} GiB of records",
                hints=[f"record fewer: --blocks {self._selection.first}-{self._selection.first + fit - 1}"],
            )
        return size

    def _read(self, kernel: _Variables, regions: int, number: int) -> Records:
        name = kernel.sites.kernel
        chosen, warps, stride = self._chosen(name), self._warps(name), self._strides[name]
        raw = np.empty((len(chosen), warps, stride), "u1")
        self._memory.download(raw, regions)
        headers = np.ascontiguousarray(raw[:, :, :HEADER]).view(HEADERS)[..., 0]
        longest = min(stride, int(headers["used"].max(initial=HEADER)))
        records = np.ascontiguousarray(raw[:, :, HEADER : max(longest, HEADER)]).view(RECORDS)
        return Records(kernel.sites, number, chosen, headers, records)


def _variables(call: Recorded, memory: Memory) -> list[_Variables]:
    found: list[_Variables] = []
    launched = {each.kernel.name for each in call.launches}
    while (arming := call.variable(NAME.format(len(found)))) is not None:
        sites = call.variable(SITES_NAME.format(len(found)))
        if sites is None or arming[1] != ARMING.itemsize:
            raise ProfilingError(f"{NAME.format(len(found))} of the kernel's code is not what this version arms")
        text = np.empty(sites[1], "u1")
        memory.download(text, sites[0])
        try:
            found.append(_Variables(arming[0], msgspec.json.decode(text.tobytes(), type=KernelSites)))
        except MALFORMED as failure:
            raise ProfilingError(f"what the kernel says of its sites cannot be read: {failure}") from None
    return [each for each in found if not launched or each.sites.kernel in launched]
