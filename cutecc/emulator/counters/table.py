"""Counters as tables for a terminal."""

from __future__ import annotations

import functools
import os.path
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from cutecc.emulator.counters.counters import Counters, LineCounts
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.names import LINE_INFO_HINT
from cutecc.errors import SourceLocation
from cutecc.record.naming import short_kernel_name

_WIDE = 120
"""Columns of a terminal from which on there is room for the source."""
_SOURCE_WIDTH = 60
_LEAST_SOURCE_WIDTH = 30
_GAP = 3
"""Between two columns."""
_SUSPICIOUS = 0.5
"""An efficiency below this is shown in red."""

_SUFFIXES = "kMGTPE"


@dataclass(frozen=True)
class _Column:
    """A column of numbers."""

    heading: str
    cell: Callable[[Counts], Text | str]
    needed: Callable[[Counts], int | bool]
    """Whether the kernel's sums give it something to show."""
    rank: int
    """Narrow terminals leave out columns of high rank."""


def counter_tables(
    counters: Counters, *, width: int, lines: int | None = 20, hint: str | None = LINE_INFO_HINT
) -> RenderableType:
    """For each kernel its sums and its lines, those that most instructions were executed for first.

    `width` is that of the terminal, in columns; `lines` how many lines of the source are shown, `None` for all; `hint`
    says how code without lines gets some.
    """
    parts: list[RenderableType] = []
    names = [short_kernel_name(kernel) for kernel in counters.kernels]
    for kernel, name in zip(counters.kernels, names, strict=True):
        # Not the table's own title: rich would break a long name.
        parts.append(Text(name if names.count(name) == 1 else kernel, style="bold", no_wrap=True, overflow="ellipsis"))
        parts += [_summary(counters, kernel, width), line_table(counters, kernel, width=width, lines=lines)]
    if hint and counters.kernels and all(each.location is None for each in counters.instructions):
        parts.append(Text(hint))
    return Group(*parts)


def print_counters(counters: Counters, console: Console | None = None) -> None:
    """Print all tables."""
    console = console or Console()
    console.print(counter_tables(counters, width=console.width))


def line_table(counters: Counters, kernel: str, *, width: int, lines: int | None = 20) -> Table:
    """A kernel's lines of Python, with as many columns as there is room for."""
    found = counters.by_line(kernel)
    shown = found[:lines]
    total = _warps_of(found) or 1
    used = counters.total(kernel)
    names = [_shortened(_where(line), width // 2) for line in shown]
    share = _Column("share", lambda counts: f"{counts.warps / total:.1%}", _always, 3)
    columns = [each for each in (_WARPS, share, *_COLUMNS) if each.needed(used)]
    cells = {each: [Text.assemble(each.cell(line.counts)) for line in shown] for each in columns}
    widths = {each: _GAP + max(map(len, [*each.heading.splitlines(), *cells[each]])) for each in columns}
    has_source = width >= _WIDE
    left = width - max(map(len, names), default=0)
    columns = _fitting(columns, widths, left - (_GAP + _LEAST_SOURCE_WIDTH if has_source else 0))
    left -= sum(widths[each] for each in columns)
    table = _empty_table([each.heading for each in columns], min(_SOURCE_WIDTH, left - _GAP) if has_source else None)
    for name, line, *numbers in zip(names, shown, *(cells[each] for each in columns), strict=True):
        table.add_row(name, *([_source(line.location)] if has_source else []), *numbers)
    if len(found) > len(shown):
        rest = Counts(warps=_warps_of(found[len(shown) :]))
        numbers = (each.cell(rest) if each in (_WARPS, share) else "" for each in columns)
        table.add_row(f"{len(found) - len(shown)} more", *([""] if has_source else []), *numbers, style="dim")
    return table


def _warps_of(lines: Sequence[LineCounts]) -> int:
    return sum(line.counts.warps for line in lines)


def _fitting(columns: Sequence[_Column], widths: Mapping[_Column, int], room: int) -> list[_Column]:
    """The columns that there is room for, one at least."""
    kept = list(columns)
    while sum(widths[each] for each in kept) > room and len(kept) > 1:
        kept.remove(max(kept, key=lambda each: each.rank))
    return kept


def _empty_table(headings: Sequence[str], source_width: int | None) -> Table:
    """A table of lines with columns of numbers, and if there is room for it the source."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("line", no_wrap=True)
    if source_width is not None:
        table.add_column("source", no_wrap=True, overflow="ellipsis", max_width=source_width, style="dim")
    for each in headings:
        table.add_column(each, justify="right", no_wrap=True)
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


def _summary(counters: Counters, kernel: str, width: int) -> Text:
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
    if total.tensor_bytes:
        read, written = short_number(total.tensor_bytes_read), short_number(total.tensor_bytes_written)
        words.append(f"tensor memory: {read} bytes read, {written} written")
    for kind, counts in counters.by_matrix_kind(kernel).items():
        operations, flops = short_number(counts.matrix_operations), short_number(counts.matrix_flops)
        words.append(f"matrix: {operations} operations of {kind}, {flops} multiplications and additions")
    fill = functools.partial(textwrap.fill, width=width, initial_indent="  ", subsequent_indent="    ")
    return Text("\n".join(map(fill, words)))


def _shortened(name: str, width: int) -> str:
    """A file and a line; of what is too long, the end."""
    return name if len(name) <= width else f"…{name[1 - width :]}"


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


_WARPS = _Column("warp\ninstr.", lambda counts: short_number(counts.warps), _always, 0)
_COLUMNS = (
    _Column("active", lambda counts: _ratio(counts.thread_efficiency), _always, 6),
    _Column("sectors\n/req.", _sectors_per_request, lambda total: total.global_requests, 4),
    _Column(
        "coa-\nlesced", lambda counts: _ratio(counts.coalescing_efficiency), lambda total: total.global_requests, 1
    ),
    _Column("wave-\nfronts", lambda counts: _count(counts.shared_wavefronts), lambda total: total.shared_requests, 5),
    _Column("bank\nconfl.", lambda counts: _count(counts.bank_conflicts), lambda total: total.shared_requests, 2),
    _Column("global\nbytes", lambda counts: _count(counts.global_bytes), lambda total: total.global_bytes, 7),
    _Column("shared\nbytes", lambda counts: _count(counts.shared_bytes), lambda total: total.shared_bytes, 9),
    _Column("tensor\nbytes", lambda counts: _count(counts.tensor_bytes), lambda total: total.tensor_bytes, 9),
    _Column("matrix\noper.", lambda counts: _count(counts.matrix_operations), lambda total: total.matrix_operations, 8),
    _Column("matrix\nflops", lambda counts: _count(counts.matrix_flops), lambda total: total.matrix_flops, 10),
)
