"""Counters in the form in which a record keeps them."""

from __future__ import annotations

from cutecc.emulator.counters.counts import RATIOS
from cutecc.emulator.device import Emulation
from cutecc.record.counters import KeptCounters, LineCounts, PtxCounts


def kept_counters(emulation: Emulation, sizes: str) -> KeptCounters:
    """What was counted of a launch at these sizes, by line of the user's and by instruction. It has to have counted."""
    counters = emulation.counters
    assert counters is not None
    lines = [
        LineCounts(kernel, each.location.file, each.location.line, each.counts.to_dict())
        for kernel in counters.kernels
        for each in counters.by_line(kernel)
        if each.location is not None and each.location.line is not None
    ]
    instructions = [
        PtxCounts(each.kernel, each.ptx_line, _without_ratios(each.counts.to_dict())) for each in counters.instructions
    ]
    title = f"{emulation.summary()} on the CPU emulator"
    return KeptCounters(f"{title}, {sizes}" if sizes else title, lines, instructions)


def _without_ratios(counts: dict[str, int | float]) -> dict[str, int | float]:
    return {name: value for name, value in counts.items() if name not in RATIOS}
