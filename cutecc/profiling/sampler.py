"""Samples of the program counters of one context."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping
from ctypes import POINTER
from typing import NamedTuple

from cutecc.errors import ProfilingError
from cutecc.profiling.cupti import CONTINUOUS, PARSED, Cupti, PcData, SamplingData, Setting, StallReason
from cutecc.profiling.samples import KernelSamples, Reasons

_MOST_PCS = 20_000
"""Instructions for which a buffer has room: what is more stays for the next reading."""
_NOT_ISSUED = "_not_issued"
"""Each reason comes twice; the samples of the one with this ending are among those of the one without it."""
_PREFIX = "smsp__pcsamp_warps_issue_stalled_"


class SampledPc(NamedTuple):
    """An instruction that was sampled, and why its warp did not go on."""

    crc: int
    """Of the cubin."""
    function: str
    """The kernel's symbol."""
    offset: int
    """Bytes from the function's beginning."""
    reason: str
    """As `cutecc.report.stalls` names it: `long_scoreboard`."""


def kernels_of(counts: Mapping[SampledPc, int]) -> list[KernelSamples]:
    """The kernels that were sampled, the most sampled first."""
    kernels: dict[tuple[int, str], dict[int, Reasons]] = {}
    for pc, count in sorted(counts.items()):
        kernels.setdefault((pc.crc, pc.function), {}).setdefault(pc.offset, {})[pc.reason] = count
    found = [KernelSamples(symbol, crc, offsets) for (crc, symbol), offsets in kernels.items()]
    return sorted(found, key=lambda each: -each.total)


class Sampler:
    """Takes samples of all kernels in a context from `__init__` to `finish`."""

    def __init__(self, cupti: Cupti, context: int, *, period: int | None = None) -> None:
        """A sample every `2**period` cycles of each scheduler. Raises `ProfilingError` where none can be taken."""
        self._cupti, self._context = cupti, context
        self.counts: Counter[SampledPc] = Counter()
        self._names: dict[int, str] = {}
        """Of functions, by where CUPTI has them: records share these texts, so that nobody may free them."""
        self.dropped = 0
        """Samples that the hardware could not keep."""
        self.other = 0
        """Samples of kernels that are the driver's own."""
        self.was_full = False
        """Whether the hardware's buffer overflowed."""
        cupti.enable(context)
        try:
            self._configure(period)
        except ProfilingError:
            cupti.disable(context)
            raise

    def _configure(self, period: int | None) -> None:
        cupti, context = self._cupti, self._context
        reasons = cupti.stall_reasons(context)
        self._reasons = {
            index: name.removeprefix(_PREFIX)
            for index, name in reasons.items()
            if name.startswith(_PREFIX) and not name.endswith(_NOT_ISSUED)
        }
        # The one that was set gives nothing to `read`.
        self._own, self._set = _Buffer(len(reasons)), _Buffer(len(reasons))
        settings = {
            Setting.MODE: CONTINUOUS,
            Setting.START_STOP: 0,
            Setting.FORMAT: PARSED,
            Setting.DATA_BUFFER: ctypes.addressof(self._set.data),
        }
        if period is not None:
            settings[Setting.PERIOD] = period
        cupti.configure(context, settings)

    def read(self) -> None:
        """Take over what the hardware has so far, without waiting for kernels."""
        while True:
            if not self._cupti.read(self._context, self._own.data):
                self.was_full = True
                return
            remaining = self._own.data.remaining_pcs
            self._take(self._own.data)
            if not remaining:
                return

    def finish(self) -> None:
        """End sampling, and take over all that is left. All kernels have ended."""
        try:
            self.read()
        finally:
            self._cupti.disable(self._context)
        self._take(self._set.data)

    def _take(self, data: SamplingData) -> None:
        self.dropped += data.dropped_samples
        self.other += data.other_samples
        self.was_full = self.was_full or bool(data.is_hardware_full)
        for pc in data.pc_data[: data.pcs]:
            self._take_pc(pc)
        data.pcs = data.dropped_samples = data.other_samples = 0

    def _take_pc(self, pc: PcData) -> None:
        if not pc.function_name:
            return
        name = self._names.get(pc.function_name)
        if name is None:
            name = self._names[pc.function_name] = ctypes.string_at(pc.function_name).decode(errors="replace")
        for reason in pc.reasons[: pc.reason_count]:
            if reason.samples and (named := self._reasons.get(reason.index)):
                self.counts[SampledPc(pc.cubin_crc, name, pc.offset, named)] += reason.samples


class _Buffer:
    """Room for the samples of `_MOST_PCS` instructions."""

    def __init__(self, reasons: int) -> None:
        self._reasons = (StallReason * (_MOST_PCS * reasons))()
        self._pcs = (PcData * _MOST_PCS)()
        step = reasons * ctypes.sizeof(StallReason)
        first = ctypes.addressof(self._reasons)
        for number, pc in enumerate(self._pcs):
            pc.size = ctypes.sizeof(PcData)
            pc.reasons = ctypes.cast(first + number * step, POINTER(StallReason))
        self.data = SamplingData(size=ctypes.sizeof(SamplingData), most_pcs=_MOST_PCS, pc_data=self._pcs)
