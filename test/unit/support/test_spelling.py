"""Which names a misspelled one may have meant, and that all of cutecc asks in one place."""

from __future__ import annotations

import ast

import pytest
from import_graph import PACKAGE

from cutecc.support.spelling import close_names, did_you_mean


def test_the_likest_name_comes_first() -> None:
    assert close_names("canonicalise", ["cse", "canonicalize", "canonical"], most=3) == ["canonicalize", "canonical"]
    assert close_names("canonicalise", ["cse", "canonicalize", "canonical"]) == ["canonicalize"]
    assert close_names("xyz", ["cse", "canonicalize"]) == []
    assert close_names("cse#3", ["cse#1", "inline"], least=0.9) == []


def test_case_and_space_around_make_no_difference() -> None:
    assert close_names(" SM_90A", ["sm_80", "sm_90a"]) == ["sm_90a"]
    assert close_names("row", ["Row", "Column"]) == ["Row"]


def test_a_hint_says_it_the_way_it_is_to_be_written() -> None:
    assert did_you_mean("kernl", ["kernel", "other"]) == ["did you mean kernel?"]
    assert did_you_mean("kernl", ["kernel", "other"], "file.py:{}".format) == ["did you mean file.py:kernel?"]
    assert did_you_mean("kernl", []) == []


@pytest.mark.slow
def test_all_of_cutecc_asks_here() -> None:
    asking = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) == "get_close_matches"
    }
    assert asking == {"support/spelling.py"}
