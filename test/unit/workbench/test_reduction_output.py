"""The file that holds the smallest module so far: what it holds at any time, and what becomes of an earlier one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import bench_reduce
import pytest
from conftest import CUTECC
from counting_oracle import FailsLate, Holds
from reduction_inputs import MODULE, SMALLEST, command_of, module_in

from cutecc.errors import Error, RecordError, UsageError
from cutecc.workbench.reduction.reducing import reduce
from cutecc.workbench.reduction.working import normalised

pytestmark = pytest.mark.slow

VARIES = '''
import os
from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes import register
from cutecc.passes.base import ModulePass


class Key:
    def __repr__(self):
        return f"<Key object at 0x{os.urandom(6).hex()}>"


@register
@dataclass(frozen=True)
class Varies(ModulePass):
    """Says where in memory an object is."""

    name: ClassVar[str] = "test-varies"

    def run(self, module):
        if "math.exp2" in str(module):
            raise KeyError(Key())
'''


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with the module."""
    (tmp_path / "m.mlir").write_text(MODULE)
    return tmp_path


def test_an_output_of_the_same_goes_on_and_any_other_is_refused(cutecc, inputs: Path) -> None:
    check = command_of(inputs, "sys.exit('exp2' in text)")
    cutecc("reduce", "m.mlir", "--check", check)
    text = (inputs / "m-reduced.mlir").read_text()
    done = cutecc("reduce", "m.mlir", "--check", check)
    assert done.stdout.startswith("m-reduced.mlir: went on: 18 lines to 6, ")
    assert (inputs / "m-reduced.mlir").read_text() == text
    # Another check, another input, and what no reduction has written.
    for arguments in (
        ["m.mlir", "--check", f"{check} --other {{}}"],
        ["n.mlir", "--check", check, "-o", "m-reduced.mlir"],
    ):
        (inputs / "n.mlir").write_text(MODULE.replace("40", "41"))
        done = cutecc("reduce", *arguments, status=2)
        assert done.stderr.startswith("error: m-reduced.mlir is there already, and not what this reduction came to\n")
        assert (inputs / "m-reduced.mlir").read_text() == text
    done = cutecc("reduce", "m.mlir", "--check", check, "-o", "m.mlir", status=2)
    assert "m.mlir is the module to reduce" in done.stderr
    assert (inputs / "m.mlir").read_text() == MODULE


def test_an_earlier_output_that_does_not_fail_is_said_to_be(inputs: Path) -> None:
    oracle, out = Holds((("math.exp2", 1),)), inputs / "out.mlir"
    reduce(MODULE.encode(), oracle, out)
    out.write_text(out.read_text().replace("math.exp2", "math.absf"))
    with pytest.raises(UsageError, match="which an earlier run came to, does not fail any more"):
        reduce(MODULE.encode(), oracle, out)


def test_an_output_that_cannot_be_written_is_one_message(cutecc, inputs: Path) -> None:
    check = command_of(inputs, "sys.exit('exp2' in text)")
    done = cutecc("reduce", "m.mlir", "--check", check, "-o", "no/such/folder/out.mlir", status=(1, 2))
    assert done.stderr.startswith("error: ") and "no/such/folder" in done.stderr
    (inputs / "folder").mkdir()
    done = cutecc("reduce", "m.mlir", "--check", check, "-o", "folder", status=2)
    assert done.stderr.startswith("error: ")


def test_an_output_that_is_no_plain_file_is_refused(cutecc, inputs: Path) -> None:
    check = command_of(inputs, "sys.exit('exp2' in text)")
    os.mkfifo(inputs / "fifo")
    for output in ("fifo", "/dev/zero", "/dev/null"):
        done = cutecc("reduce", "m.mlir", "--check", check, "-o", output, status=2)
        assert done.stderr == f"error: {output} is not a plain file\nhint: name another file with --output\n"


def test_a_message_that_is_another_in_each_run_does_not_keep_from_going_on(cutecc, inputs: Path) -> None:
    (inputs / "varies.py").write_text(VARIES)
    words = ["reduce", "m.mlir", "--pipeline=test-varies", "--load=varies.py", "--target=sm_80"]
    messages = set[str]()
    for begun in ("", "went on: "):
        first, second, *_ = cutecc(*words).stdout.splitlines()
        assert first.startswith(f"m-reduced.mlir: {begun}18 lines to 6, ")
        messages.add(second)
    assert len(messages) == 2
    # Another pass that fails with the same message.
    (inputs / "varies.py").write_text(VARIES.replace("test-varies", "test-other"))
    done = cutecc(*(word.replace("test-varies", "test-other") for word in words), status=2)
    assert "not what this reduction came to" in done.stderr


def test_a_full_disk_leaves_the_last_whole_module(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecc.workbench.reduction import output

    real, left = output.write_whole, iter(range(3))

    def write(path: Path, data: bytes, what: str) -> None:
        if next(left, None) is None:
            raise RecordError(f"cannot write {what} {path}: No space left on device")
        real(path, data, what)

    monkeypatch.setattr(output, "write_whole", write)
    oracle, out = Holds((("math.exp2", 1),)), inputs / "out.mlir"
    with pytest.raises(RecordError, match="No space left on device"):
        reduce(MODULE.encode(), oracle, out)
    text = module_in(out)
    assert len(text) < len(normalised(MODULE.encode(), False).text)
    assert oracle(text.encode(), None).verdict == "fails"
    monkeypatch.undo()
    assert reduce(MODULE.encode(), oracle, out).went_on
    assert module_in(out) == SMALLEST


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_a_module_that_fails_and_the_next_run_goes_on(end: int, cutecc, inputs: Path) -> None:
    (inputs / "m.mlir").write_text(bench_reduce.module(600))
    check = command_of(inputs, "import time; time.sleep(0.05); sys.exit('math.exp2' in text)")
    words = ["reduce", "m.mlir", "--check", check, "-j", "2"]
    process = subprocess.Popen([CUTECC, *words], cwd=inputs, stderr=subprocess.PIPE, text=True, start_new_session=True)
    out, sizes = inputs / "m-reduced.mlir", set[int]()
    for _ in range(3000):
        with contextlib.suppress(FileNotFoundError):
            sizes.add(out.stat().st_size)
        if len(sizes) > 3:
            break
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, end)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, -end)
    assert "Traceback" not in errors
    text = module_in(out)
    assert "math.exp2" in text
    assert normalised(text.encode(), False).text == text
    assert 6 < text.count("\n") < 650
    assert end == signal.SIGKILL or not list(inputs.glob(".*.partial"))
    done = cutecc(*words)
    assert "went on: " in done.stdout
    assert module_in(out) == SMALLEST


def test_a_termination_leaves_no_temporary_files(inputs: Path) -> None:
    check = command_of(inputs, "import time; open('asked', 'w'); time.sleep(0.2); sys.exit('exp2' in text)")
    (inputs / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(inputs / "temporary")}
    words = ["reduce", "m.mlir", "--check", check, "-j", "2"]
    process = subprocess.Popen([CUTECC, *words], cwd=inputs, env=environment, stderr=subprocess.PIPE, text=True)
    while not (inputs / "asked").exists():
        assert process.poll() is None
        time.sleep(0.01)
    assert list((inputs / "temporary").iterdir())
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + signal.SIGTERM, "")
    assert not list((inputs / "temporary").iterdir())


def test_a_timeout_leaves_what_there_is_whatever_is_being_asked(inputs: Path) -> None:
    oracle, out = FailsLate((("arith.mulf", 3),), lines=300), inputs / "out.mlir"
    module = bench_reduce.module(600).encode()
    found = reduce(module, oracle, out, seconds=4.0, jobs=2)
    assert not found.finished and found.seconds < 40
    assert found.result.operations < found.start.operations
    assert module_in(out) == found.result.text


def test_a_timeout_before_the_first_answer_is_an_error(inputs: Path) -> None:
    oracle, out = FailsLate((("math.exp2", 1),), lines=1000), inputs / "out.mlir"
    began = time.monotonic()
    with pytest.raises(Error, match="the time is up before it is known whether the module fails"):
        reduce(MODULE.encode(), oracle, out, seconds=1.0)
    assert time.monotonic() - began < 40
    assert not out.exists()
