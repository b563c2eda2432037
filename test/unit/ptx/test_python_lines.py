"""Lines of Python of PTX that need not assemble."""

from __future__ import annotations

import pytest

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import named_file, python_line

TWO_FUNCTIONS = """.version 8.0
.visible .entry first()
{
    mov.u32 %r1, %r2;
    .loc 1 7 4
    mov.u32 %r1, %r2;
    .loc 1 8 8, function_name $g, inlined_at 1 9 12
    mov.u32 %r1, %r2
    .loc 1 40 0
    mov.u32 %r1, %r2;
    .loc 1 0 0
    mov.u32 %r1, %r2;
    // begin inline asm
    .loc 1 17 4
    mov.u32 %r1, %r2;
    // end inline asm
}
.func second()
{
    .loc 1 40 0
    ret;
    .loc 1 50 4
    ret;
}
.file 1 "kernel.py"
"""


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (4, None),
        (6, "kernel.py:7:5"),
        (8, "kernel.py:9:13"),
        (10, "near kernel.py:9"),
        (12, "near kernel.py:9"),
        (15, "near kernel.py:9"),
        (19, None),
        (21, None),
        (23, "kernel.py:50:5"),
    ],
)
def test_the_python_line_of_a_ptx_line(line: int, place: str | None) -> None:
    found = python_line(TWO_FUNCTIONS, line)
    assert (found and str(found)) == place


def test_inlining_is_followed_to_the_outermost_call() -> None:
    ptx = """
.file 1 "a.py"
.loc 1 7 3
.loc 1 6 2, function_name $g, inlined_at 1 7 3
.loc 1 5 1, function_name $f, inlined_at 1 6 2
mov.u32 %r1, %r2;
"""
    assert python_line(ptx, 6) == SourceLocation("a.py", 7, 4)


def test_the_wrapper_of_a_kernel_of_numba_is_no_call_of_the_user_s() -> None:
    """It is at the line of the `def`, and nothing has a column."""
    ptx = """
.file 1 "a.cu"
.loc 1 6 1
.loc 1 6 1, function_name $k, inlined_at 1 6 1
.loc 1 9 1, function_name $k, inlined_at 1 6 1
.loc 1 20 1, function_name $f, inlined_at 1 9 1
"""
    lines = [python_line(ptx, line) for line in range(3, 7)]
    assert [found and found.line for found in lines] == [6, 6, 9, 9]


def test_columns_of_other_languages_count_from_1() -> None:
    ptx = '.file 1 "a.cu"\n.loc 1 7 3\nret;\n.loc 1 8 0\nret;'
    assert python_line(ptx, 3) == SourceLocation("a.cu", 7, 3)
    assert python_line(ptx, 5) == SourceLocation("a.cu", 8)


def test_code_of_no_line_is_near_the_line_before() -> None:
    ptx = '.file 1 "a.cu"\n.loc 1 1 3\nret;\n.loc 1 0 0\nret;'
    first = SourceLocation("a.cu", 1, 3)
    assert (python_line(ptx, 3), python_line(ptx, 5)) == (first, SourceLocation("a.cu", 1, near=True))


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("/home/kernel.py", "/home/kernel.py"),
        (r"/home/gr\303\266\303\237e.py", "/home/größe.py"),
        # As nvdisasm has it.
        (r"/home/gr\303\266\303/237e.py", "/home/größe.py"),
        (r"/gr\303\266\303\237e/237e.py", "/größe/237e.py"),
        (r"/home/a \"quoted\" name.py", '/home/a "quoted" name.py'),
        (r"/home/no\377/unicode.py", r"/home/no\377/unicode.py"),
    ],
)
def test_file_names(text: str, file: str) -> None:
    assert named_file(text) == file


def test_a_file_whose_name_is_not_ascii() -> None:
    text = TWO_FUNCTIONS.replace("kernel.py", r"gr\303\266\303\237e.py")
    assert python_line(text, 6) == SourceLocation("größe.py", 7, 5)
