"""An estimate on a terminal: the time, what bounds it and why, the pipelined loop, the waves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecc.cli.console import Console
    from cutecc.estimating.results import Estimate, LaunchEstimate

_WIDEST = 100
"""Columns that text fills."""
_SHOWN = 5
"""Resources that are named."""
_LEAST = 0.05
"""Of the time, from which on a resource is named."""
_FILLED = {
    "tensor cores": "the tensor cores have no more time",
    "memory": "DRAM gives no more bytes",
    "L2 cache": "the L2 cache gives no more bytes",
    "shared memory": "shared memory and the L1 cache serve no more wavefronts",
    "issue": "the schedulers issue no more instructions",
    "integer pipe": "the integer pipe takes no more instructions",
    "float pipe": "the float pipe takes no more instructions",
    "special functions": "the special function unit takes no more instructions",
    "f64 pipe": "the f64 pipe takes no more instructions",
}


def show(found: Estimate, console: Console) -> None:
    """Print an estimate."""
    title = ", ".join(f"{name}={value}" for name, value in found.sizes.items())
    console.say(f"{f'{title} on' if title else 'on'} {found.title}, estimated", style="bold")
    console.say(f"{_time(found.microseconds)} a call, bound by {found.bound}")
    width = min(console.width, _WIDEST)
    for launch in found.launches:
        for line in _lines(launch):
            console.say(textwrap.fill(line, width, subsequent_indent="  "))


def _lines(launch: LaunchEstimate) -> Iterator[str]:
    share = launch.shares.get(launch.resource, 0.0)
    why = _FILLED.get(launch.resource, launch.resource)
    if launch.bound == "latency":
        first = next(iter(launch.waits), None)
        waits = f", and warps wait for {first}" if first else ""
        why = f"nothing is busy for more than {share:.0%} of the time{waits}"
    time = f"{_time(launch.microseconds)} at {launch.megahertz:,.0f} MHz"
    yield f"{launch.kernel}: {time}, bound by {launch.bound}: {why}"
    if launch.period:
        where = f" of line {launch.period_line}" if launch.period_line else ""
        yield f"  a turn of its loop with the wait{where} takes {launch.period:,.0f} cycles"
    busy = [f"{name} {each:.0%}" for name, each in launch.shares.items() if each >= _LEAST][:_SHOWN]
    if busy:
        yield f"  busy: {', '.join(busy)}"
    waits = [f"{name} {each:.0%}" for name, each in launch.waits.items() if each >= _LEAST]
    if waits:
        yield f"  warps wait for: {', '.join(waits)}"
    yield f"  {_filling(launch)}"
    yield from (f"  assumed: {each}" for each in launch.assumptions)


def _filling(launch: LaunchEstimate) -> str:
    grid = "×".join(map(str, launch.grid))
    limited = f" (limited by {' and '.join(launch.limited_by)})" if launch.limited_by else ""
    blocks = f"{launch.blocks_per_sm} block{'' if launch.blocks_per_sm == 1 else 's'} a multiprocessor{limited}"
    waves = f"{launch.waves:.2f} wave{'' if launch.waves == 1 else 's'}"
    last = f", the last {launch.last_wave:.0%} full" if launch.waves > 1 else ""
    return f"grid {grid}, {launch.block_threads} threads, {blocks}, {waves}{last}"


def _time(microseconds: float) -> str:
    return f"{microseconds:,.1f} µs" if microseconds < 1000 else f"{microseconds / 1000:,.2f} ms"
