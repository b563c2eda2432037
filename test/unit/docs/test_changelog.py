"""CHANGELOG.md: its newest version is the package's, and the modules that it says have moved are there."""

from __future__ import annotations

import re

import build_site
from following import ROOT
from import_graph import modules

TEXT = (ROOT / "CHANGELOG.md").read_text()


def test_the_newest_version_is_the_packages() -> None:
    headings = re.findall(r"^## (\S+)(?: - \d{4}-\d\d-\d\d)?$", TEXT, re.MULTILINE)
    assert headings[:2] == ["Unreleased", build_site.version()] or headings[0] == build_site.version()


def test_what_has_moved_is_there_and_no_longer_where_it_was() -> None:
    table = re.findall(r"^\| `(cutecc\S*)` \| `(cutecc\S*)` \|$", TEXT, re.MULTILINE)
    known = modules()
    assert len(table) > 40
    assert [new for _, new in table if new not in known] == []
    assert [old for old, _ in table if old in known] == []
