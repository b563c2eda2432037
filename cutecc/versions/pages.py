"""A comparison in the browser: the table, and a page for each two records that differ."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from cutecc.errors import UsageError
from cutecc.record.naming import file_name
from cutecc.record.whole_file import write_whole
from cutecc.report.list_page import END, head, table
from cutecc.report.pair_page import write_pair_report
from cutecc.versions.comparison import Comparison, Filled, KernelRow
from cutecc.versions.numbers import MARKS
from cutecc.versions.words import (
    COLUMN_HEADINGS,
    LEGEND,
    cell_text,
    change_lines,
    column_rows,
    headings,
    norm_text,
    title,
)


def write_pages(filled: Sequence[Filled], comparison: Comparison, folder: Path) -> list[Path]:
    """Write `index.html` and the pages of pairs into `folder`; which files there are now, the list first.

    Raises `UsageError` and `RecordError` for what cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise UsageError(f"--report {folder} cannot be made: {failure.strerror}") from None
    names = headings(comparison)
    keys = list(dict.fromkeys(key for each in filled for key in each.recorded.records))
    pages: dict[tuple[str, str], Path] = {}
    for key, row in zip(keys, comparison.rows, strict=True):
        for change in row.changes:
            position = names.index(change.column)
            norm, other = (filled[number].recorded.records[key] for number in (0, position))
            # Names that differ may be one as names of files.
            path = folder / f"{len(pages) + 1}-{file_name(f'{title(row)} {change.column}', 120)}.html"
            write_pair_report(norm, other, path, names=(names[0], change.column))
            pages[key, change.column] = path
    index = folder / "index.html"
    rows = [
        _row(row, names, {name: page for (of, name), page in pages.items() if of == key})
        for key, row in zip(keys, comparison.rows, strict=True)
    ]
    text = [head(f"Kernels across {' · '.join(names)}"), table(COLUMN_HEADINGS, _columns(comparison))]
    text += [f"<p>{html.escape(LEGEND)}.</p>\n", table(["kernel", *names], rows), END]
    write_whole(index, ["".join(text).encode()], "the list")
    return [index, *pages.values()]


def _columns(comparison: Comparison) -> Iterator[list[str]]:
    for texts, facts in zip(column_rows(comparison), comparison.columns, strict=True):
        name, *others = map(html.escape, texts)
        yield [name + _failure(facts.failure), *others]


def _failure(text: str | None) -> str:
    return f'<div class="error">{html.escape(text)}</div>' if text else ""


def _places(lines: Iterable[str]) -> str:
    return "".join(f'<div class="place">{html.escape(line)}</div>' for line in lines)


def _differences(text: str) -> str:
    """Each in a line of its own, what is worse in bold."""
    parts = [html.escape(part) for part in text.split("; ")]
    return "".join(f"<div>{f'<strong>{part}</strong>' if part[0] == MARKS['worse'] else part}</div>" for part in parts)


def _row(row: KernelRow, names: Sequence[str], pages: dict[str, Path]) -> list[str]:
    norm = row.cells[0]
    source = html.escape(Path(row.source or "").name)
    notes = _places(f"note: {note}" for note in row.notes)
    cells = [f'<strong>{html.escape(title(row))}</strong><div class="place">{source}</div>{notes}']
    changes = {each.column: each for each in row.changes}
    for number, (name, cell) in enumerate(zip(names, row.cells, strict=True)):
        text = _differences(cell_text(norm, cell) if number else norm_text(norm))
        failure = "".join(map(_failure, [cell.failure, *cell.problems] if cell else []))
        said = _places(change_lines(changes[name]) if name in changes else ())
        link = f'<a href="{quote(pages[name].name)}">side by side</a>' if name in pages else ""
        cells.append(f"{text}{failure}{said}{link}")
    return cells
