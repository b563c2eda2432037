"""Two profiles side by side, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from cutecc.report.paths import short_names
from cutecc.report.profile_pair import Cost, KernelPair, LinePair, ProfilePair, RunPair, Unit, changed_waits
from cutecc.support.harmless import one_line

_LEAST_LINE = 0.002
"""Of the kernel's cost: what changed by less is not told without being asked for."""
_LEAST_WAIT = 0.1
"""Of the line's cost."""
_WAITS = 2
_NUMBER = 9
"""Columns of a number."""


def profile_pair_lines(pair: ProfilePair, *, top: int | None, width: int) -> Iterator[str]:
    """What costs more and what less in B, at most `top` lines of each kernel; with `None`, all lines."""
    for name, label in zip(pair.names, ("A", "B"), strict=True):
        yield one_line(f"{label}  {name}")
    for run in pair.runs:
        yield ""
        yield from _run(run, top, width)
    for label, titles in (("A", pair.only_a), ("B", pair.only_b)):
        if titles:
            yield ""
            yield one_line(f"in {label} alone: {'; '.join(titles)}")


def _run(run: RunPair, top: int | None, width: int) -> Iterator[str]:
    devices = " → ".join(dict.fromkeys(run.devices))
    yield click.style(one_line(f"{run.title} on {devices}" if run.title else devices), bold=True)
    of = "a call" if run.unit == "µs" else "of all schedulers, sampled"
    yield f"{_total(run.cost, run.unit)} {of}: {_said(run.cost, run.unit)}"
    if run.unit == "cycles":
        yield "note: a program is not timed: cycles are of as many launches as were sampled, shares are of the kernel"
    for kernel in run.kernels:
        yield ""
        yield from _kernel(kernel, run.unit, top, width)


def _total(cost: Cost, unit: Unit) -> str:
    return " → ".join("–" if each is None else f"{_number(each, unit)} {unit}" for each in (cost.a, cost.b))


def _said(cost: Cost, unit: Unit) -> str:
    """Whether B is faster, in words; of what was not timed, only that it is less."""
    less, more = ("faster", "slower") if unit == "µs" else ("less", "more")
    if cost.a is None or cost.b is None:
        return "in B alone" if cost.a is None else "in A alone"
    if not cost.a:
        return "the same" if not cost.b else more
    percent = 100 * cost.change / cost.a
    if abs(percent) < 0.05:
        return "the same"
    return f"{abs(percent):.1f} % {more if percent > 0 else less}"


def _kernel(kernel: KernelPair, unit: Unit, top: int | None, width: int) -> Iterator[str]:
    yield click.style(one_line(kernel.name), bold=True) + f"  {_total(kernel.cost, unit)}: {_said(kernel.cost, unit)}"
    most = max(kernel.cost.a or 0.0, kernel.cost.b or 0.0)
    lines = [each for each in kernel.lines if top is None or abs(each.cost.change) >= _LEAST_LINE * most]
    if not lines:
        yield "  no line changed"
        return
    yield f"{f'A {unit}':>{_NUMBER}} {f'B {unit}':>{_NUMBER}} {'change':>{_NUMBER}}   A %   B %  line"
    names = short_names({place.file for each in lines for place in (each.a, each.b) if place and place.file})
    for each in lines[:top]:
        yield from _line(each, unit, names, width)
    left = len(kernel.lines) - len(lines[:top])
    if left:
        yield f"{'':>{_NUMBER}} {left} more line{'' if left == 1 else 's'} changed less: --verbose shows them"


def _line(line: LinePair, unit: Unit, names: dict[str, str], width: int) -> Iterator[str]:
    numbers = [f"{'–' if each is None else _number(each, unit):>{_NUMBER}}" for each in (line.cost.a, line.cost.b)]
    shares = [f"{100 * place.share:>5.1f}" if place else f"{'–':>5}" for place in (line.a, line.b)]
    change = f"{_number(line.cost.change, unit, sign=True):>{_NUMBER}}"
    head = f"{' '.join([*numbers, _coloured(change, line.cost.change), *shares])}  "
    place = one_line(_places(line, names))
    text = next(each.text for each in (line.b, line.a) if each)
    room = width - len(click.unstyle(head)) - len(place) - 2
    yield f"{head}{click.style(place, bold=True)}  {_cut(one_line(text), room)}".rstrip()
    if line.a and line.b and line.a.text != line.b.text:
        yield _cut(f"{_INDENT}was: {one_line(line.a.text)}", width)
    for each in changed_waits(line, least=_LEAST_WAIT)[:_WAITS]:
        change = _number(each.cost.change, unit, sign=True)
        yield _cut(f"{_INDENT}{change} {unit}: {one_line(each.waits)}", width)


_INDENT = " " * (2 * _NUMBER + 2)


def _places(line: LinePair, names: dict[str, str]) -> str:
    """`gemm.py:194`, `gemm.py:194 → 201` where it moved."""
    ours, theirs = (None if each is None else _place(each.file, each.line, names) for each in (line.a, line.b))
    if ours is None or theirs is None or ours == theirs:
        return ours or theirs or ""
    assert line.b is not None
    same_file = ours.rpartition(":")[0] == theirs.rpartition(":")[0]
    return f"{ours} → {line.b.line if same_file else theirs}"


def _place(file: str | None, line: int, names: dict[str, str]) -> str:
    return "of no line" if file is None else f"{names[file].rpartition('/')[2]}:{line}"


def _number(value: float, unit: Unit, *, sign: bool = False) -> str:
    text = f"{abs(value):,.2f}" if unit == "µs" else _short(abs(value))
    if not sign:
        return text
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{text}"


def _short(cycles: float) -> str:
    for power, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if cycles >= power:
            return f"{cycles / power:,.3g}{letter}"
    return f"{cycles:,.0f}"


def _coloured(text: str, change: float) -> str:
    return click.style(text, fg="red" if change > 0 else "green" if change < 0 else None)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def differs(pair: ProfilePair) -> bool:
    """Whether a line of one costs something else in the other by more than the least that is told."""
    return any(_changed(kernel.lines, kernel.cost) for run in pair.runs for kernel in run.kernels)


def _changed(lines: Sequence[LinePair], cost: Cost) -> bool:
    most = max(cost.a or 0.0, cost.b or 0.0)
    return any(abs(each.cost.change) >= _LEAST_LINE * most > 0 for each in lines)
