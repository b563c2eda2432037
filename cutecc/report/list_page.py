"""A page with a table of kernels: it needs no other file, and runs nothing but a script of ours, if that."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cutecc.report.page import asset, digest

END = "</body>\n</html>\n"


@dataclass(frozen=True)
class Cell:
    """A cell of HTML that a table is sorted by otherwise than by its text."""

    html: str
    sort: float


@dataclass(frozen=True)
class Row:
    """A row with data for the page's script, by name."""

    cells: Sequence[str | Cell]
    data: Mapping[str, str] = field(default_factory=dict[str, str])


def head(title: str, script: str | None = None) -> str:
    """How a page begins; `script` is the file of ours that it runs. Raises `Error` when that is not installed."""
    text = _HEAD.replace("TITLE", html.escape(title))
    if script is None:
        return text.replace("SCRIPTS", "").replace("POLICY", "")
    program = asset(script)
    text = text.replace("POLICY", f" script-src 'sha256-{digest(program)}';")
    return text.replace("SCRIPTS", f'<script type="module">{program}</script>\n')


def table(headings: Iterable[str], rows: Iterable[Sequence[str | Cell] | Row]) -> str:
    """A table; headings are plain text, cells are HTML."""
    first = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in headings)
    body = "".join(map(_row, rows))
    return f'<div class="wide"><table>\n<thead><tr>{first}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n'


def _row(row: Sequence[str | Cell] | Row) -> str:
    row = row if isinstance(row, Row) else Row(row)
    attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in row.data.items())
    return f"<tr{attributes}>{''.join(map(_cell, row.cells))}</tr>\n"


def _cell(cell: str | Cell) -> str:
    return f'<td data-sort="{cell.sort}">{cell.html}</td>' if isinstance(cell, Cell) else f"<td>{cell}</td>"


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';POLICY style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem; color: light-dark(#1b1f24, #e3e6ea);
  background: light-dark(#fff, #16191d); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .7rem; }
tr { border-bottom: 1px solid light-dark(#d5d9de, #3a4047); }
code, pre, .place, summary, ol { font: 13px/1.4 ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
.place { color: light-dark(#57606a, #a3abb4); min-width: 9rem; }
.error { color: light-dark(#a40e26, #ff9a9a); max-width: 40rem; overflow-wrap: anywhere; white-space: pre-wrap; }
a { color: light-dark(#0a58ca, #8ab4f8); }
th button { font: inherit; color: inherit; background: none; border: none; padding: 0; cursor: pointer;
  text-align: left; }
th button:hover { text-decoration: underline; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; margin: .5rem 0; }
.tools input { font: inherit; padding: .2rem .4rem; min-width: 16rem; }
.compare { position: sticky; bottom: 0; padding: .6rem 0; background: light-dark(#fff, #16191d);
  border-top: 1px solid light-dark(#d5d9de, #3a4047); }
.compare p, .compare ul { margin: .2rem 0; }
.compare input { font: 13px/1.4 ui-monospace, monospace; width: min(100%, 70rem); box-sizing: border-box;
  padding: .3rem .4rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.differs { font-weight: 700; }
.aspects { font: 12px/1.4 system-ui, sans-serif; color: light-dark(#855300, #e6b25c); border: 1px solid currentColor;
  border-radius: 3px; padding: 0 .25rem; margin-left: .4rem; }
.versions { font-size: 13px; margin-top: .2rem; }
:focus-visible { outline: 2px solid light-dark(#0a58ca, #8ab4f8); outline-offset: 1px; }
</style>
SCRIPTS</head>
<body>
<h1>TITLE</h1>
"""
