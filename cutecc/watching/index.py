"""The list of a watch's kernels, as data and as a page."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cutecc.errors import RecordError
from cutecc.frontend.call_site import CallFrame, CallSite
from cutecc.record import Compilation, KernelResources
from cutecc.record.naming import short_kernel_name
from cutecc.record.plain_file import read_plain
from cutecc.report.list_page import END, head, table
from cutecc.support.open_folder import replace_file
from cutecc.watching.finishing import REPORT, Outcome
from cutecc.watching.folder import DATA, KERNELS, PAGE
from cutecc.watching.recording import Failed, Recording

FORMAT = 1
"""The version of `index.json`; a later one may have more keys."""
_LONGEST = 1 << 30
"""Bytes of an `index.json` that is read."""


def index_data(
    recording: Recording, outcomes: Sequence[Outcome], program: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything that `index.json` holds. `program` says what ran and how it ended, where that is known."""
    return {
        "format": FORMAT,
        "program": dict(program) if program else None,
        "processes": [{"pid": each.pid, "command": each.command} for each in recording.processes],
        "kernels": [_kernel(each) for each in outcomes],
        "failed_traces": [_failed(each) for each in recording.failures],
        "notes": recording.notes,
    }


def write_index(folder: Path, data: Mapping[str, Any], handle: str | None = None) -> None:
    """Write `index.json` and `index.html` into the folder of a watch, which has this `handle` if it is held open.

    Raises `RecordError`.
    """
    place = Path(handle or folder)
    try:
        text = json.dumps(data, indent=2) + "\n"
        replace_file(place / DATA, lambda file: file.write(text.encode()))
        replace_file(place / PAGE, lambda file: file.write(page(data).encode(errors="replace")))
    except OSError as failure:
        raise RecordError(f"cannot write the list of kernels to {folder}: {failure.strerror}") from None


def read_program(folder: Path) -> dict[str, Any] | None:
    """What an earlier index of the folder says of the program, if there is one."""
    try:
        program: Any = json.loads(read_plain(folder / DATA, _LONGEST, follow=False))["program"]
        return {name: program[name] for name in ("command", "status", "ended")}
    except (RecordError, OSError, ValueError, KeyError, TypeError):
        return None


def _kernel(outcome: Outcome) -> dict[str, Any]:
    watched, event, record = outcome.job.kernel, outcome.job.kernel.event, outcome.compilation
    folder = f"{KERNELS}/{outcome.job.folder}"
    return {
        "name": event.name,
        "function": event.function,
        "kernels": event.kernels,
        "defined_at": f"{event.file}:{event.line}" if event.file else None,
        "called_from": _call_site(event.called_from),
        "arguments": {name: spec for name, spec, _ in event.parameters},
        "program_target": event.target,
        "program_options": " ".join(event.options.split()),
        "has_lines": event.locations,
        "traces": watched.traces,
        "processes": len(watched.processes),
        "program_trace_seconds": watched.trace_seconds,
        "program_compile_seconds": watched.compile_seconds,
        "program_error": watched.error,
        "target": outcome.job.target,
        "status": record.status if record else "failed",
        "error": outcome.error,
        "resources": [_resources(each) for each in record.resources] if record else [],
        "remarks": _remarks(record) if record else [],
        "record": folder if record else None,
        "report": f"{folder}/{REPORT}" if outcome.has_report else None,
    }


def _remarks(record: Compilation) -> list[dict[str, Any]]:
    """What the analyses found."""
    found = [(analysis.name, each) for analysis in record.analyses for each in analysis.remarks]
    return [
        {"analysis": name, "severity": each.severity, "location": each.location, "message": each.message}
        for name, each in found
    ]


def _resources(entry: KernelResources) -> dict[str, Any]:
    stores, loads = entry.spill_store_bytes, entry.spill_load_bytes
    return {
        "kernel": entry.kernel,
        "registers": entry.registers,
        "spill_bytes": None if stores is None else stores + (loads or 0),
    }


def _failed(failed: Failed) -> dict[str, Any]:
    return {
        "name": failed.name,
        "function": failed.function,
        "defined_at": f"{failed.file}:{failed.line}" if failed.file else None,
        "called_from": _call_site(failed.called_from),
        "target": failed.target,
        "error": failed.error,
        "times": failed.times,
    }


def _call_site(site: CallSite) -> dict[str, Any]:
    def text(frame: CallFrame) -> str:
        return f"{frame.file}:{frame.line} in {frame.function}"

    users = site.users_frame
    return {"user": text(users) if users else None, "stack": [text(frame) for frame in site.frames]}


def page(data: Mapping[str, Any]) -> str:
    """The page of what `index_data` gave; it needs no other file, and runs nothing."""
    kernels: list[dict[str, Any]] = data["kernels"]
    failed: list[dict[str, Any]] = data["failed_traces"]
    parts = [head("Watched kernels"), _program(data)]
    if kernels:
        parts.append(table(_HEADINGS, map(_row, kernels)))
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


def _row(kernel: dict[str, Any]) -> list[str]:
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
    arguments = "\n".join(f"{name} = {spec}" for name, spec in kernel["arguments"].items())
    times = f"{kernel['traces']} ×" + (f" in {kernel['processes']} processes" if kernel["processes"] > 1 else "")
    return [
        _name(kernel),
        _place(kernel["called_from"]),
        f"<pre>{html.escape(arguments)}</pre>",
        html.escape(kernel["target"]),
        html.escape(times),
        _seconds(kernel),
        html.escape(status) + said,
        of_each("registers"),
        of_each("spill_bytes", " B"),
        html.escape(", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in severities.items())),
        _link(kernel["report"], "report") or _link(kernel["record"] and f"{kernel['record']}/", "record"),
    ]


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


def _seconds(kernel: dict[str, Any]) -> str:
    trace, rest = kernel["program_trace_seconds"], kernel["program_compile_seconds"]
    if rest is None:
        return "did not end"
    return f"{(trace or 0) + rest:.2f} s, {trace or 0:.2f} s of it tracing"


def _link(path: str | None, text: str) -> str:
    return f'<a href="{quote(path)}">{text}</a>' if path else ""
