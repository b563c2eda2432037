"""What `cutecc watch` says when a program compiles kernels and they cannot be recorded, and what it ends with."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import CUTECC
from test_watch_programs import KERNELS

pytestmark = pytest.mark.slow

NO_ROOM = """
    import resource
    import cutlass.cute as cute
    from kernels import scale, vector

    # A file may have no more than the beginning of a journal.
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, 150))
    cute.compile(scale, vector(), 2.0, options="--gpu-arch=sm_90a")
    raise SystemExit(3)
"""
WRITES_TO_1 = """
    import os
    import cutlass.cute as cute
    from kernels import scale, vector

    cute.compile(scale, vector(), 2.0, options="--gpu-arch=sm_90a")
    os.write(1, b"output")
"""


def watched(folder: Path, program: str, *, shell: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "kernels.py").write_text(textwrap.dedent(KERNELS))
    (folder / "program.py").write_text(textwrap.dedent(program))
    command = f"CUTE_DSL_ARCH=sm_90a {CUTECC} watch --no-reports -o out -- {sys.executable} program.py {shell}"
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_journal_that_has_no_room_is_told_of(tmp_path: Path) -> None:
    done = watched(tmp_path, NO_ROOM)
    assert done.returncode == 3
    assert "cutecc watch: recording failed: " in done.stderr
    assert "File too large" in done.stderr
    assert "compiled no kernel" not in done.stderr


def test_a_program_whose_standard_output_is_closed_does_not_write_into_the_journal(tmp_path: Path) -> None:
    """Alone it ends with an error: nothing is open under the number 1."""
    done = watched(tmp_path, WRITES_TO_1, shell=">&-")
    assert done.returncode == 1
    assert "Bad file descriptor" in done.stderr
    assert "1 kernel recorded" in done.stderr
    (journal,) = (tmp_path / "out" / "recorded").glob("*.jsonl")
    assert b"output" not in journal.read_bytes().splitlines()[-1]


@pytest.mark.parametrize("shell", [">/dev/full 2>/dev/full", ">&- 2>&-", "2>/dev/full"])
def test_where_nobody_hears_it_the_status_is_the_programs(tmp_path: Path, shell: str) -> None:
    assert watched(tmp_path, "raise SystemExit(3)", shell=shell).returncode == 3


@pytest.mark.parametrize("shell", [">/dev/full 2>/dev/full", ">&- 2>&-", "2>/dev/full", ">&-"])
def test_where_nobody_hears_it_an_error_has_its_status(tmp_path: Path, shell: str) -> None:
    done = subprocess.run(["sh", "-c", f"{CUTECC} compile missing.py {shell}"], cwd=tmp_path, timeout=100)
    assert done.returncode == 2
