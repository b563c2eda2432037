"""A GPU's memory and a kernel that records, in this process: what warps write, byte by byte as `layout` says it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from cutecc.record.host_program import KernelEntry
from cutecc.runtime.launch import Launch
from cutecc.timelines.layout import ARMING, HEADER, HEADERS, NAME, RECORD, RECORDS, SITES_NAME, KernelSites, code
from cutecc.timelines.sites import Site

SITES = [
    Site("wait", "mbarrier wait", "mbarrier 0", "k.py", 3),
    Site("product", "products", "products", "k.py", 4),
    Site("wait", "wait for products", "products", "k.py", 5),
    Site("mark", "load", None, "k.py", 6),
    Site("mark", "store", None, "k.py", 7),
]
START = 1_760_000_000_000_000_000
"""Nanoseconds of a globaltimer, which no 64-bit floating-point number holds."""


class FakeMemory:
    """Memory by address. Its stream is done at once."""

    def __init__(self, first: int = 1 << 33) -> None:
        self.data: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        self._next = first

    def allocate(self, size: int) -> int:
        address = self._next
        self.data[address] = np.full(size, 0xEE, np.uint8)
        self._next = address + size + 512
        return address

    def at(self, address: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        base = max(each for each in self.data if each <= address)
        found = self.data[base][address - base :][:size]
        assert len(found) == size, "outside of what was allocated"
        return found

    def clear(self, address: int, size: int) -> None:
        self.at(address, size)[:] = 0

    def copy(self, destination: int, source: int, size: int) -> None:
        self.at(destination, size)[:] = self.at(source, size)

    def upload(self, address: int, data: Any) -> None:
        self.at(address, data.nbytes)[:] = data.view(np.uint8).reshape(-1)

    def download(self, data: Any, address: int) -> None:
        data.view(np.uint8).reshape(-1)[:] = self.at(address, data.nbytes)


@dataclass
class FakeCall:
    """A prepared call: a grid of one-warp or larger blocks, each warp of which writes `records`."""

    memory: FakeMemory
    grid: tuple[int, int, int] = (4, 1, 1)
    warps: int = 2
    records: Sequence[tuple[int, str, int]] = ((0, "begin", 100), (0, "end", 350), (1, "instant", 400))
    """Site, moment, and cycles after the warp's start."""
    calls: int = 0
    times: int = 1
    """How often a call launches the kernel."""
    variables: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def __post_init__(self) -> None:
        text = np.frombuffer(msgspec.json.encode(KernelSites("kernel", SITES)), np.uint8)
        for name, content in ((NAME, np.zeros(ARMING.itemsize, np.uint8)), (SITES_NAME, text)):
            address = self.memory.allocate(len(content))
            self.memory.upload(address, content.copy())
            self.variables[name.format(0)] = address, len(content)

    @property
    def launches(self) -> list[Launch]:
        entry = KernelEntry("kernel", [], 0)
        return [Launch(entry, self.grid, (32 * self.warps, 1, 1), 0, 0, {}, bytearray())] * self.times

    def variable(self, name: str) -> tuple[int, int] | None:
        return self.variables.get(name)

    def __call__(self) -> None:
        self.calls += 1
        for _ in range(self.times):
            for block in range(math.prod(self.grid)):
                for warp in range(self.warps):
                    self._run(block, warp)

    def _run(self, block: int, warp: int) -> None:
        address, size = self.variables[NAME.format(0)]
        (arming,) = self.memory.at(address, size).view(ARMING)
        first, blocks, stride = (int(arming[name]) for name in ("first", "blocks", "stride"))
        if not first <= block < first + blocks or not int(arming["warps"]) >> warp & 1:
            return
        region = int(arming["base"]) + ((block - first) * self.warps + warp) * stride
        header = self.memory.at(region, HEADER).view(HEADERS)[0]
        if header["start"]:
            header["repeated"] = 1
            return
        # A clock of 2 GHz, another zero on each of two multiprocessors, and nearly over its end.
        begin = (0xFFFFFF00 if block % 2 else 5000) + 2 * block
        last = self.records[-1][2] + 100 if self.records else 100
        used = HEADER + RECORD * len(self.records)
        header["start"], header["end"] = START + block, START + block + last // 2
        header["start_clock"], header["end_clock"] = begin & 0xFFFFFFFF, (begin + last) & 0xFFFFFFFF
        header["processor"], header["used"] = block % 2, used
        for number, (site, moment, cycles) in enumerate(self.records):
            at = HEADER + RECORD * number
            if at + RECORD <= stride:
                (record,) = self.memory.at(region + at, RECORD).view(RECORDS)
                record["code"], record["clock"] = code(site, moment), (begin + cycles) & 0xFFFFFFFF
