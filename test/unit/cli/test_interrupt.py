"""Ctrl-C and kills in the middle of a compilation, after which the folder is readable and the next run takes over, and
in the middle of a run on the emulator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CUTECC, ROOT

import cutecc
from cutecc.ir.modules import fresh_context, parse
from cutecc.record import Parameter, Signature
from cutecc.record.folder import read_folder

pytestmark = pytest.mark.slow

# Long enough to be caught in the middle: about as many passes as there are milliseconds in a compilation.
ENDLESS = ",".join(["canonicalize,cse,symbol-dce"] * 3000)

# What a run with `--stop-after=cute-desugar` leaves, and nothing else.
FRESH = [
    *(".cutecc-files", ".cutecc-lock", "00-traced.mlir", "04-cute-desugar.mlir", "manifest.json"),
    "vector_copy-sm_80.stages",
]


@pytest.fixture
def running(small_kernel, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A compilation in the middle of its passes, in a process group of its own."""
    (tmp_path / "endless.pipeline").write_text(ENDLESS)
    process = subprocess.Popen(
        [
            CUTECC,
            "compile",
            small_kernel.module,
            "--target=sm_80",
            "--pipeline=endless.pipeline",
            "--dump-after=all",
            "-o",
            "out",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: any((tmp_path / "out").glob("0001-*.mlir")), process)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(condition, process: subprocess.Popen[str]) -> None:
    for _ in range(6000):
        if condition():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("it does not get there")


def members(group: int) -> set[int]:
    """The processes of a process group."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def wait_for_the_end_of(group: int) -> None:
    for _ in range(6000):
        if not members(group):
            return
        time.sleep(0.01)
    raise AssertionError(f"left behind: {members(group)}")


def check_dumps(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    assert names[:2] == ["0000-traced.mlir", "0001-canonicalize.mlir"]
    with fresh_context():
        for name in names:
            if name.endswith(".mlir"):
                parse((folder / name).read_bytes())


@pytest.mark.parametrize("how", ["group", "parent"])
def test_an_interrupt_keeps_what_is_there(running, cutecc, small_kernel, tmp_path: Path, how: str) -> None:
    """Ctrl-C in a terminal goes to the whole group; `kill -INT` to the one process. The next run starts clean."""
    if how == "group":
        os.killpg(running.pid, signal.SIGINT)
    else:
        running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "interrupted; what was written stays"
    assert "Traceback" not in err
    record = read_folder(tmp_path / "out")
    assert record.status == "interrupted"
    assert record.steps[0].name == "canonicalize"
    assert record.steps[0].dump == "0001-canonicalize.mlir"
    assert record.traced == "0000-traced.mlir"
    check_dumps(tmp_path / "out")
    wait_for_the_end_of(running.pid)
    cutecc("compile", small_kernel.module, "--target=sm_80", "--stop-after=cute-desugar", "-o", "out")
    assert sorted(os.listdir(tmp_path / "out")) == FRESH
    assert read_folder(tmp_path / "out").status == "stopped"


@pytest.mark.parametrize("victims", ["group", "parent"])
def test_a_kill_keeps_a_readable_folder_and_the_next_run_cleans_it(
    running, cutecc, small_kernel, tmp_path: Path, victims: str
) -> None:
    if victims == "group":
        os.killpg(running.pid, signal.SIGKILL)
    else:
        running.kill()
    running.communicate(timeout=120)
    # Without its parent the worker ends at its next event, and the printer when it has printed what it was given.
    wait_for_the_end_of(running.pid)
    # Left alone, the worker finds that nobody listens, and may still say so.
    assert read_folder(tmp_path / "out").status in (("running",) if victims == "group" else ("running", "failed"))
    check_dumps(tmp_path / "out")
    cutecc("compile", small_kernel.module, "--target=sm_80", "--stop-after=cute-desugar", "-o", "out")
    assert sorted(os.listdir(tmp_path / "out")) == FRESH


def test_a_worker_that_is_killed_is_an_error_that_names_the_pass(running, tmp_path: Path) -> None:
    """As when the machine runs out of memory."""
    children = [
        pid for pid in members(running.pid) if Path(f"/proc/{pid}/stat").read_text().split()[3] == str(running.pid)
    ]
    (worker,) = children
    os.kill(worker, signal.SIGKILL)
    _, err = running.communicate(timeout=300)
    assert running.returncode == 1
    assert "SIGKILL" in err
    assert "Traceback" not in err
    record = read_folder(tmp_path / "out")
    assert record.status in ("failed", "running")
    if "error: pass " in err:
        assert record.status == "failed"
        assert record.failure is not None
        assert record.steps[-1].status == "failed"
    check_dumps(tmp_path / "out")


def test_an_interrupt_while_tracing(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    process = subprocess.Popen(
        [CUTECC, "compile", "slow.py:f", "--target=sm_80"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "here\n", "what a kernel's file prints goes to standard error"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    wait_for_the_end_of(process.pid)


@pytest.mark.parametrize("how", ["group", "parent"])
def test_an_interrupt_while_processes_emulate(traced_kernels: dict[str, Any], tmp_path: Path, how: str) -> None:
    """A bundle, and without a reference: all other processes are the emulator's."""
    signature = Signature("add", [Parameter(name, "f32[?M=4096,?N{div=4}=4096] align=16") for name in "abc"])
    module = traced_kernels["elementwise_add"].bytecode
    cutecc.compile_module(module, target="sm_90a", name="add", signature=signature).save(tmp_path / "add.cutecc")
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [CUTECC, "run", "add.cutecc", "--device", "cpu", "--processes", "2", "--save", "c.npz"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: len(members(process.pid)) > 2, process)
    (os.killpg if how == "group" else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "interrupted; what was written stays"
    wait_for_the_end_of(process.pid)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "add.cutecc", tmp_path / "tmp"]


@pytest.mark.parametrize(
    "body",
    [
        # As of a dataclass that is made: Python would end by the signal after all.
        "exec('import os; os.kill(os.getpid(), 2)')",
        # As of a descriptor that gets its name.
        "try: os.kill(os.getpid(), 2)\n    except KeyboardInterrupt: raise RuntimeError from None",
    ],
)
def test_an_interrupt_that_python_takes_for_something_else(tmp_path: Path, body: str) -> None:
    code = f"""
import os
import cutecc.cli.main
from cutecc.__main__ import main


def command(*arguments, **options):
    {body}


cutecc.cli.main.cutecc.main = command
main()
"""
    (tmp_path / "interrupted.py").write_text(code)
    command = [sys.executable, "-m", "interrupted"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (130, "interrupted; what was written stays\n")
