"""`docs/checking.md` has a section for every analysis, and its reasons."""

from __future__ import annotations

import re
from typing import get_args

from following import ROOT

from cutecc.passes.analysis.selection import summaries
from cutecc.passes.analysis.vector_width import Reason

PAGE = ROOT / "docs" / "checking.md"


def test_every_analysis_has_a_section() -> None:
    sections = re.findall(r"^## `(check-[\w-]+)`$", PAGE.read_text(), re.MULTILINE)
    assert {name for name in summaries() if name.startswith("check-")} <= set(sections)


def test_the_reasons_are_those_there_are() -> None:
    _, _, table = PAGE.read_text().partition("| reason | what it means | what to do |\n|---|---|---|\n")
    assert sorted(re.findall(r"^\| `(\w+)`", table.partition("\n\n")[0], re.MULTILINE)) == sorted(get_args(Reason))
