"""A profile on a terminal: what limits the kernel, then its lines by share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from cutecc.cli.tables import NAMES, NUMBERS, Row, fitting, print_table
from cutecc.profiling.stalls import explain
from cutecc.report.paths import short_names
from cutecc.support.locations import MARKS

if TYPE_CHECKING:
    from rich.table import Table

    from cutecc.cli.console import Console
    from cutecc.profiling.kernels import ProfiledKernel, SampledLine
    from cutecc.profiling.limits import Filling, Limits
    from cutecc.profiling.profile import Profile

_STALLS = 2
"""Reasons that are told of a line."""
_LEAST_SHARE = 0.1
"""Of the samples of a line, below which a second reason is not told."""
_INSTRUCTIONS = 5
"""That are told of a line."""
_BOUNDS = {
    "memory": "limited by memory",
    "matrix": "limited by the matrix units",
    "neither": "near neither the memory's rate nor the matrix units'",
}


def show(
    profile: Profile,
    limits: Limits | None,
    console: Console,
    *,
    top: int,
    instructions: bool = False,
    launches: int | None = None,
) -> None:
    """Print a profile: at most `top` lines of each kernel, with `instructions` also these."""
    samples = profile.samples
    for line in _head(limits):
        console.say(line)
    of = f" of {launches:,} launches" if launches else ""
    text = f"{samples.total:,} samples{of} on {samples.device}, one of each scheduler every {samples.period:,} cycles"
    console.say(text)
    if samples.dropped:
        console.say(f"note: the hardware dropped {samples.dropped:,} samples more; a longer --period drops fewer")
    if samples.was_full:
        console.say(
            "note: the hardware's buffer was full for a while, of which nothing is known; a longer --period helps"
        )
    if not samples.total:
        console.say("no kernel was sampled: it is too short, or nothing ran")
    for kernel in profile.kernels:
        console.say("")
        share = kernel.total / samples.total
        console.say(f"{kernel.name}: {share:.1%} of the samples", style="bold")
        if not kernel.has_lines:
            console.say(_without_lines(kernel))
        print_table(_table(kernel, console, top=top, instructions=instructions), console)


def _without_lines(kernel: ProfiledKernel) -> str:
    if kernel.compilation is not None:
        return "  its instructions have no lines: compile it with --line-info"
    if kernel.instructions:
        return "  it was compiled without line information (CUTE_DSL_LINEINFO=1 for the DSL's own compiler)"
    return "  its code was loaded before the profile began"


def _head(limits: Limits | None) -> Iterator[str]:
    if limits is None:
        return
    facts = [f"{limits.microseconds:,.2f} µs a call"]
    if limits.gigabytes_per_second is not None and limits.percent_of_copy is not None:
        facts.append(f"{limits.gigabytes_per_second:,.0f} GB/s ({limits.percent_of_copy:.0f} % of a copy)")
    if limits.teraflops is not None:
        of = f" ({limits.percent_of_matrix:.0f} % of a matrix product)" if limits.percent_of_matrix is not None else ""
        facts.append(f"{limits.teraflops:,.3g} TFLOP/s{of}")
    if limits.bound in _BOUNDS:
        facts.append(_BOUNDS[limits.bound])
    yield ", ".join(facts)
    for filling in limits.fillings:
        yield _filling(filling)


def _filling(filling: Filling) -> str:
    grid = "×".join(map(str, filling.grid))
    waves = f"{filling.waves:.2f} wave{'' if filling.waves == 1 else 's'}"
    last = f", the last {filling.last_wave:.0%} full" if filling.waves > 1 else ""
    limited = f" (limited by {' and '.join(filling.limited_by)})" if filling.limited_by else ""
    return (
        f"{filling.kernel}: grid {grid}, {filling.block_threads} threads, "
        f"{filling.blocks_per_sm} blocks a multiprocessor{limited}, {waves}{last}"
    )


def _table(kernel: ProfiledKernel, console: Console, *, top: int, instructions: bool) -> Table:
    lines = kernel.lines()
    names = short_names({line.file for line in lines if line.file is not None})
    rows: list[Row] = []
    for line in lines[:top]:
        rows.append(_row(line, kernel.total, names))
        if instructions:
            rows += _instruction_rows(line, kernel.total)
    rest = sum(each.samples for each in lines[top:])
    if rest:
        count = len(lines) - top
        text = f"{count} more line{'' if count == 1 else 's'}"
        rows.append({"share": _percent(rest, kernel.total), "line": text, "source": "", "waits": ""})
    columns = {"share": NUMBERS, "line": {"no_wrap": True}, "source": {"no_wrap": True}, "waits": NAMES}
    return fitting(columns, rows, ("source",), console)


def _row(line: SampledLine, total: int, names: dict[str, str]) -> dict[str, str]:
    place = "of no line" if line.file is None else f"{PurePath(names[line.file])}:{line.line}"
    told = [
        f"{_percent(count, line.samples)} {stall.waits}{f': {stall.advice}' if stall.advice and not number else ''}"
        for number, (stall, count) in enumerate(line.stalls[:_STALLS])
        if not number or count >= _LEAST_SHARE * line.samples
    ]
    text = line.text if len(line.text) <= 48 else f"{line.text[:47]}…"
    return {"share": _percent(line.samples, total), "line": place, "source": text, "waits": "; ".join(told)}


def _instruction_rows(line: SampledLine, total: int) -> Iterator[dict[str, str]]:
    for each in line.instructions[:_INSTRUCTIONS]:
        reason = max(each.reasons, key=lambda reason: each.reasons[reason])
        waits = explain(reason, each.text, line.text).waits
        text = f"  {MARKS[each.owner]} {each.offset:04x}"
        yield {
            "share": _percent(each.samples, total),
            "line": text,
            "source": each.text[:48],
            "waits": f"{_percent(each.reasons[reason], each.samples)} {waits}",
        }


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"
