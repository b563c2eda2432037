"""What a page, and `cutecc explain` without a line, say of a kernel first."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest
from report_pages import Page

from cutecc.cli.verdict_lines import verdict_lines
from cutecc.record import Analysis, Compilation, Failure, KernelResources, Remark, Step, Versions
from cutecc.record.compilation import Occupancy, Resumed
from cutecc.record.stages import UserLines
from cutecc.report.grades import badness, cost_of, grade_of
from cutecc.report.local_memory import SpilledValue
from cutecc.report.mapping import KernelMix, LineMix, Mix, SpillingLine
from cutecc.report.verdict import Detail, Fact, Verdict, verdict_of
from cutecc.report.writing import encode_report

OWN, LIBRARY = "/home/me/kernel.py", "/usr/lib/python3/tools.py"
SOURCE = "def kernel(a):\n    x = a[0]\n    y = x + 1\n    a[0] = y\n"
LINES = UserLines(sources={OWN: SOURCE, LIBRARY: SOURCE}, library=[LIBRARY])
RESOURCES = KernelResources(
    "kernel_cutlass_add_tensorptr_0", 47, 0, 8, 16, 2048, 0, 352, 1, Occupancy(128, 10, 40, 0.625, ["registers"])
)
MIX = Mix(
    True,
    [
        KernelMix(
            RESOURCES.kernel,
            20,
            15,
            {"exact": 12, "operands": 3, "compiler": 4, "order": 1, "unknown": 0},
            6,
            {},
            [
                LineMix(LIBRARY, 3, {"integer": 9}),
                LineMix(OWN, 1, {"move": 8}),
                LineMix(OWN, 2, {"global load 32": 1, "spill store 32": 2}),
                LineMix(OWN, 3, {"integer": 1, "spill load 64": 3}),
            ],
            [SpilledValue(OWN, 2, "LDG.E", 2, 2, 3, 24), SpilledValue("", 0, "", 0, 1, 0, 4)],
            [SpillingLine(OWN, 3, 0, 3), SpillingLine(OWN, 2, 2, 0)],
        )
    ],
)


def record(**more: object) -> Compilation:
    fields: dict[str, object] = {"status": "ok", "resources": [RESOURCES], **more}
    return replace(Compilation("add", "sm_80", "", Versions("0", "3", "4.8", "")), **fields)  # pyright: ignore[reportArgumentType]


def access(sectors: float, needed: float = 1, severity: str = "remark") -> Remark:
    numbers: dict[str, int | float | str] = {"sectors a request": sectors, "ideal sectors a request": needed}
    return Remark(severity, "a load", f"{OWN}:2:5", "check-coalescing", numbers)  # pyright: ignore[reportArgumentType]


def facts(found: Verdict) -> dict[str, Fact]:
    return {each.about: each for each in [*found.facts, *(fact for kernel in found.kernels for fact in kernel.facts)]}


def test_a_kernel() -> None:
    found = verdict_of(record(), MIX, LINES)
    assert [each.name for each in found.kernels] == ["add"]
    said = facts(found)
    assert said["occupancy"] == Fact(
        "occupancy",
        "63%",
        [
            Detail("10 blocks of 128 threads an SM, limited by registers"),
            Detail("at most 40 registers (now 47): 12 blocks, 75%"),
        ],
    )
    # The lines of the accesses, the one with the most first, then whose values they are.
    assert said["spills"] == Fact(
        "spills",
        "24 B",
        [
            Detail("8 B stored, 16 B loaded; 47 registers a thread"),
            Detail("0 stores, 3 loads", (OWN, 3)),
            Detail("2 stores, 0 loads", (OWN, 2)),
            Detail("2 values of LDG.E spill: 2 stores, 3 loads, 24 B", (OWN, 2)),
            Detail("what the kernel began with spills: 1 store, 0 loads, 4 B"),
        ],
        bad=True,
    )
    # Mine come first, and a `def` is none.
    assert [(each.line, each.text) for each in said["heaviest lines"].details] == [
        ((OWN, 3), "4 SASS, 20%"),
        ((OWN, 2), "3 SASS, 15%"),
        ((LIBRARY, 3), "9 SASS, 45%"),
    ]
    share, *reasons = said["mapping"].details
    assert share.text == "of 20 SASS instructions belong to a line of the source, 30.0% to a line of yours"
    assert [each.text.replace("\N{NO-BREAK SPACE}", " ") for each in reasons] == [
        "● 12 exact + ◐ 3 operands",
        "the others: ◌ 4 compiler, ○ 1 order, ? 0 unknown",
    ]
    assert said["remarks"] == Fact("remarks", "none", [Detail("no check has looked: cutecc check")])


def test_what_is_not_known_is_said() -> None:
    unknown = KernelResources("k", 8, 0, None, None, 0, None, 0, None, None)
    said = facts(verdict_of(record(resources=[unknown]), None, UserLines()))
    assert said["occupancy"].text == said["spills"].text == "not known"
    assert "mapping" not in said
    said = facts(verdict_of(record(), Mix(False, MIX.kernels), LINES))
    assert said["mapping"].text == "no lines"
    # No limits are known of this target.
    assert len(facts(verdict_of(record(target="gfx942"), None, LINES))["occupancy"].details) == 1


def test_the_worst_remarks_come_first_each_once() -> None:
    warning = Remark("warning", "a barrier", "kernel.py:3:5")
    elsewhere = Remark("note", "a note", "elsewhere.py:1")
    analyses = [Analysis("check-coalescing", 0, remarks=[access(2), access(16), access(16), elsewhere])]
    said = facts(
        verdict_of(record(analyses=analyses, steps=[Step(1, "a", "a", "wheel", remarks=[warning])]), None, LINES)
    )
    assert said["remarks"] == Fact(
        "remarks",
        "◆ 2 severe, ▲ 1 warning, ● 1 remark, ○ 1 note",
        [Detail("◆ a load", (OWN, 2)), Detail("▲ a barrier", (OWN, 3)), Detail("○ a note", ("elsewhere.py", 1))],
        bad=True,
    )


def test_nothing_to_remark_on() -> None:
    analyses = [Analysis("check-a", 0), Analysis("check-b", 0, failure="not run")]
    (fact,) = verdict_of(record(analyses=analyses), None, LINES).facts
    assert fact == Fact("remarks", "none", [Detail("1 check found nothing")])


@pytest.mark.parametrize(
    ("remark", "grade", "cost"),
    [
        (access(16, 4), "severe", 4),
        (access(15, 4), "remark", 3.75),
        (access(16, 4, "error"), "error", 4),
        (access(16, 0), "remark", 1),
        (Remark("note", "", numbers={"wavefronts a request": 8, "ideal wavefronts a request": 1}), "severe", 8),
        (Remark("warning", "", numbers={"sectors a request": "many", "ideal sectors a request": 1}), "warning", 1),
    ],
)
def test_grades(remark: Remark, grade: str, cost: float) -> None:
    assert (grade_of(remark), cost_of(remark)) == (grade, cost)


def test_of_equally_bad_ones_the_dearest_comes_first() -> None:
    assert sorted([access(2), access(3), access(40), access(4)], key=badness) == [
        access(40),
        access(4),
        access(3),
        access(2),
    ]


def test_a_failure_and_what_a_run_went_on_from() -> None:
    failed = record(
        status="failed",
        resources=[],
        steps=[Step(1, "cse", "cse", "wheel"), Step(2, "cse", "cse", "wheel", status="failed")],
        failure=Failure("cse", "no such value\nand more", location="kernel.py:3:5"),
        resumed=Resumed("out", "cse#1", "01-cse.mlir", edited=True, lines_added=2),
    )
    failure, resumed = verdict_of(failed, None, UserLines()).facts
    assert failure == Fact("failure", "cse failed", [Detail("no such value, at kernel.py:3:5")], bad=True, step=2)
    assert resumed.text == "edited by hand (-0 +2 lines)"
    assert resumed.details == [Detail("from out after cse#1")]
    (status,) = verdict_of(record(status="stopped", resources=[]), None, UserLines()).facts
    assert status.text == "stopped as asked"
    (status,) = verdict_of(record(status="running", resources=[]), None, UserLines()).facts
    assert (status.text, status.bad) == ("not finished", True)


def test_the_terminal_says_the_same_in_80_columns() -> None:
    lines = [click.unstyle(line) for line in verdict_lines(record(), 80)]
    assert all(len(line) <= 80 for line in lines)
    text = "\n".join(lines)
    assert "occupancy       63%: 10 blocks of 128 threads an SM, limited by registers" in text
    assert "                at most 40 registers (now 47): 12 blocks, 75%" in text


def test_a_page_has_it_behind_its_manifest_whose_remarks_have_grades() -> None:
    page = Page(encode_report(record(analyses=[Analysis("check-coalescing", 0, remarks=[access(16, 4), access(2)])])))
    assert [name for name, _ in page.raw_chunks][:2] == ["manifest", "verdict"]
    remarks = page.chunks["manifest"]["analyses"][0]["remarks"]
    assert [(each["grade"], each["cost"]) for each in remarks] == [("severe", 4), ("remark", 2)]
    (kernel,) = page.chunks["verdict"]["kernels"]
    assert kernel["facts"][0] == {
        "about": "occupancy",
        "text": "63%",
        "details": [
            {"text": "10 blocks of 128 threads an SM, limited by registers"},
            {"text": "at most 40 registers (now 47): 12 blocks, 75%"},
        ],
    }
