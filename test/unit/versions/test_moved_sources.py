"""Lines of Python that edits move between two records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cutecc.versions.sources import Sources

A, B = "/one/repository/k.py", "/two/checkout/k.py"


def test_a_file_is_found_by_the_most_of_its_path() -> None:
    first = {"/x/a/util.py": "one\ntwo", "/x/b/util.py": "three\nfour"}
    later = {"/y/b/util.py": "new\nthree\nfour", "/y/a/util.py": "one\ntwo"}
    sources = Sources(first, later)
    assert sources.in_later(("/x/b/util.py", 2)) == ("/y/b/util.py", 3)
    assert sources.in_later(("/x/a/util.py", 1)) == ("/y/a/util.py", 1)


def test_files_of_other_names_have_nothing_in_common() -> None:
    sources = Sources({"/x/k.py": "one"}, {"/x/l.py": "one"})
    assert sources.in_later(("/x/k.py", 1)) == ("/x/k.py", 1)


def test_without_files_lines_are_themselves() -> None:
    sources = Sources({}, {})
    assert sources.in_later(("", 0)) == ("", 0)
    assert sources.text(("/k.py", 3)) == ""


def test_a_line_that_was_edited_is_the_one_in_its_place() -> None:
    sources = Sources({A: "a\nb\nc"}, {B: "a\nB\nc"})
    assert [sources.in_later((A, line)) for line in (1, 2, 3)] == [(B, 1), (B, 2), (B, 3)]


def test_lines_that_more_or_fewer_took_the_place_of_are_gone() -> None:
    sources = Sources({A: "a\nb\nc"}, {B: "a\nB\nBB\nc"})
    assert [sources.in_later((A, line)) for line in (1, 2, 3)] == [(B, 1), (A, 2), (B, 4)]


def test_texts_of_lines_that_one_of_them_has() -> None:
    sources = Sources({A: "a\n  old"}, {B: "\tnew\na"})
    assert [sources.text(line) for line in ((B, 1), (B, 2), (A, 2), (B, 0), (B, 9), (B, -1))] == [
        "new",
        "a",
        "old",
        "",
        "",
        "",
    ]


lines = st.lists(st.sampled_from(["x = 1", "y = 2", "", "    z()", "for i in r:", "end"]), max_size=12)


@given(lines, st.data())
def test_unique_lines_are_followed_wherever_an_edit_moves_them(kept: list[str], data: st.DataObject) -> None:
    unique = [f"{text} # {number}" for number, text in enumerate(kept)]
    after: list[str] = []
    gone = set[int]()
    for number, text in enumerate(unique):
        after += data.draw(st.lists(st.just("inserted"), max_size=2))
        if data.draw(st.booleans()):
            after.append(text)
        else:
            gone.add(number)
    sources = Sources({A: "\n".join(unique)}, {B: "\n".join(after)})
    for number, text in enumerate(unique):
        where = (A, number + 1)
        if number in gone:
            file, line = sources.in_later(where)
            assert (file, line) == where or not after or after[line - 1] == "inserted"
        else:
            assert sources.in_later(where) == (B, after.index(text) + 1)


@given(lines, lines)
def test_what_corresponds_is_in_the_same_order(before: list[str], after: list[str]) -> None:
    before, after = before or [""], after or [""]
    sources = Sources({A: "\n".join(before)}, {B: "\n".join(after)})
    found = [(line, sources.in_later((A, line))) for line in range(1, len(before) + 1)]
    pairs = [(old, new) for old, (file, new) in found if file == B]
    assert [new for _, new in pairs] == sorted({new for _, new in pairs})


@given(lines)
def test_a_file_that_is_the_same_has_the_same_lines(text: list[str]) -> None:
    sources = Sources({A: "\n".join(text)}, {A: "\n".join(text)})
    assert all(sources.in_later((A, line)) == (A, line) for line in range(1, len(text) + 1))
