"""`docs/emulator.md` names the instructions, checks, findings and schedules that there are."""

from __future__ import annotations

import re

from following import ROOT

from cutecc.emulator.checks.finding import FINDING_KINDS
from cutecc.emulator.checks.selection import CHECK_NAMES
from cutecc.emulator.instructions.table import TABLE
from cutecc.emulator.machine.decode import _CONTROL, FAMILIES, _load_families
from cutecc.emulator.options import SCHEDULES

PAGE = (ROOT / "docs" / "emulator.md").read_text()
TITLES = {
    "control": "control flow",
    "integer": "integers",
    "carry": "integers with carry",
    "logic": "bits",
    "floating": "`f32`, `f64`",
    "half": "`f16`, `bf16`",
    "compare": "comparison, selection",
    "convert": "conversion",
    "move": "moves, packing",
    "memory": "loads, stores, addresses",
    "atomics": "atomics",
    "warp": "within a warp",
    "cp_async": "`cp.async`",
    "ldmatrix": "matrix loads and stores",
    "mma": "matrix products",
    "wgmma": "warpgroup products",
    "barriers": "barriers of blocks and warps",
    "cluster_barrier": "cluster barriers",
    "fences": "fences",
    "mbarrier": "mbarriers",
    "bulk_groups": "bulk groups",
    "bulk": "bulk copies",
    "tensor_copy": "TMA",
    "tensormap": "TMA descriptors",
    "cluster": "clusters",
    "control_hints": "hints",
    "calls": "ends, debugging",
}


def instruction_table() -> str:
    """The opcodes of each family, in the order of families."""
    _load_families()
    found = {family: set[str]() for family in ("control", *FAMILIES)}
    found["control"] |= set(_CONTROL)
    for opcode, rows in TABLE.items():
        for row in rows:
            found[row.build.__module__.rpartition(".")[2]].add(opcode)
    lines = [f"| {TITLES[family]} | {' '.join(f'`{each}`' for each in sorted(found[family]))} |" for family in found]
    return "\n".join(["| family | opcodes |", "|---|---|", *lines])


def test_the_instructions_are_those_of_the_table() -> None:
    expected = instruction_table()
    found = re.search(r"<!-- instructions: begin -->\n(.*?)\n<!-- instructions: end -->", PAGE, re.DOTALL)
    assert found and found[1] == expected, f"between the marks of instructions there should be\n{expected}"


def test_the_checks_are_those_there_are() -> None:
    assert re.findall(r"^\| `(\w+)` \| [^|]* \|$", PAGE, re.MULTILINE) == list(CHECK_NAMES)


VARIABLE = re.compile(r"\d+|%\w+|'trap'|\b(?:reads|written|shared|accumulator|a tensor copy|memory that|times|bytes)\b")
"""What of a message depends on the kernel."""


def test_the_findings_are_those_there_are_and_read_as_shown() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| “(.*?)” \| .+ \|$", PAGE, re.MULTILINE)
    assert [kind for kind, _ in rows] == list(FINDING_KINDS)
    source = "\n".join(path.read_text() for path in (ROOT / "cutecc" / "emulator").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    for kind, message in rows:
        for part in VARIABLE.split(message):
            assert part.strip() in source, f"{kind}: no message has '{part.strip()}'"


def test_the_schedules_are_those_there_are() -> None:
    _, _, section = PAGE.partition("## Schedules")
    assert re.findall(r"^- `([\w-]+)`", section, re.MULTILINE)[:3] == list(SCHEDULES)
