"""`cutecc profile -- PROGRAM` where nothing can be sampled: the program is as it would be alone."""

from __future__ import annotations

import sys

PROGRAM = """
import sys
import cuda.bindings.driver
print("ran", sys.argv[1])
sys.exit(3)
"""
NOTHING = "cutecc profile: no process of the program ran a kernel that could be sampled"


def test_a_program_runs_where_there_is_no_gpu(cutecc, tmp_path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    result = cutecc("profile", "--", sys.executable, "program.py", "7", status=3, cold=True)
    assert result.stdout == "ran 7\n"
    said = result.stderr.splitlines()
    assert "is not sampled: " in said[0] and said[-1] == NOTHING


def test_a_program_that_runs_no_kernels_is_left_alone(cutecc) -> None:
    result = cutecc("profile", "--", sys.executable, "-c", "print(1)", cold=True)
    assert (result.stdout, result.stderr) == ("1\n", f"{NOTHING}\n")


def test_a_python_that_reads_no_path_is_told(cutecc) -> None:
    result = cutecc("profile", "--", sys.executable, "-I", "-c", "print(1)", cold=True)
    assert "python -I does not read PYTHONPATH" in result.stderr


def test_wrong_command_lines(cutecc) -> None:
    assert "no program after --" in cutecc("profile", "--", status=2).stderr
    assert "cannot run no-such-program: No such file" in cutecc("profile", "--", "no-such-program", status=127).stderr
    assert "there is no file nothing" in cutecc("profile", "nothing", status=2).stderr


def test_options_of_a_kernel_are_refused_for_a_program(cutecc) -> None:
    refused = cutecc("profile", "--size", "M=8", "--device", "cuda:1", "--", sys.executable, "-c", "", status=2).stderr
    assert "--size, --device: for a kernel, and a program was given" in refused
