"""`cutecc compile` of several kernels: a folder each, results in order, failures that stay alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import CUTECC

from cutecc.record.folder import read_folder

pytestmark = pytest.mark.slow

QUICK = ("--target=sm_80", "--stop-after=cse#1")

KERNEL = """
from cutlass import cute

@cute.kernel
def kernel(x: cute.Tensor):
    x[0] = x[1]

@cute.jit
def launch(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[1, 1, 1])
"""


@pytest.fixture
def folder(tmp_path: Path, small_kernel) -> Path:
    """Two modules, a kernel in Python, a file that fails when it is run, and one that aborts."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.mlirbc").write_bytes(small_kernel.bytecode)
    (tmp_path / "kernel.py").write_text(f"# cutecc: args.x = 'f32[?]'\n{KERNEL}")
    (tmp_path / "fails.py").write_text("raise ValueError('no luck')\n")
    (tmp_path / "aborts.py").write_text("import os\nos.abort()\n")
    return tmp_path


def test_each_has_its_folder_in_the_order_of_the_command_line(cutecc, folder: Path) -> None:
    done = cutecc("compile", "two.mlirbc", "kernel.py", "kernel.py:launch", "one.mlirbc", *QUICK, "-j3", "-o", "out")
    names = ["two-sm_80", "kernel-sm_80", "kernel-launch-sm_80", "one-sm_80"]
    assert done.stdout.splitlines() == [f"out/{name}" for name in names]
    assert done.stderr == ""
    assert [read_folder(folder / "out" / name).name for name in names] == ["two", "launch", "launch", "one"]
    assert all(read_folder(folder / "out" / name).status == "stopped" for name in names)


def test_several_kernels_for_several_targets(cutecc, folder: Path) -> None:
    done = cutecc("compile", "two.mlirbc", "one.mlirbc", "--target=sm_90a,sm_80", "--stop-after=cse#1", "--json")
    bodies = json.loads(done.stdout)
    places = [f"{name}-{target}" for name in ("two", "one") for target in ("sm_90a", "sm_80")]
    assert [f"{body['name']}-{body['target']}" for body in bodies] == places
    assert sorted(path.name for path in (folder / "cutecc-out").iterdir()) == sorted(places)


def test_one_that_fails_leaves_the_others_alone(cutecc, folder: Path) -> None:
    run = ("compile", "aborts.py:f", "one.mlirbc", "missing.mlir", "fails.py:f", "two.mlirbc", *QUICK, "-o", "out")
    done = cutecc(*run, "--json", status=1)
    assert [body["source"] for body in json.loads(done.stdout)] == ["one.mlirbc", "two.mlirbc"]
    told = ("tracing aborts.py aborted", "missing.mlir", "ValueError: no luck", "3 of 5 failed")
    places = [done.stderr.index(text) for text in told]
    assert places == sorted(places), "in the order of the command line"
    assert done.stderr.count("error: ") == 3
    assert "note: compiling fails.py:f" in done.stderr
    assert read_folder(folder / "out" / "fails-f-sm_80").status == "failed"
    assert read_folder(folder / "out" / "two-sm_80").status == "stopped"


def test_when_every_request_is_wrong(cutecc, folder: Path) -> None:
    done = cutecc("compile", "missing.mlir", "gone.mlir", *QUICK, "--json", status=2)
    assert done.stderr.count("error: ") == 2
    assert json.loads(done.stdout) == []
    done = cutecc("compile", "one.mlirbc", "two.mlirbc", "--target=sm_80", "--without=nothing-like-it", status=2)
    assert done.stderr.count("error: ") == 2, "the same error of two kernels is told for each"
    assert "note: compiling two.mlirbc" in done.stderr


@pytest.mark.parametrize("second", ["one.mlirbc", "below/one.mlirbc"])
def test_two_for_one_folder_are_refused_before_anything_runs(cutecc, folder: Path, second: str) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "one.mlirbc").write_bytes((folder / "one.mlirbc").read_bytes())
    done = cutecc("compile", "two.mlirbc", "one.mlirbc", second, *QUICK, status=2)
    assert f"one.mlirbc and {second} would both be written to cutecc-out/one-sm_80" in done.stderr
    assert not (folder / "cutecc-out").exists()


def test_a_folder_that_holds_another_input_is_refused(cutecc, folder: Path) -> None:
    cutecc("compile", "one.mlirbc", *QUICK, "--dump-after=cse#1", "-o", "out/two-sm_80")
    dump = folder / "out" / "two-sm_80" / "14-cse.mlir"
    done = cutecc("compile", dump, "two.mlirbc", "--target=sm_80", "-o", "out", status=2)
    assert "the output folder out/two-sm_80 holds the input" in done.stderr
    assert dump.exists()


def test_a_bundle_is_for_one_kernel(cutecc, folder: Path) -> None:
    done = cutecc("compile", "one.mlirbc", "two.mlirbc", "--target=sm_80", "--bundle", "k.cutecc", status=2)
    assert done.stderr.startswith("error: a bundle holds one kernel\n")


def test_jobs_are_a_number(cutecc, folder: Path) -> None:
    assert "0 is not in the range" in cutecc("compile", "one.mlirbc", "-j0", status=2).stderr


def test_the_bar_and_the_summary_on_a_terminal(command: Path, folder: Path) -> None:
    script = textwrap.dedent("""
        import os, pty, sys
        status = pty.spawn(sys.argv[1:])
        sys.exit(os.waitstatus_to_exitcode(status))
    """)
    run = ("compile", "two.mlirbc", "fails.py:f", "one.mlirbc", *QUICK)
    done = subprocess.run(
        [sys.executable, "-c", script, command, *run],
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=100,
    )
    assert done.returncode == 1
    assert "3/3" in done.stdout
    assert "two.mlirbc sm_80" in done.stdout
    places = [done.stdout.index(text) for text in ("cutecc-out/two-sm_80/", "cutecc-out/one-sm_80/")]
    assert places == sorted(places)
    assert "operations by dialect" not in done.stdout, "of several kernels, tables of passes are for -v"
    assert "1 of 3 failed" in done.stdout


def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    """Those that run, and those that have not begun."""
    for number in range(4):
        (tmp_path / f"slow{number}.py").write_text(
            f"import time\nopen('began{number}', 'w')\nprint('here\\n', end='', flush=True)\ntime.sleep(600)\n"
        )
    process = subprocess.Popen(
        [CUTECC, "compile", *(f"slow{number}.py:f" for number in range(4)), "--target=sm_80", "-j2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = [process.stderr.readline() for _ in range(2)]
    assert said == ["here\n"] * 2, said
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "interrupted; what was written stays"
    time.sleep(0.1)
    assert sorted(path.name for path in tmp_path.glob("began*")) == ["began0", "began1"]
