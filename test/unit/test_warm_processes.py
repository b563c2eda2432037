"""A command whose imports are done says and does what one that starts anew does."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from conftest import EXAMPLES, Run
from warm_client import WarmProcess
from warm_processes import Templates, same_start

pytestmark = pytest.mark.slow

ADD = EXAMPLES / "elementwise_add.py"


@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        (0, ["compile", ADD, "--dump-after=cse", "--stop-after=cse#2"]),
        (0, ["check", ADD, "--only=check-access-width"]),
        (0, ["opt", "module.mlir", "--pipeline=cse,canonicalize", "--verify-each"]),
        (1, ["opt", "module.mlir", "--load=aborts.py", "--pipeline=aborts"]),
        (1, ["compile", "wrong.py", "--target=sm_80"]),
        (2, ["compile", "missing.py"]),
        (2, ["passes", "no-such-pass"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_both_do_the_same(cutecc: Run, tmp_path: Path, status: int, arguments: list[object]) -> None:
    (tmp_path / "module.mlir").write_text("func.func @f(%a: i32) { return }\n")
    (tmp_path / "wrong.py").write_text("import os\nprint(os.environ['HOME'])\nraise ValueError(__name__)\n")
    (tmp_path / "aborts.py").write_text(
        "import os\nfrom dataclasses import dataclass\nimport cutecc\n\n\n"
        "@cutecc.register\n@dataclass(frozen=True)\nclass Aborts(cutecc.passes.ModulePass):\n"
        "    name = 'aborts'\n\n    def run(self, module):\n        os.abort()\n"
    )
    warm, cold = (cutecc(*arguments, status=status, cold=cold) for cold in (False, True))
    assert warm.stdout == cold.stdout
    # A reproducer's folder has a random name.
    names = re.compile(r"/cutecc-\w+/")
    assert names.sub("/", warm.stderr) == names.sub("/", cold.stderr)


def test_what_an_interpreter_reads_at_its_start_asks_for_one() -> None:
    assert same_start({"HOME": "/a", "PYTHONPATH": "/b"}, {"PYTHONPATH": "/b", "COLUMNS": "80"})
    assert not same_start({"PYTHONPATH": "/b"}, {})
    assert not same_start({}, {"CUTE_DSL_LINEINFO": "1"})


@pytest.fixture
def waiting(templates: Templates) -> WarmProcess:
    """A process that does nothing, without an end."""
    with open(os.devnull, "r+b") as nothing:
        streams = [nothing.fileno()] * 3
        return WarmProcess(templates.address("command"), "signal:pause", ["-"], streams=streams, environment=os.environ)


def test_a_process_that_is_killed_has_the_status_of_one(waiting: WarmProcess) -> None:
    waiting.kill()
    assert waiting.wait(timeout=60) == -signal.SIGKILL


def test_a_process_ends_with_whoever_asked_for_it(waiting: WarmProcess) -> None:
    waiting.leave()
    deadline = time.monotonic() + 60
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(waiting.pid, 0)
            time.sleep(0.01)
