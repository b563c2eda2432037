"""Python files that nobody means well with, through the commands that run one."""

from __future__ import annotations

from pathlib import Path

import pytest
from acceptable_ends import check, check_record
from chosen_pairs import Command, pairs
from limited_runs import run
from malformed_kernels import KERNEL_FILES, OF_RUNS, place
from real_inputs import RUN_SIZE

_INTO_RECORD = ["--target=sm_80", "-o", "record", "--quiet"]
_ENDS = [name for name in KERNEL_FILES if name.startswith(("exits", "raises", "header-no", "closes", "deep"))]
COMMANDS = {
    # What comes after tracing is as of any module.
    "compile": Command(["compile", "input.py", "--stop-after=cute-remove-static-args", *_INTO_RECORD], [*KERNEL_FILES]),
    "run": Command(["run", "input.py", "--device=cpu", RUN_SIZE, "--json"], OF_RUNS, 3),
    "check": Command(["check", "input.py", "--target=sm_80", "--only=check-access-width", "--json"], _ENDS, 6),
    "bisect": Command(["bisect", "input.py", "--pipeline=cse", "--target=sm_80", "-o", "steps", "--json"], _ENDS, 8),
    "reduce": Command(["reduce", "input.py", "--pipeline=cse", "--timeout=5", "-o", "out.mlir", "--json"], _ENDS, 8),
}


@pytest.mark.parametrize(("command", "name"), pairs(COMMANDS))
def test_a_kernel_gives_a_result_or_one_message(command: str, name: str, templates, tmp_path: Path) -> None:
    place(tmp_path, name)
    words = COMMANDS[command].line
    ok = check(run(words, tmp_path, templates), verdicts=command == "run", as_json="--json" in words)
    check_record(tmp_path / "record", written=ok and "record" in words)
