"""What differs between the versions of a function: in the list, on its page, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_pages import Page

from cutecc.errors import RecordError
from cutecc.watching.index import index_data, read_index, write_index
from cutecc.watching.index_page import page
from cutecc.watching.pairs import write_pairs
from cutecc.watching.recording import Recording
from cutecc.watching.specialisations import Specialisations, specialisations


def kernel(number: int = 1, function: str = "gemm", target: str = "sm_90a", **arguments: str) -> dict[str, Any]:
    name = function if number == 1 else f"{function}-{number}"
    return {
        **{"name": function, "function": function, "defined_at": "k.py:3", "target": target, "arguments": arguments},
        **{"called_from": {"user": None, "stack": []}, "traces": 1, "processes": 1, "versions": 1, "differs": {}},
        **{"program_trace_seconds": 0.5, "program_compile_seconds": float(number), "program_error": None},
        **{"status": "ok", "error": None, "remarks": [], "record": f"kernels/{name}-{target}", "report": None},
        "resources": [{"kernel": "kernel", "registers": 8 * number, "spill_bytes": None}],
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("f16[?]", "bf16[?]", ["dtype"]),
        ("f16[?,8]", "f16[?,16]", ["shape"]),
        ("f16[?]", "f16[64]", ["shape"]),
        ("f16[?{div=4}]", "f16[?{div=8}]", ["divisibility"]),
        ("f16[?,?]:(?,1)", "f16[?,?]:(1,?)", ["strides"]),
        ("f16[?,8] align=16", "f16[?,8] align=4", ["alignment"]),
        ("f16[8]", "f16[8]@smem", ["space"]),
        ("ptr<f16> align=16", "ptr<f32> align=32", ["dtype", "alignment"]),
        ("const(64)", "const(128)", ["value"]),
        ("const(64)", "i32", ["kind"]),
        ("i32", "i64", ["dtype"]),
        ("(f16[8], const(1))", "(f16[8], const(2))", ["value"]),
        ("(f16[8], const(1))", "(f16[8],)", ["shape"]),
        ("object<Config(1)>", "object<Config(2)>", ["value"]),
        ("f32=0.5", "f32=1.5", []),
        ("stream", "stream", []),
    ],
)
def test_an_argument_says_in_what_it_differs(ours: str, theirs: str, expected: list[str]) -> None:
    (group,) = specialisations([kernel(a=ours, same="i32"), kernel(2, a=theirs, same="i32")])
    assert group.differs == ({"a": expected} if expected else {})


def test_versions_are_of_one_function_and_one_target() -> None:
    kernels = [
        kernel(a="f16[8]"),
        kernel(1, "softmax", a="f16[8]"),
        kernel(2, a="f32[16]", flag="const(True)"),
        kernel(1, target="sm_80", a="f16[8]"),
        kernel(3, a="f16[8]"),
    ]
    (group,) = specialisations(kernels)
    assert group == Specialisations([0, 2, 4], {"a": ["dtype", "shape"], "flag": ["kind"]})
    assert group.text == "they differ in a (dtype, shape), flag (kind)"
    (group,) = specialisations([kernel(a="f16[8]"), kernel(2, a="f16[8]")])
    assert group.text == "their arguments are the same"


def listed(*kernels: dict[str, Any]) -> dict[str, Any]:
    """The list of a watch of these."""
    for group in specialisations(kernels):
        for position in group.kernels:
            kernels[position].update(versions=len(group.kernels), differs=group.differs)
    return {**index_data(Recording(Path()), []), "kernels": [*kernels]}


def test_the_page_marks_what_differs_and_leads_to_pages_of_two() -> None:
    data = listed(kernel(a="f16[8]", n="const(4)"), kernel(2, a="f16[8]", n="const(8)"), kernel(1, "softmax"))
    a, b = "kernels/gemm-sm_90a", "kernels/gemm-2-sm_90a"
    data["pairs"] = [{"a": a, "b": b, "page": "pairs/gemm-sm_90a..gemm-2-sm_90a.html"}]
    text = page(data)
    assert text.count('<span class="differs"><code>n = const(') == text.count("≠ value") == 2
    assert "<div><code>a = f16[8]</code></div>" in text
    assert text.count("one of 2 versions") == 2
    assert text.count('<a href="pairs/gemm-sm_90a..gemm-2-sm_90a.html">beside gemm') == 2
    assert 'data-record="kernels/gemm-2-sm_90a"' in text
    assert '<td data-sort="16">16</td>' in text
    assert Page(text.encode()).title == "Watched kernels", "each element is ended where it may be"


def test_the_terminal_prints_the_list_with_marks(tmp_path: Path, cutecc_in) -> None:
    write_index(tmp_path, listed(kernel(n="const(4)"), kernel(2, n="const(8)")))
    lines = cutecc_in(tmp_path, "watch", "--list", ".").stdout.splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["gemm-sm_90a", "gemm", "n", "=", "const(4)", "≠", "value", "8", "?", "0"],
        ["gemm-2-sm_90a", "gemm", "n", "=", "const(8)", "≠", "value", "16", "?", "0"],
    ]
    missing = cutecc_in(tmp_path, "watch", "--list", "nothing", status=2).stderr
    assert "no list of kernels in nothing: No such file or directory" in missing
    for options in (["--list", ".", "--hook-path"], ["--pairs", "--no-reports", "--", "true"]):
        cutecc_in(tmp_path, "watch", *options, status=2)


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1, "kernels": 3}', '{"format": 99, "kernels": []}', "[]"])
def test_a_list_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(RecordError, match="no list of kernels"):
        read_index(tmp_path)


def test_a_page_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    kernels = [kernel(n="const(4)"), kernel(2, n="const(8)")]
    (tmp_path / "kernels").mkdir()
    pages, notes = write_pairs(tmp_path, kernels, specialisations(kernels))
    assert pages == []
    assert "the page of gemm-sm_90a and gemm-2-sm_90a was not written" in notes[0]
