"""What a report says to readers without JavaScript: the passes, failure, resources and remarks, as plain HTML."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from html import escape

from cutecc.errors import RecordError
from cutecc.record import Compilation, Failure, KernelResources, Remark, Step
from cutecc.record.naming import short_kernel_name
from cutecc.record.reproducer import read_reproducer
from cutecc.report.plain_html import bullets, table

_CHANGED = {True: "changed", False: "unchanged", None: ""}


def title(compilation: Compilation) -> str:
    """The page's title, plain text: kernel and target."""
    return f"{compilation.name} for {compilation.target} – cutecc report"


def summary(compilation: Compilation, mapping: str | None = None) -> str:
    """The record in short, as HTML; `mapping` says how much of the code has a line."""
    return "\n".join(_parts(compilation, mapping)) + "\n"


def reproducer(compilation: Compilation) -> tuple[str, str] | None:
    """The file that reproduces the failure as text, and the command that runs it; `None` where the record has none."""
    failure = compilation.failure
    if failure is None or failure.reproducer is None:
        return None
    name = failure.reproducer
    try:
        text = compilation.files[name].decode(errors="replace")
    except (KeyError, OSError, RecordError):
        return None
    try:
        return text, shlex.join(read_reproducer(text).command(name, failure.load))
    except RecordError:
        return text, ""


def _parts(compilation: Compilation, mapping: str | None) -> Iterator[str]:
    versions = compilation.versions
    yield f"<h1>{escape(compilation.name)} for {escape(compilation.target)}</h1>"
    yield "<p>This report needs JavaScript to show the IR; here is what it holds, in short.</p>"
    yield from bullets(
        f"status: {compilation.status}",
        compilation.resumed and str(compilation.resumed),
        compilation.source and f"source: {compilation.source}",
        compilation.command and f"command: {shlex.join(compilation.command)}",
        f"cutecc {versions.cutecc}, nvidia-cutlass-dsl {versions.wheel}",
        versions.dsl_variables and f"with {versions.dsl_variables}",
        mapping,
    )
    if failure := compilation.failure:
        yield from _failure_parts(compilation, failure)
    if compilation.steps:
        yield "<h2>Passes</h2>"
        yield from table(("#", "pass", "", "ms"), map(_pass_row, compilation.steps))
    if compilation.resources:
        yield "<h2>Resources</h2>"
        headings = ("kernel", "registers", "spilled bytes", "stack bytes", "shared bytes", "occupancy")
        yield from table(headings, map(_resource_row, compilation.resources))
    remarks = [
        *compilation.further_warnings,
        *(remark for step in compilation.steps for remark in step.remarks),
        *(remark for analysis in compilation.analyses for remark in analysis.remarks),
    ]
    if remarks:
        yield "<h2>Remarks</h2>"
        yield from bullets(*map(_remark_line, remarks))


def _failure_parts(compilation: Compilation, failure: Failure) -> Iterator[str]:
    yield "<h2>Failure</h2>"
    where = f", at {failure.location}" if failure.location else ""
    yield f"<p>{escape(failure.stage + where)}</p><pre>{escape(failure.message)}</pre>"
    yield from (f"<p>{escape(each)}</p>" for each in failure.notes)
    if (found := reproducer(compilation)) and found[1]:
        yield f"<p>It happens again with</p><pre>{escape(found[1])}</pre>"


def _pass_row(step: Step) -> tuple[str, ...]:
    state = "failed" if step.status == "failed" else _CHANGED[step.changed]
    return str(step.index), step.name, state, f"{step.seconds * 1e3:.1f}"


def _resource_row(entry: KernelResources) -> tuple[str, ...]:
    spilled = [each for each in (entry.spill_store_bytes, entry.spill_load_bytes) if each is not None]
    dynamic = "?" if entry.shared_dynamic_bytes is None else entry.shared_dynamic_bytes
    return (
        short_kernel_name(entry.kernel),
        str(entry.registers),
        str(sum(spilled)) if spilled else "?",
        str(entry.stack_bytes),
        f"{entry.shared_static_bytes}+{dynamic}",
        f"{entry.occupancy.percent}%" if entry.occupancy else "?",
    )


def _remark_line(remark: Remark) -> str:
    place = f"{remark.location}: " if remark.location else ""
    return f"{place}{remark.severity}: {remark.message}"
