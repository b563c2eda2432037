"""The page that lists a watch's kernels: it sorts, filters, marks what differs, and leads to the page of two."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from cutecc.record.naming import short_kernel_name
from cutecc.report.list_page import END, Cell, Row, head, table
from cutecc.watching.folder import KERNELS

_SCRIPT = "list.js"
"""Sorts, filters and compares; without it the list is there all the same."""


def page(data: Mapping[str, Any]) -> str:
    """The page of what `index_data` gave; it needs no other file. Raises `Error` when its script is not installed."""
    kernels: list[dict[str, Any]] = data["kernels"]
    failed: list[dict[str, Any]] = data["failed_traces"]
    parts = [head("Watched kernels", _SCRIPT), _program(data)]
    if kernels:
        pairs = html.escape(json.dumps([[each["a"], each["b"], each["page"]] for each in data["pairs"]]))
        rows = table(_HEADINGS, (_row(each, data["pairs"]) for each in kernels))
        parts.append(f'<div id="kernels" data-pairs="{pairs}">\n{rows}</div>\n')
    else:
        parts.append("<p>The program compiled no kernel that was to be recorded.</p>\n")
    if failed:
        parts.append("<h2>Kernels that do not trace</h2>\n")
        parts.append(table(("kernel", "called from", "target", "error"), map(_failed_row, failed)))
    if data["notes"]:
        parts.append("<h2>Notes</h2>\n<ul>")
        parts += [f"<li>{html.escape(note)}</li>" for note in data["notes"]]
        parts.append("</ul>\n")
    return "".join([*parts, END])


_HEADINGS = (
    *("kernel", "called from", "arguments", "target", "traced", "program's compile", "status"),
    *("registers", "spills", "remarks", "report"),
)


def _program(data: Mapping[str, Any]) -> str:
    program: Mapping[str, Any] | None = data["program"]
    if not program:
        return ""
    ended = f"; it ended with {program['ended']}" if program.get("ended") else ""
    return f"<p><code>{html.escape(program['command'])}</code>{html.escape(ended)}</p>\n"


def _row(kernel: dict[str, Any], pairs: Sequence[Mapping[str, str]]) -> Row:
    resources: list[dict[str, Any]] = kernel["resources"]
    several = len(resources) > 1

    def of_each(key: str, unit: str = "") -> str:
        cells: list[str] = []
        for entry in resources:
            value = "?" if entry[key] is None else f"{entry[key]}{unit}"
            cells.append(f"{short_kernel_name(entry['kernel'])}: {value}" if several else value)
        return "<br>".join(map(html.escape, cells))

    status = "ok" if kernel["status"] == "ok" else f"✗ {kernel['status']}"
    errors = [kernel["error"], kernel["program_error"] and f"in the program: {kernel['program_error']}"]
    said = "".join(f'<div class="error">{html.escape(each)}</div>' for each in errors if each)
    severities = Counter(each["severity"] for each in kernel["remarks"])
    times = f"{kernel['traces']} ×" + (f" in {kernel['processes']} processes" if kernel["processes"] > 1 else "")
    record: str | None = kernel["record"]
    cells = [
        _name(kernel) + _record(record) + _versions(kernel),
        _place(kernel["called_from"]),
        "".join(_arguments(kernel)),
        html.escape(kernel["target"]),
        Cell(html.escape(times), kernel["traces"]),
        _seconds(kernel),
        html.escape(status) + said,
        Cell(of_each("registers"), _largest(resources, "registers")),
        Cell(of_each("spill_bytes", " B"), _largest(resources, "spill_bytes")),
        Cell(_remarks(severities), severities.total()),
        (_link(kernel["report"], "report") or _link(record and f"{record}/", "record"))
        + "".join(_pages(record, pairs)),
    ]
    data = {"record": record, "arguments": json.dumps(kernel["arguments"])} if record else {}
    return Row(cells, {"name": f"{kernel['function']} {kernel['name']} {record or ''}", **data})


def _remarks(severities: Counter[str]) -> str:
    return html.escape(", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in severities.items()))


def _largest(resources: Sequence[Mapping[str, Any]], key: str) -> int:
    """The largest of several kernels' numbers, -1 where none is known."""
    return max((each[key] for each in resources if each[key] is not None), default=-1)


def _record(record: str | None) -> str:
    """What the kernel is called among others of its function."""
    return f'<div class="versions">{html.escape(record.removeprefix(f"{KERNELS}/"))}</div>' if record else ""


def _versions(kernel: Mapping[str, Any]) -> str:
    """Of a function that was compiled more than once, how often."""
    if kernel["versions"] < 2:
        return ""
    same = "" if kernel["differs"] else ", of the same arguments"
    return f'<div class="versions">one of {kernel["versions"]} versions{same}</div>'


def _arguments(kernel: Mapping[str, Any]) -> Iterator[str]:
    """A line for each argument; those that another version has otherwise say in what."""
    differs: Mapping[str, list[str]] = kernel["differs"]
    for name, spec in kernel["arguments"].items():
        text = f"<code>{html.escape(f'{name} = {spec}')}</code>"
        if name in differs:
            aspects = html.escape(", ".join(differs[name]))
            text = f'<span class="differs">{text}</span><span class="aspects">≠ {aspects}</span>'
        yield f"<div>{text}</div>"


def _pages(record: str | None, pairs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Links to the pages of this kernel and another one."""
    for each in pairs:
        if record in (each["a"], each["b"]):
            other = each["b"] if record == each["a"] else each["a"]
            yield f"<div>{_link(each['page'], 'beside ' + html.escape(other.removeprefix(f'{KERNELS}/')))}</div>"


def _failed_row(failed: dict[str, Any]) -> list[str]:
    error = f'<div class="error">{html.escape(failed["error"])}</div>'
    return [_name(failed), _place(failed["called_from"]), html.escape(failed["target"]), error]


def _name(kernel: dict[str, Any]) -> str:
    place = html.escape(kernel["defined_at"] or "")
    return f'<strong>{html.escape(kernel["function"])}</strong><div class="place">{place}</div>'


def _place(called_from: dict[str, Any]) -> str:
    stack = "".join(f"<li>{html.escape(frame)}</li>" for frame in called_from["stack"])
    user = html.escape(called_from["user"] or "")
    return f"<details><summary>{user}</summary><ol>{stack}</ol></details>"


def _seconds(kernel: dict[str, Any]) -> Cell:
    trace, rest = kernel["program_trace_seconds"], kernel["program_compile_seconds"]
    if rest is None:
        return Cell("did not end", -1)
    total = (trace or 0) + rest
    return Cell(f"{total:.2f} s, {trace or 0:.2f} s of it tracing", total)


def _link(path: str | None, text: str) -> str:
    return f'<a href="{quote(path)}">{text}</a>' if path else ""
