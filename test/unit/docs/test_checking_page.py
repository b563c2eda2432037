"""`docs/checking.md` shows what happens, and has a section for every analysis."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from following import ROOT, follow, prepare

from cutecc.passes.analysis.selection import summaries
from cutecc.passes.analysis.vector_width import Reason

PAGE = ROOT / "docs" / "checking.md"


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    follow(PAGE, prepare(tmp_path))


def test_every_analysis_has_a_section() -> None:
    sections = re.findall(r"^## `(check-[\w-]+)`$", PAGE.read_text(), re.MULTILINE)
    assert {name for name in summaries() if name.startswith("check-")} <= set(sections)


def test_the_reasons_are_those_there_are() -> None:
    _, _, table = PAGE.read_text().partition("| reason | what it means | what to do |\n|---|---|---|\n")
    assert sorted(re.findall(r"^\| `(\w+)`", table.partition("\n\n")[0], re.MULTILINE)) == sorted(get_args(Reason))
