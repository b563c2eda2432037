"""Kernel files that are none, or that nobody can read or name: one clear error each, at once."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import CUTECC, EXAMPLES

import cutecc

pytestmark = pytest.mark.slow


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _large(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(300 << 20)


def _text(data: bytes):
    return lambda path: path.write_bytes(data)


ODD = [
    ("kernel.py", _text(b"# coding: rot13\nvzcbeg bf\n"), "kernel.py: it names no encoding of text in its"),
    (
        "kernel.py",
        _text(b"# coding: utf-16\nimport os\n"),
        "kernel.py: it names no encoding of text in its",
    ),
    ("kernel.py", _text(b"# coding: no-such\nimport os\n"), "kernel.py: unknown encoding 'no-such' in its coding line"),
    ("kernel.py", _text("x = 1\n".encode("utf-16")), "UTF-8"),
    ("kernel.py", _large, "kernel.py has 314572800 bytes; a Python file with a kernel has at most 16777216"),
    ("\udcff.py", _text(b"import cutlass\n"), "is not UTF-8: rename the file"),
    ("kernel.py", Path.mkdir, "is a folder"),
    ("kernel.py", _pipe, "kernel.py is no regular file"),
    ("kernel.py", _text(b"\xef\xbb\xbfx = 1\n"), "has no @cute.jit function"),
    ("kernel.py", _text(b"x = 1\0\n"), "null byte"),
]


@pytest.mark.parametrize("json", [[], ["--json"]])
@pytest.mark.parametrize(("name", "make", "message"), ODD)
def test_an_odd_file_is_one_error(tmp_path: Path, name: str, make, message: str, json: list[str]) -> None:
    make(tmp_path / name)
    command = [str(CUTECC), "compile", name, "--target", "sm_80", *json]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1
    assert message in done.stderr
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("takes", [functools.partial(cutecc.compile, target="sm_80"), cutecc.jit])
@pytest.mark.parametrize("argument", ["options", "pipeline"])
def test_none_is_no_value(takes, argument: str) -> None:
    with pytest.raises(cutecc.UsageError, match=f"{argument} is a.*, not None"):
        takes(lambda: None, **{argument: None})


def test_a_name_that_line_info_cannot_hold_is_one_error(tmp_path: Path) -> None:
    # Without line info it is a name like any other.
    shutil.copy(EXAMPLES / "elementwise_add.py", tmp_path / 'a"b c.py')
    command = [str(CUTECC), "compile", 'a"b c.py', "--target", "sm_80"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).returncode == 0
    done = subprocess.run([*command, "--line-info"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        f'error: line info cannot name {tmp_path}/a"b c.py: to ptxas the name of a file ends at a quotation mark\n'
        "hint: rename the file, or compile it without line info\n"
    )
