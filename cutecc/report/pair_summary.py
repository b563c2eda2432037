"""What the page of two records says to readers without JavaScript: what they are and how they differ, as plain HTML."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from html import escape

from cutecc.record import KernelResources
from cutecc.report.pair import Code, Pair, PassPair, PassRun, ResourcePair, Results, Side
from cutecc.report.pair_remarks import RemarkPair, remarks_text
from cutecc.report.plain_html import bullets, table


def title(pair: Pair) -> str:
    """The page's title, plain text: both records."""
    return f"{pair.a.record} and {pair.b.record} – cutecc compare"


def summary(pair: Pair) -> str:
    """The comparison in short, as HTML."""
    return "\n".join(_parts(pair)) + "\n"


def _parts(pair: Pair) -> Iterator[str]:
    yield f"<h1>{escape(pair.a.record)} and {escape(pair.b.record)}</h1>"
    yield "<p>This page needs JavaScript to show the IR; here is how the two differ, in short.</p>"
    yield from table(("", "A", "B"), _facts(pair.a, pair.b))
    remarks = f"remarks: {remarks_text(pair.remarks)}" if pair.remarks else None
    yield from bullets(_modules(pair), pair.ptx and _ptx(pair.ptx), _cubin(pair.same_cubin), remarks, *pair.notes)
    if pair.passes:
        yield "<h2>Passes</h2>"
        yield from table(("A", "B", "pass", "in A", "in B", "modules"), map(_pass_row, pair.passes))
    for each in pair.resources:
        yield f"<h2>Resources of {escape(each.kernel)}</h2>"
        yield from table(("", "A", "B"), _resource_rows(each))
    for each in pair.instructions:
        yield f"<h2>{pair.instructions_of} instructions of {escape(each.kernel)}</h2>"
        ours, theirs = each.a or {}, each.b or {}
        names = dict.fromkeys([*ours, *theirs])
        yield from table(
            ("class", "A", "B"), ((name, str(ours.get(name, 0)), str(theirs.get(name, 0))) for name in names)
        )
    if differing := [each for each in pair.remarks if not each.same]:
        yield "<h2>Remarks that differ</h2>"
        yield from table(("by", "A", "B"), ((each.by, *_remark_cells(each)) for each in differing))
    if pair.results:
        yield f"<h2>Results on {escape(pair.results.device)}</h2>"
        yield from _results(pair.results)


def _facts(a: Side, b: Side) -> Iterator[tuple[str, str, str]]:
    facts: dict[str, Callable[[Side], str]] = {
        "record": lambda side: side.record,
        "kernel": lambda side: f"{side.kernel} for {side.target}",
        "source": lambda side: side.source or "",
        "status": lambda side: f"{side.status} in {side.failure}" if side.failure else side.status,
        "resumed": lambda side: str(side.resumed or "").removeprefix("resumed "),
        "passes": lambda side: str(side.passes),
        "command": lambda side: shlex.join(side.command),
    }
    for name, of in facts.items():
        if of(a) or of(b):
            yield name, of(a), of(b)


def _modules(pair: Pair) -> str | None:
    if pair.first_difference is not None and (run := pair.passes[pair.first_difference].a):
        return f"modules: the first that differ are those after {run.selector}"
    compared = any(each.lines is not None for each in pair.passes)
    return "modules: the same wherever both have one" if compared else None


def _ptx(code: Code) -> str:
    if code.same:
        return "PTX: the same"
    return f"PTX: {code.lines.a} of {code.a} lines are in A alone, {code.lines.b} of {code.b} in B alone"


def _cubin(same: bool | None) -> str | None:
    return None if same is None else f"cubin: {'the same' if same else 'differs'}"


def _pass_row(each: PassPair) -> tuple[str, ...]:
    run = each.a or each.b
    lines = "" if each.lines is None else f"-{each.lines.a} +{each.lines.b}" if each.lines else "same"
    return (_index(each.a), _index(each.b), run.selector if run else "", _state(each.a), _state(each.b), lines)


def _index(run: PassRun | None) -> str:
    return str(run.index) if run else ""


def _state(run: PassRun | None) -> str:
    return run.state if run else "–"


def _resource_rows(each: ResourcePair) -> Iterator[tuple[str, str, str]]:
    facts: dict[str, Callable[[KernelResources], object]] = {
        "registers": lambda found: found.registers,
        "spill stores, bytes": lambda found: found.spill_store_bytes,
        "spill loads, bytes": lambda found: found.spill_load_bytes,
        "stack, bytes": lambda found: found.stack_bytes,
        "static shared memory, bytes": lambda found: found.shared_static_bytes,
        "dynamic shared memory, bytes": lambda found: found.shared_dynamic_bytes,
        "occupancy": lambda found: f"{found.occupancy.percent}%" if found.occupancy else None,
    }
    for name, of in facts.items():
        cells = ["?" if side is None or of(side) is None else str(of(side)) for side in (each.a, each.b)]
        yield name, cells[0], cells[1]


def _remark_cells(each: RemarkPair) -> Iterator[str]:
    for remark in (each.a, each.b):
        yield ": ".join(filter(None, (remark.location, remark.message))) if remark else "–"


def _results(results: Results) -> Iterator[str]:
    for run in results.runs:
        sizes = ", ".join(f"{name}={value}" for name, value in run.sizes.items())
        yield f"<p>{escape(sizes)}; seed {run.seed}</p>"
        if run.outputs:
            headings = ("tensor", "abs error", "rel error", "tolerance", "")
            yield from table(
                headings,
                (
                    (
                        each.name,
                        f"{each.max_absolute_error:.3g}",
                        f"{each.max_relative_error:.3g}",
                        each.allowed,
                        each.verdict,
                    )
                    for each in run.outputs
                ),
            )
        yield from bullets(*(f"A: {each}" for each in run.a_problems), *(f"B: {each}" for each in run.b_problems))
    if times := results.microseconds:
        yield f"<p>time: A {times.a:.2f} µs, B {times.b:.2f} µs</p>"
