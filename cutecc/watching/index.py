"""The list of a watch's kernels, as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cutecc.errors import RecordError
from cutecc.frontend.call_site import CallFrame, CallSite
from cutecc.record import Compilation, KernelResources
from cutecc.record.plain_file import read_plain
from cutecc.support.open_folder import replace_file
from cutecc.watching.finishing import REPORT, Outcome
from cutecc.watching.folder import DATA, KERNELS, PAGE
from cutecc.watching.index_page import page
from cutecc.watching.recording import Failed, Recording
from cutecc.watching.specialisations import specialisations

FORMAT = 1
"""The version of `index.json`; a later one may have more keys."""
_LONGEST = 1 << 30
"""Bytes of an `index.json` that is read."""


def index_data(
    recording: Recording, outcomes: Sequence[Outcome], program: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything that `index.json` holds. `program` says what ran and how it ended, where that is known."""
    kernels = [_kernel(each) for each in outcomes]
    for group in specialisations(kernels):
        for position in group.kernels:
            kernels[position] |= {"versions": len(group.kernels), "differs": group.differs}
    return {
        "format": FORMAT,
        "program": dict(program) if program else None,
        "processes": [{"pid": each.pid, "command": each.command} for each in recording.processes],
        "kernels": kernels,
        "pairs": [],
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


def read_index(folder: Path) -> dict[str, Any]:
    """What `index.json` of a watch holds. Raises `RecordError` where there is none, or one that cannot be read."""
    try:
        data: Any = json.loads(read_plain(folder / DATA, _LONGEST, follow=False))
        if data["format"] == FORMAT and isinstance(data["kernels"], list):
            return data
        reason = "it is of another version of cutecc"
    except OSError as failure:
        reason = failure.strerror or str(failure)
    except (ValueError, KeyError, TypeError):
        reason = "it is damaged"
    raise RecordError(f"no list of kernels in {folder}: {reason}", hints=["cutecc watch --finish DIR makes it"])


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
        "versions": 1,
        "differs": {},
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
