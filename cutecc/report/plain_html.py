"""Plain HTML for readers without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape


def bullets(*lines: str | list[str] | None) -> Iterator[str]:
    """A list of what there is of `lines`."""
    items = "".join(f"<li>{escape(str(line))}</li>" for line in lines if line)
    yield f"<ul>{items}</ul>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table; headings and cells are plain text."""
    yield f"<table><tr>{''.join(f'<th>{escape(each)}</th>' for each in headings)}</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>"
    yield "</table>"
