"""Which checks a text names."""

from dataclasses import replace

import pytest

from cutecc.emulator.checks.finding import Finding, Place
from cutecc.emulator.checks.reports import merge_findings
from cutecc.emulator.checks.selection import CHECK_NAMES, parse_checks
from cutecc.errors import UsageError


def test_names() -> None:
    assert parse_checks("all") == parse_checks(True) == frozenset(CHECK_NAMES) - {"tensor-fences"}
    assert parse_checks("tensor-fences,all") == frozenset(CHECK_NAMES)
    assert parse_checks("") == parse_checks(False) == frozenset()
    assert parse_checks("races, proxies") == {"races", "proxies", "bounds", "barriers"}
    with pytest.raises(UsageError, match="no check 'speed'"):
        parse_checks("races,speed")


def test_merging() -> None:
    """One finding of a kind at a place, with the threads of all."""
    one = Finding("race", "races", Place(None, 7, "st;", (0, 0, 0), (0, 0, 0)), count=3)
    two = Finding("race", "races", Place(None, 8, "st;", (0, 0, 0), (0, 0, 0)))
    assert [each.count for each in merge_findings([one, two, one])] == [6, 1]
    there, back = (
        replace(a, other=b.place, message=text) for a, b, text in ((one, two, "reads"), (two, one, "writes"))
    )
    assert [each.count for each in merge_findings([there, back, one])] == [4, 3]
