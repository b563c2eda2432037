"""`docs/emulator.md` names the instructions, checks, findings and schedules that there are."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from following import BLOCK, ROOT

import cutecc
from cutecc.config import read_size
from cutecc.emulator.checks.finding import FINDING_KINDS
from cutecc.emulator.checks.selection import CHECK_NAMES
from cutecc.emulator.instructions.form import parts_of
from cutecc.emulator.instructions.table import TABLE
from cutecc.emulator.machine.decode import _CONTROL, FAMILIES, load_families
from cutecc.emulator.memory.elements import Elements
from cutecc.emulator.options import SCHEDULES
from cutecc.record import Parameter, Signature

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
    "convert_packed": "conversion of several narrow floats",
    "move": "moves, packing",
    "loads_and_stores": "loads, stores, addresses",
    "atomics": "atomics",
    "warp": "within a warp",
    "cp_async": "`cp.async`",
    "ldmatrix": "matrix loads and stores",
    "mma": "matrix products",
    "wmma": "matrices that a warp keeps in its own order",
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
    "launch_control": "cluster launch control",
    "control_hints": "hints",
    "calls": "ends, debugging",
    "tcgen05_allocation": "allocation of tensor memory",
    "tcgen05_transfer": "tensor memory and registers",
    "tcgen05_pipe": "order of `tcgen05`",
    "tcgen05_copy": "shared memory into tensor memory",
    "tcgen05_mma": "products in tensor memory",
    "video": "several integers in a register",
}


SHOWN_IN_PARTS = {
    *("bar", "barrier", "cp", "fence", "griddepcontrol", "mbarrier", "red", "st", "tcgen05"),
    *("tensormap", "wgmma", "wmma"),
}
"""Opcodes whose first modifiers tell operations apart; of others, types do."""
STATE_SPACE_OR_MANNER = {"global", "sync", "aligned"}
MOST_CHOICES = 3


def operations(pattern: str) -> set[str]:
    """`cp.async.bulk.tensor`, `mbarrier.arrive`: opcode and modifiers of a pattern, up to the first that may be left
    out, or is a type, a state space, or one of many."""
    opcode, parts = parts_of(pattern)
    found = {opcode}
    for part in parts if opcode in SHOWN_IN_PARTS else []:
        names = part.strip("{}").split(",")
        words = all(re.fullmatch(r"(?!shared)[a-z_]+(::(generic|ld|st|[a-z]+_thread_sync))?", each) for each in names)
        if len(names) > MOST_CHOICES or part in STATE_SPACE_OR_MANNER or not words:
            break
        found = {f"{each}.{name}" for each in found for name in names}
    return found


def instruction_table() -> str:
    """The operations of each family, in the order of families."""
    load_families()
    found = {family: set[str]() for family in ("control", *FAMILIES)}
    found["control"] |= set(_CONTROL)
    for rows in TABLE.values():
        for row in rows:
            found[row.build.__module__.rpartition(".")[2]] |= operations(row.pattern)
    lines = [f"| {TITLES[family]} | {' '.join(f'`{each}`' for each in sorted(found[family]))} |" for family in found]
    return "\n".join(["| family | opcodes, with what tells operations apart |", "|---|---|", *lines])


def test_the_instructions_are_those_of_the_table() -> None:
    expected = instruction_table()
    found = re.search(r"<!-- instructions: begin -->\n(.*?)\n<!-- instructions: end -->", PAGE, re.DOTALL)
    assert found and found[1] == expected, f"between the marks of instructions there should be\n{expected}"


def rows_below(heading: str) -> list[list[str]]:
    """The cells of the table with this first line."""
    _, _, table = PAGE.partition(f"{heading}\n")
    lines = table.partition("\n\n")[0].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in lines]


def test_the_checks_are_those_there_are() -> None:
    assert [name.strip("`") for name, _ in rows_below("| check | finds |")] == list(CHECK_NAMES)


WORDS = ("reads", "written", "shared", "accumulator", "a tensor copy", "memory that", "times", "bytes", "a swizzle of")
VARIABLE = re.compile(rf"a tcgen05\.\w+|tcgen05\.fence::\w+|\d+|%\w+|'trap'|\b(?:{'|'.join(WORDS)})\b")
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


def test_what_mends_a_race_is_called_as_the_messages_call_it() -> None:
    calls = {call for _, mends in rows_below("| between | what mends it |") for call in re.findall(r"`(.*?)`", mends)}
    assert {"sync_warp()", "sync_threads()", "mbarrier_wait", "warpgroup.wait_group"} <= calls
    messages = (ROOT / "cutecc" / "emulator" / "checks" / "wording.py").read_text()
    for call in calls:
        assert call.partition("(")[0] in messages, f"no message says {call}"


def test_addresses_are_called_as_messages_call_them() -> None:
    tensor = Elements("a", (33, 132), (132, 1), 32)
    names = [name for cells in rows_below("| address | is |") for name in re.findall(r"`(.*?)`", cells[0])]
    row = 3 * 132 + 17
    assert names[:3] == [tensor.describe(offset) for offset in (4 * row, 4 * row + 2)] + ["between elements"]
    assert names[3] == tensor.describe(33 * 132 * 4)
    source = "\n".join(path.read_text() for path in (ROOT / "cutecc" / "emulator" / "memory").rglob("*.py"))
    for name in names[4:]:
        name = re.sub(r"^\w[\w.]*(\[|(?= \+))", "", name)  # what the source calls it
        for part in re.split(r"0x7f…|\d+|[\](]+|shared\+|… of block \(.*|of block \(.*|module\+|local\+|param\+", name):
            assert part.strip() in source, f"no message has '{part}'"


@pytest.mark.slow
def test_the_test_of_the_page_passes(
    tmp_path: Path, traced_kernels: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_add.py`, with the bundle of the page."""
    signature = Signature("elementwise_add", [Parameter(name, "f32[?M,?N{div=4}] align=16") for name in "abc"])
    kernel = cutecc.compile_module(
        traced_kernels["elementwise_add"].bytecode, target="sm_90a", name="elementwise_add", signature=signature
    )
    kernel.save(tmp_path / "add.cutecc")
    text = next(text for language, text in BLOCK.findall(PAGE) if language == "python" and "cutecc_device" in text)
    (tmp_path / "test_add.py").write_text(text)
    # Its plugin is named, and so not taken from what is installed as well.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cutecc.pytest_plugin", "-p", "no:cacheprovider"]
    options = ["--cutecc-device=cpu", "--cutecc-check=races", "--cutecc-schedule=random", "--cutecc-seed=7"]
    command += [*options, "test_add.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_limits_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|$", PAGE.partition("### Limits")[2], re.MULTILINE)
    names = [each.name for each in dataclasses.fields(cutecc.Limits)]
    assert [name for name, *_ in rows[: len(names)]] == names
    words = {"a day": 86_400, "half of the machine's": cutecc.Limits().memory}
    for name, usual, strict in rows[: len(names)]:
        for text, limits in ((usual, cutecc.Limits()), (strict, cutecc.STRICT_LIMITS)):
            number = words[text] if text in words else read_size(text.replace(",", ""))
            assert number == getattr(limits, name), (name, text)
