"""The frame of a report page: one HTML file that holds its program, its styles and its data, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path

from cutecc import __version__
from cutecc.errors import Error

ASSETS = Path(__file__).with_name("assets")
"""The page's program and styles, which `make web` builds from `web/`."""

MARK = b'<meta name="generator" content="cutecc '
"""What tells a report from other files, within its first bytes."""

_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}{version}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
<script type="module">{program}</script>
</head>
<body>
<div id="app"><noscript>
{summary}</noscript></div>
"""

_POLICY = (
    "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""Nothing is loaded, and no script runs but ours. The editor component makes style elements while it runs."""


def head(title: str, summary: str) -> bytes:
    """Everything before the data. `title` is plain text, `summary` HTML for readers without JavaScript.

    Raises `Error` when the page's program is not installed.
    """
    program, style = asset("page.js"), asset("page.css")
    text = _HEAD.format(
        mark=MARK.decode(),
        version=html.escape(__version__),
        policy=html.escape(_POLICY.format(digest=digest(program)), quote=False),
        title=html.escape(title),
        style=style,
        program=program,
        summary=summary,
    )
    return encoded(text)


def encoded(text: str) -> bytes:
    """HTML as bytes; a file's name need not be text."""
    return text.encode(errors="xmlcharrefreplace")


def without_javascript(text: str) -> bytes:
    """A line of plain text for readers without JavaScript, to be added to a page."""
    return encoded(f"<noscript><p>{html.escape(text)}</p></noscript>\n")


def digest(program: str) -> str:
    """What a page's policy calls a script that it lets run."""
    return base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()


def asset(name: str) -> str:
    """A program or styles, as they stand in a page. Raises `Error` when they are not installed."""
    try:
        text = (ASSETS / name).read_text(encoding="utf-8")
    except OSError as failure:
        raise Error(
            f"this installation of cutecc lacks the report's {name}: {failure.strerror}",
            hints=["install cutecc again, or in a checkout run: make web"],
        ) from None
    # Browsers hash a script with its line breaks as `\n`. What would end its element early means the same with a
    # backslash, in strings, patterns and styles.
    text = text.replace("\r\n", "\n").replace("<!--", "\\x3c!--")
    return re.sub("</(?=script|style)", r"<\\/", text, flags=re.IGNORECASE)
