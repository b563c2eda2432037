"""What calls cost on the host: times that stop when a call returns, not when the GPU is done. Needs torch."""

# pyright: reportMissingImports=false

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

CALLS = 400
"""In a row: fewer than the driver queues, which blocks when the GPU lags behind."""

Name = TypeVar("Name", bound=Hashable)


def measure(found: Mapping[Name, Callable[[], object]], rounds: int) -> dict[Name, list[float]]:
    """Microseconds a call of each variant, by round; a round has an order of its own, and one before warms up."""
    import torch

    times: dict[Name, list[float]] = {name: [] for name in found}
    for round_ in range(rounds + 1):
        for name in random.sample(list(found), len(found)):
            call = found[name]
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            elapsed = time.perf_counter() - start
            torch.cuda.synchronize()
            if round_:
                times[name].append(elapsed / CALLS * 1e6)
    return times


def cell(samples: Sequence[float], digits: int) -> str:
    """The median of some rounds, and where most of them lie."""
    low, high = statistics.quantiles(samples, n=10)[::8]
    return f"{statistics.median(samples):.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"
