"""Following one operation through passes, from stages made by hand."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
from test_history import stages

from cutecc.errors import UsageError
from cutecc.report.following import Links, Passed, follow
from cutecc.report.pass_effects import effects_of
from cutecc.report.values import find_value


def passed(tmp_path: Path, line: int, *texts: str) -> list[Passed]:
    tmp_path.mkdir(exist_ok=True)
    return [*follow(stages(tmp_path, *texts), 0, line)]


def links(tmp_path: Path, *texts: str) -> list[Links]:
    """What each pass of a run did."""
    record = stages(tmp_path, *texts)
    _, *effects = effects_of(map(record.after, record.indices), record.places)
    return [each.links for each in effects]


def sums(differences: list[int]) -> list[int]:
    return [*accumulate(differences)]


def test_an_operation_that_a_pass_leaves_alone_is_the_same_by_another_number(tmp_path: Path) -> None:
    (found,) = passed(tmp_path, 0, "%0 = a.one @ 1\na.use %0 @ 2", "%7 = a.new @ 3\n%8 = a.one @ 1\na.use %8 @ 2")
    assert (found.texts, found.fates, found.others) == (["%8 = a.one"], {}, 0)


def test_what_stands_for_a_value_ends_with_what_its_users_take(tmp_path: Path) -> None:
    """Two operations of one line are rewritten, each to two."""
    before = "%0 = a.arg @ 3\n%1 = a.neg %0 @ 1\n%2 = a.abs %0 @ 1\na.use %1 @ 2\na.other %2 @ 2"
    after = (
        "%0 = a.arg @ 3\n%1 = b.zero %0 @ 1\n%2 = b.sub %1, %0 @ 1\n%3 = b.bits %0 @ 1\n%4 = b.and %3, %0 @ 1\n"
        "a.use %2 @ 2\na.other %4 @ 2"
    )
    (first,) = passed(tmp_path / "first", 1, before, after)
    assert (first.texts, first.fates) == (["%1 = b.zero %0", "%2 = b.sub %1, %0"], {"rewritten": 1})
    (second,) = passed(tmp_path / "second", 2, before, after)
    assert second.texts == ["%3 = b.bits %0", "%4 = b.and %3, %0"]
    assert (first.others, second.others) == (0, 0)


def test_operations_without_results_are_shared_out_in_order_if_each_has_the_same(tmp_path: Path) -> None:
    before = "a.store {x} @ 1\na.store {y} @ 1"
    (found,) = passed(tmp_path / "even", 1, before, "b.check {x} @ 1\nb.st {x} @ 1\nb.check {y} @ 1\nb.st {y} @ 1")
    assert (found.texts, found.others) == (["b.check {y}", "b.st {y}"], 0)
    (found,) = passed(tmp_path / "odd", 1, before, "b.check @ 1\nb.st {x} @ 1\nb.st {y} @ 1")
    assert (len(found.texts), found.others) == (3, 1), "it is said that nobody knows"


def test_a_value_that_is_merged_is_the_equal_one_from_there_on(tmp_path: Path) -> None:
    found = passed(
        tmp_path,
        1,
        "%0 = a.one @ 1\n%1 = a.one @ 2\na.use %0, %1 @ 3",
        "%0 = a.one @ 1\na.use %0, %0 @ 3",
        "%0 = b.one @ 1\na.use %0, %0 @ 3",
    )
    assert [(each.texts, each.fates) for each in found] == [
        (["%0 = a.one"], {"merged": 1}),
        (["%0 = b.one"], {"rewritten": 1}),
    ]


def test_a_part_that_becomes_another_lines_value_is_not_followed_there(tmp_path: Path) -> None:
    found = passed(
        tmp_path,
        1,
        "%0 = a.one @ 2\n%1 = a.sum @ 1\na.use %0, %1 @ 3",
        "%0 = a.one @ 2\n%1 = a.one @ 1\n%2 = b.add %1 @ 1\na.use %0, %2 @ 3",
        "%0 = a.one @ 2\n%2 = b.add %0 @ 1\na.use %0, %2 @ 3",
    )
    assert [each.texts for each in found] == [["%1 = a.one", "%2 = b.add %1"], ["%2 = b.add %0"]]


def test_copies_of_a_loops_body_are_the_value_too(tmp_path: Path) -> None:
    body = "%{0} = a.load %i{0} @ 1\na.use %{0} @ 2\n"
    unrolled = "".join(f"%i{each} = arith.constant {each} @ 3\n{body.format(each)}" for each in range(3))
    (found,) = passed(
        tmp_path, 1, "scf.for %i = %a to %b { @ 3\n  %0 = a.load %i @ 1\n  a.use %0 @ 2\n}", unrolled.rstrip("\n")
    )
    assert (len(found.texts), found.fates) == (3, {"unrolled": 1})


def test_what_nothing_is_left_of_ends(tmp_path: Path) -> None:
    found = passed(tmp_path, 0, "%0 = a.one @ 1\na.b @ 2", "a.b @ 2", "c.d @ 2")
    assert [(each.step, each.texts, each.fates) for each in found] == [(1, [], {"removed": 1})]


def test_links_say_where_each_line_is(tmp_path: Path) -> None:
    (found,) = links(
        tmp_path,
        "%0 = a.one @ 1\n%1 = a.one @ 2\na.use %0, %1 @ 3\nc.two {x} @ 3\nc.gone @ 1",
        "%0 = a.one @ 1\na.use %0, %0 @ 3\nc.two {y} @ 3",
    )
    assert found.kept == [0, 0, 1, 1, 0, 2], "line 0, then from line 2 on, two that are lines 1 and 2 there"
    assert {fate: sums(lines) for fate, lines in found.gone.items()} == {"merged": [1], "removed": [4]}
    assert sums(found.changed) == [3]
    assert (found.became, found.elsewhere) == ([], [([1], [0])])


def test_a_value_is_named_by_its_number_or_its_result(tmp_path: Path) -> None:
    record = stages(tmp_path, "%0 = a.one @ 1\n%1:2 = a.two @ 1\na.use %0 @ 2", "%0 = b.one @ 1\na.use %0 @ 2")
    line = ("/k.py", 1)
    assert find_value(record, line, "2").text == "%1:2 = a.two"
    assert find_value(record, line, "%0").line == 0
    assert find_value(record, line, "%0", 1).text == "%0 = b.one"
    assert find_value(record, line, "1", 1).stage == 1
    with pytest.raises(UsageError, match="no operation '3' there; of 2, name one") as failure:
        find_value(record, line, "3")
    assert failure.value.hints == ["1: %0 = a.one", "2: %1:2 = a.two"]
    with pytest.raises(UsageError, match="no operation of this line"):
        find_value(record, ("/k.py", 3), "1")
