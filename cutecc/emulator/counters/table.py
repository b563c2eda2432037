"""Counters as tables for a terminal."""

from __future__ import annotations

import os.path
from collections.abc import Callable

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from cutecc.emulator.counters.counters import Counters, LineCounts
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.names import LINE_INFO_HINT
from cutecc.errors import SourceLocation

_WIDE = 120
"""Columns from which on there is room for the source and for bytes."""
_SOURCE_WIDTH = 60
_PADDING = 2
_NUMBER_WIDTH = 7 + _PADDING
"""Columns that a number takes at most, its heading too."""
_SUSPICIOUS = 0.5
"""An efficiency below this is shown in red."""

_SUFFIXES = "kMGTPE"

_Column = tuple[str, Callable[[Counts], Text | str]]


def counter_tables(counters: Counters, *, width: int, lines: int | None = 20) -> RenderableType:
    """For each kernel its sums and its lines, those that most instructions were executed for first.

    `width` is that of the terminal, in columns; `lines` how many lines of Python are shown, `None` for all.
    """
    parts: list[RenderableType] = []
    for kernel in counters.kernels:
        # Not the table's own title: rich would break a long name.
        parts.append(Text(kernel, style="bold", no_wrap=True, overflow="ellipsis"))
        parts += [_summary(counters, kernel), line_table(counters, kernel, width=width, lines=lines)]
    if counters.kernels and all(each.location is None for each in counters.instructions):
        parts.append(Text(LINE_INFO_HINT))
    return Group(*parts)


def print_counters(counters: Counters, console: Console | None = None) -> None:
    """Print all tables."""
    console = console or Console()
    console.print(counter_tables(counters, width=console.width))


def line_table(counters: Counters, kernel: str, *, width: int, lines: int | None = 20) -> Table:
    """A kernel's lines of Python."""
    wide = width >= _WIDE
    found = counters.by_line(kernel)
    total = sum(line.counts.warps for line in found) or 1
    used = counters.total(kernel)
    columns = [column for column, needed in _COLUMNS if needed(used)]
    if wide:
        columns += [column for column, needed in _WIDE_COLUMNS if needed(used)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("line", no_wrap=True, overflow="ellipsis", min_width=10)
    if wide:
        # What is left beside the others: rich would take it from all, and break numbers.
        names = max((len(_where(line)) for line in found[:lines]), default=0) + _PADDING
        left = width - names - (len(columns) + 2) * _NUMBER_WIDTH - _PADDING
        room = max(10, min(_SOURCE_WIDTH, left))
        table.add_column("source", no_wrap=True, overflow="ellipsis", max_width=room, style="dim")
    for heading in ("warp\ninstr.", "share", *(heading for heading, _ in columns)):
        table.add_column(heading, justify="right", overflow="fold")
    for line in found[:lines]:
        table.add_row(
            _where(line),
            *([_source(line.location)] if wide else []),
            short_number(line.counts.warps),
            f"{line.counts.warps / total:.1%}",
            *(cell(line.counts) for _, cell in columns),
        )
    if lines is not None and len(found) > lines:
        rest = sum(line.counts.warps for line in found[lines:])
        more = f"{len(found) - lines} more"
        table.add_row(more, *([""] if wide else []), short_number(rest), f"{rest / total:.1%}", style="dim")
    return table


def short_number(value: int) -> str:
    """`999`, `12.3k`, `1.50M`: three digits, so that columns stay narrow."""
    if value < 1000:
        return str(value)
    scaled, power = value / 1000, 0
    while scaled >= 999.5 and power < len(_SUFFIXES) - 1:
        scaled, power = scaled / 1000, power + 1
    digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
    return f"{scaled:.{digits}f}{_SUFFIXES[power]}"


def _summary(counters: Counters, kernel: str) -> Text:
    """The kernel's sums in words."""
    total = counters.total(kernel)
    words = [f"{short_number(total.warps)} warp instructions ({_percent(total.thread_efficiency)} of threads active)"]
    classes = sorted(counters.by_class(kernel).items(), key=lambda item: -item[1].warps)
    words.append(", ".join(f"{name} {counts.warps / max(1, total.warps):.0%}" for name, counts in classes[:6]))
    if total.global_requests:
        words.append(
            f"global: {short_number(total.global_requests)} requests, {short_number(total.global_sectors)} sectors"
            f" ({_percent(total.coalescing_efficiency)} coalesced)"
        )
    if total.global_bytes:
        read = total.global_bytes_read + total.async_global_bytes_read
        written = total.global_bytes_written + total.async_global_bytes_written
        words.append(f"global bytes: {short_number(read)} read, {short_number(written)} written")
    if total.shared_requests:
        requests, wavefronts = short_number(total.shared_requests), short_number(total.shared_wavefronts)
        conflicts = short_number(total.bank_conflicts)
        words.append(f"shared: {requests} requests, {wavefronts} wavefronts, {conflicts} of them bank conflicts")
    if total.matrix_operations:
        operations, flops = short_number(total.matrix_operations), short_number(total.matrix_flops)
        words.append(f"matrix: {operations} operations, {flops} multiplications and additions")
    return Text("\n".join(f"  {each}" for each in words))


def _where(line: LineCounts) -> str:
    if line.location is None:
        return "(no line)"
    return f"{os.path.basename(line.location.file)}:{line.location.line}"


def _source(location: SourceLocation | None) -> Text:
    # Text: brackets in a string are markup.
    return Text(location.excerpt().strip() if location else "")


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.0%}"


def _ratio(ratio: float | None) -> Text:
    return Text(_percent(ratio), style="red" if ratio is not None and ratio < _SUSPICIOUS else "")


def _count(value: int) -> str:
    return short_number(value) if value else ""


def _always(total: Counts) -> bool:
    return True


def _sectors_per_request(counts: Counts) -> str:
    return "" if counts.sectors_per_request is None else f"{counts.sectors_per_request:.1f}"


_COLUMNS: list[tuple[_Column, Callable[[Counts], int | bool]]] = [
    (("active", lambda counts: _ratio(counts.thread_efficiency)), _always),
    (("sectors\n/req.", _sectors_per_request), lambda total: total.global_requests),
    (("coa-\nlesced", lambda counts: _ratio(counts.coalescing_efficiency)), lambda total: total.global_requests),
    (("wave-\nfronts", lambda counts: _count(counts.shared_wavefronts)), lambda total: total.shared_requests),
    (("bank\nconfl.", lambda counts: _count(counts.bank_conflicts)), lambda total: total.shared_requests),
]
_WIDE_COLUMNS: list[tuple[_Column, Callable[[Counts], int | bool]]] = [
    (("global\nbytes", lambda counts: _count(counts.global_bytes)), lambda total: total.global_bytes),
    (("shared\nbytes", lambda counts: _count(counts.shared_bytes)), lambda total: total.shared_bytes),
    (("matrix\noper.", lambda counts: _count(counts.matrix_operations)), lambda total: total.matrix_operations),
    (("matrix\nflops", lambda counts: _count(counts.matrix_flops)), lambda total: total.matrix_flops),
]
"""Columns and when they are of use."""
