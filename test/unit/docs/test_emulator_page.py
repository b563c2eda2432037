"""`docs/emulator.md` names the opcodes, checks and schedules that there are."""

from __future__ import annotations

import re
import textwrap

from following import ROOT

from cutecc.emulator.checks.selection import CHECK_NAMES
from cutecc.emulator.instructions.table import TABLE
from cutecc.emulator.machine.decode import _CONTROL, _load_families
from cutecc.emulator.options import SCHEDULES

PAGE = (ROOT / "docs" / "emulator.md").read_text()


def test_the_opcodes_are_those_of_the_table() -> None:
    _load_families()
    expected = textwrap.fill(" ".join(sorted({*TABLE, *_CONTROL})), 100)
    found = re.search(r"<!-- opcodes -->\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert found and found[1].strip() == expected, f"the block below <!-- opcodes --> should be\n{expected}"


def test_the_checks_are_those_there_are() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(CHECK_NAMES)


def test_the_schedules_are_those_there_are() -> None:
    _, _, section = PAGE.partition("## Schedules")
    assert re.findall(r"^- `([\w-]+)`", section, re.MULTILINE)[:3] == list(SCHEDULES)
