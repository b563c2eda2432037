"""A page with a table of kernels: it needs no other file, and runs nothing."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

END = "</body>\n</html>\n"


def head(title: str) -> str:
    """How a page begins."""
    return _HEAD.replace("TITLE", html.escape(title))


def table(headings: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; headings are plain text, cells are HTML."""
    first = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f'<div class="wide"><table>\n<thead><tr>{first}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n'


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
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
.place { color: light-dark(#57606a, #a3abb4); }
.error { color: light-dark(#a40e26, #ff9a9a); max-width: 40rem; overflow-wrap: anywhere; white-space: pre-wrap; }
a { color: light-dark(#0a58ca, #8ab4f8); }
</style>
</head>
<body>
<h1>TITLE</h1>
"""
