"""A profile on a terminal: what limits the kernel, then its lines by share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cutecc.report.paths import short_names
from cutecc.support.harmless import one_line
from cutecc.support.locations import MARKS

if TYPE_CHECKING:
    from cutecc.cli.console import Console
    from cutecc.profiling.kernels import ProfiledKernel, SampledLine
    from cutecc.profiling.limits import Filling, Limits
    from cutecc.profiling.results import Profiled
    from cutecc.report.stalls import Stall

_INDENT = " " * 9
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


def show(profiled: Profiled, console: Console, *, top: int, instructions: bool = False) -> None:
    """Print a profile: at most `top` lines of each kernel, with `instructions` also these."""
    samples = profiled.samples
    if profiled.title:
        console.say(f"{profiled.title} on {samples.device}", style="bold")
    for line in (*_head(profiled.limits), *(_notes(profiled) if samples.period else ())):
        console.say(line)
    for kernel in profiled.kernels:
        console.say("")
        console.say(f"{kernel.name}: {kernel.total / samples.total:.1%} of the samples", style="bold")
        if not kernel.has_lines:
            console.say(_without_lines(kernel))
            for line in _waits(kernel.stalls, kernel.total):
                click.echo(line, err=console.stderr)
            continue
        for line in _lines(kernel, top=top, instructions=instructions, width=console.width):
            click.echo(line, err=console.stderr)


def _notes(profiled: Profiled) -> Iterator[str]:
    samples = profiled.samples
    of = f" of {profiled.launches:,} launches" if profiled.launches else ""
    yield f"{samples.total:,} samples{of}, one of each scheduler every {samples.period:,} cycles"
    if samples.dropped:
        yield f"note: the hardware dropped {samples.dropped:,} samples more; a longer --period drops fewer"
    if samples.other:
        yield f"note: {samples.other:,} samples more are of code that CUPTI says nothing of"
    if samples.was_full:
        yield "note: the hardware's buffer was full for a while, which has no samples; a longer --period helps"
    if not samples.total:
        yield "note: no kernel was sampled: all of them are too short for this --period"


def _without_lines(kernel: ProfiledKernel) -> str:
    if kernel.compilation is not None:
        return "  its instructions have no lines: compile it with --line-info"
    return "  its code has no lines, or was loaded before the profile began"


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
    blocks = f"{filling.blocks_per_sm} block{'' if filling.blocks_per_sm == 1 else 's'} a multiprocessor"
    return f"{filling.kernel}: grid {grid}, {filling.block_threads} threads, {blocks}{limited}, {waves}{last}"


def _lines(kernel: ProfiledKernel, *, top: int, instructions: bool, width: int) -> Iterator[str]:
    lines = kernel.lines()
    names = short_names({line.file for line in lines if line.file is not None})
    for line in lines[:top]:
        place = "of no line" if line.file is None else one_line(f"{names[line.file]}:{line.line}")
        head = f"{_percent(line.samples, kernel.total)}  {click.style(place, bold=True)}  "
        yield f"{head}{_cut(one_line(line.text), width - len(click.unstyle(head)))}"
        yield from _waits(line.stalls, line.samples)
        if instructions:
            yield from _instructions(line, kernel.total, width)
    rest = lines[top:]
    if rest:
        count = f"{len(rest)} more line{'' if len(rest) == 1 else 's'}"
        yield f"{_percent(sum(each.samples for each in rest), kernel.total)}  {count}"


def _waits(stalls: Sequence[tuple[Stall, int]], total: int) -> Iterator[str]:
    for number, (stall, count) in enumerate(stalls[:_STALLS]):
        if stall.advice and (not number or count >= _LEAST_SHARE * total):
            yield f"{_INDENT}{_percent(count, total)} {stall.waits}: {stall.advice}"


def _instructions(line: SampledLine, total: int, width: int) -> Iterator[str]:
    for each in line.instructions[:_INSTRUCTIONS]:
        reason = max(each.reasons, key=lambda reason: each.reasons[reason])
        head = f"{_INDENT}{_percent(each.samples, total)} {MARKS[each.owner]} {each.offset:04x} {one_line(each.text)}"
        told = f"  {_percent(each.reasons[reason], each.samples).strip()} {reason}"
        yield f"{_cut(head, width - len(told))}{click.style(told, dim=True)}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:>5.1f} %"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"
