"""The Python and the remarks of two records side by side."""

from __future__ import annotations

import pytest

from cutecc.record import Analysis, Compilation, Remark, Versions
from cutecc.record.stages import UserLines
from cutecc.report.pair_remarks import remark_pairs, remarks_text
from cutecc.report.pair_source import SourcePair, Stretch, source_pairs, stretches


def test_lines_of_the_same_text_belong_together() -> None:
    assert stretches("a\nb\n", "a\nb\n") == [Stretch(1, 1, 3, True)]


def test_lines_are_aligned_around_what_came_and_went() -> None:
    before = "def kernel(a):\n    a.fill(0)\n    copy(a, b)\n    return\n"
    after = "def kernel(a):\n    copy(a, b)\n    # done\n    return\n"
    found = stretches(before, after)
    assert found == [Stretch(1, 1, 1, True), Stretch(3, 2, 1, True), Stretch(4, 4, 2, True)]
    pair = SourcePair("a.py", "a.py", found)
    assert [pair.in_second(line) for line in range(1, 6)] == [1, None, 2, 4, 5]


def test_a_line_that_changed_belongs_to_its_new_form() -> None:
    before = "threads = layout((4, 32))\nvalues = layout((4, 4))\nend"
    after = "# other ones\nthreads = layout((2, 64))\nvalues = layout((8, 2))\nend"
    assert stretches(before, after) == [
        Stretch(1, 2, 1, False),
        Stretch(2, 3, 1, False),
        Stretch(3, 4, 1, True),
    ]
    assert stretches("x = 1\n", "while ready(barrier): pass\n") == [Stretch(2, 2, 1, True)]


def test_a_large_change_is_not_compared_word_for_word() -> None:
    before, after = ("\n".join(f"{name} = {i}" for i in range(120)) for name in ("alpha", "alphas"))
    assert stretches(before, after) == []


def sources(*files: str, library: tuple[str, ...] = ()) -> UserLines:
    return UserLines(sources=dict.fromkeys(files, "text"), library=list(library))


@pytest.mark.parametrize(
    ("ours", "theirs", "kernels", "expected"),
    [
        (sources("/k.py"), sources("/k.py"), (None, None), [("/k.py", "/k.py")]),
        (sources("/old/k.py"), sources("/new/k.py"), (None, None), [("/old/k.py", "/new/k.py")]),
        (sources("/one.py"), sources("/two.py"), ("one.py", "two.py:gemm"), [("/one.py", "/two.py")]),
        (sources("/one.py"), sources("/two.py"), (None, None), [("/one.py", None), (None, "/two.py")]),
        (
            sources("/lib.py", "/k.py", library=("/lib.py",)),
            sources("/lib.py", "/more.py", "/k.py", library=("/lib.py",)),
            ("k.py", "k.py"),
            [("/k.py", "/k.py"), (None, "/more.py"), ("/lib.py", "/lib.py")],
        ),
    ],
)
def test_files_belong_together_by_name(
    ours: UserLines,
    theirs: UserLines,
    kernels: tuple[str | None, str | None],
    expected: list[tuple[str | None, str | None]],
) -> None:
    assert [(each.a, each.b) for each in source_pairs(ours, theirs, kernels)] == expected


def record(*remarks: Remark) -> Compilation:
    compilation = Compilation("k", "sm_80", "", Versions("0", "3", "4.8.1", "built in"))
    compilation.analyses = [Analysis("check", 0, remarks=list(remarks))]
    return compilation


def remark(line: int, sectors: int, message: str = "a load takes {} sectors") -> Remark:
    return Remark("remark", message.format(sectors), f"k.py:{line}:5", "check", {"sectors": sectors})


def test_remarks_belong_together_by_line_and_words() -> None:
    a = record(remark(1, 4), remark(2, 16), remark(3, 7, "spills {}"), remark(9, 1))
    b = record(remark(1, 4), remark(3, 8), remark(4, 7, "diverges {}"), remark(9, 1))
    # A line came in front of the second one.
    pairs = source_pairs(
        UserLines(sources={"/w/k.py": "load\nstore\nspill"}), UserLines(sources={"/w/k.py": "load\nnew\nstore\nspill"})
    )
    found = remark_pairs(a, b, pairs)
    assert [(each.a and each.a.message, each.b and each.b.message) for each in found] == [
        ("spills 7", None),
        ("a load takes 1 sectors", None),
        (None, "diverges 7"),
        (None, "a load takes 1 sectors"),
        ("a load takes 16 sectors", "a load takes 8 sectors"),
        ("a load takes 4 sectors", "a load takes 4 sectors"),
    ]
    assert (found[4].a_line, found[4].b_line) == (("/w/k.py", 2), ("/w/k.py", 3))
    assert remarks_text(found) == "2 in A alone, 2 in B alone, 1 in both with other numbers, 1 the same in both"


def test_of_several_remarks_of_a_line_the_same_ones_belong_together() -> None:
    a, b = record(remark(1, 4), remark(1, 8)), record(remark(1, 8), remark(1, 2))
    found = remark_pairs(a, b, [])
    assert [(each.a and each.a.numbers["sectors"], each.b and each.b.numbers["sectors"]) for each in found] == [
        (4, 2),
        (8, 8),
    ]


def test_a_remark_without_a_place_is_compared_by_its_words() -> None:
    a, b = (record(Remark("warning", f"{count} bytes spilled")) for count in (8, 16))
    (found,) = remark_pairs(a, b, [])
    assert (found.a_line, found.b_line, found.same) == (None, None, False)
