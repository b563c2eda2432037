"""`cutecc compile`: what it prints, where, and how it looks at several widths."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from conftest import CUTECC
from terminals import on_a_terminal

from cutecc.record import manifest

pytestmark = pytest.mark.slow

ESCAPE = "\x1b["


@pytest.fixture
def arguments(small_kernel) -> list[object]:
    return ["compile", small_kernel.module, "--target=sm_80", "-o", "out"]


@pytest.fixture
def quick(arguments) -> list[object]:
    """What ends after half of the passes."""
    return [*arguments, "--stop-after=cse#1"]


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_says_nothing(cutecc, quick, flag: str) -> None:
    done = cutecc(*quick, flag)
    assert done.stdout == done.stderr == ""


def test_quiet_still_says_errors(cutecc) -> None:
    done = cutecc("compile", "missing.mlir", "--target=sm_80", "-q", status=2)
    assert done.stdout == ""
    assert done.stderr == "error: cannot read missing.mlir: No such file or directory\n"


@pytest.mark.parametrize("columns", [80, 200])
def test_the_tables(cutecc, arguments, tmp_path: Path, columns: int) -> None:
    lines = cutecc(*arguments, "-v", env={"COLUMNS": str(columns)}).stdout.splitlines()
    assert all(len(line) <= columns for line in lines if not line.startswith("wrote "))
    assert re.fullmatch(r"vector_copy-sm_80 for sm_80: \d+ passes, \d+ changed the IR, \d+\.\d\d s", lines[0])
    assert re.fullmatch(r" *# +pass +ms +changed +operations by dialect *", lines[1])
    assert re.match(r" *0 +traced +cute \d+  arith \d+", lines[3])
    rows = [line for line in lines if re.match(r" {0,2}\d+ +\S", line)]
    assert re.fullmatch(r" *1 +cute-remove-static-args +\d+\.\d +● yes +cute \d+→\d+ *", rows[1])
    text = " ".join(" ".join(lines).split())
    assert "● yes" in text
    assert "· no" in text
    # Every pass has its row, and passes of ours say so.
    assert [int(row.split()[0]) for row in rows] == list(range(len(rows)))
    # On a narrow terminal in the next line.
    assert re.search(r" 19 arith-expand [^(]*\(reimplementation\)", text)
    (heading,) = [line for line in lines if line.startswith("kernel ")]
    assert heading.split() == ["kernel", "registers", "spills", "stack", "shared", "constant", "occupancy"]
    assert re.search(r"copy_kernel +\d+ +0 B +0 B +0\+0 B +\d+ B +\d+% \(\d+ × 128 ", text)
    files = [f"vector_copy-sm_80.{suffix}" for suffix in ("ll", "ptx", "cubin", "sass", "host.json")]
    assert text.endswith(f"wrote out/: {', '.join(files)}, manifest.json")
    if columns == 200:
        check_what_the_manifest_says(lines, tmp_path / "out")


def check_what_the_manifest_says(lines: list[str], folder: Path) -> None:
    """The tables' rows have its numbers."""
    body = json.loads((folder / "manifest.json").read_text())
    for step in body["steps"]:
        (row,) = [line for line in lines if re.match(rf" *{step['index']} +{re.escape(step['name'])}\b", line)]
        assert ("● yes" in row) == step["changed"]
        assert f"{step['seconds'] * 1e3:.1f}" in row
        before, after = step["operations_before"], step["operations_after"]
        for dialect in {*before, *after}:
            change = f"{dialect} {before.get(dialect, 0)}→{after.get(dialect, 0)}"
            assert (change in row) == (before.get(dialect, 0) != after.get(dialect, 0)), row


def test_pipes_get_no_colour_and_terminals_do(cutecc, quick) -> None:
    assert ESCAPE not in cutecc(*quick, "-v").stdout
    assert ESCAPE in cutecc(*quick, "-v", env={"FORCE_COLOR": "1"}).stdout


def test_json_is_the_manifest_alone(cutecc, arguments, tmp_path: Path) -> None:
    done = cutecc(*arguments, "--json", "-v", "--timing")
    body = json.loads(done.stdout)
    assert done.stderr == ""
    assert body == json.loads((tmp_path / "out" / "manifest.json").read_text())
    jsonschema.validate(body, manifest.json_schema())


def test_timing_is_longest_first_and_adds_up(cutecc, arguments) -> None:
    lines = cutecc(*arguments, "--timing").stdout.splitlines()
    rows = [match.groups() for line in lines if (match := re.match(r"(\S.*?) +(\d+\.\d) +(\d+\.\d)% *$", line))]
    names = [name for name, _, _ in rows]
    assert names[-1] == "total"
    assert {"cuda-to-binary", "(parse)", "(artifacts)", "(observing passes)"} <= set(names)
    times = [float(milliseconds) for _, milliseconds, _ in rows[:-1]]
    assert times == sorted(times, reverse=True)
    assert abs(sum(times) - float(rows[-1][1])) < 0.06 * len(rows), "rounding aside"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_of_passes_breaks_no_words(cutecc, arguments, width: int) -> None:
    """Names of passes at hyphens alone, what stands in brackets nowhere, and a dialect stays beside its numbers."""
    lines = cutecc(*arguments, "--verbose", env={"COLUMNS": str(width)}).stdout.splitlines()
    start = next(index for index, line in enumerate(lines) if "ms   changed" in line)
    end = next(index for index, line in enumerate(lines) if line.startswith("kernel "))
    table = lines[start + 2 : end]
    assert max(map(len, table)) <= width
    assert sum("(reimplementation)" in line for line in table) >= 7
    assert not [line for line in table if re.search(r"\([\w-]*$|^ *[\w-]*\)$", line)]
    for line in table:
        changes = re.sub(r"^.*(● yes|· no|traced)", "", line)
        assert re.fullmatch(r"( *\(?[\w-]+\)?)*( +\w+ \d+(→\d+)?)*", changes), line


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo terminals as Linux has them")
def test_a_terminal_gets_progress_tables_and_colour(command: Path, arguments, tmp_path: Path) -> None:
    status, shown = on_a_terminal(command, arguments, tmp_path)
    assert status == 0
    assert "operations by dialect" in shown
    assert "copy_kernel" in shown
    assert "━" in shown, "the progress bar"
    assert "\x1b[32m" in shown, "green for passes that changed the IR"
    # Passes that changed nothing stand together, as nobody asked for all.
    assert re.search(r"\d+-\d+ +\d+ passes", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown))


def test_a_terminal_without_colour(command: Path, quick, tmp_path: Path) -> None:
    status, shown = on_a_terminal(command, quick, tmp_path, NO_COLOR="1")
    assert status == 0
    assert "operations by dialect" in shown
    assert not re.search(r"\x1b\[(3|9)\d", shown)


def test_a_terminal_and_quiet(command: Path, quick, tmp_path: Path) -> None:
    assert on_a_terminal(command, [*quick, "-q"], tmp_path) == (0, "")


def test_progress_never_goes_into_a_pipe(cutecc, quick) -> None:
    done = cutecc(*quick)
    assert done.stdout == "out\n"
    assert done.stderr == ""


def test_a_reader_that_leaves_early_is_no_error(arguments, tmp_path: Path) -> None:
    command = f"{CUTECC} passes | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0
    assert done.stderr == ""


def test_warnings_of_the_trace_are_shown_where_they_belong(cutecc, tmp_path: Path) -> None:
    kernel = tmp_path / "noisy.py"
    kernel.write_text(
        "import warnings\n"
        "from cutlass import cute\n"
        "@cute.kernel\n"
        "def kernel(a: cute.Tensor):\n"
        "    a[0] = a[1]\n"
        "@cute.jit\n"
        "def launch(a: cute.Tensor):\n"
        "    warnings.warn('look here')\n"
        "    kernel(a).launch(grid=[1, 1, 1], block=[1, 1, 1])\n"
    )
    run = ("compile", "noisy.py", "--arg", "a=f32[?]", "--target=sm_80", "--stop-after=cse#1")
    done = cutecc(*run)
    assert re.search(r"noisy\.py:8(:\d+)?: warning: look here", done.stderr)
    assert done.stdout == "cutecc-out/launch-sm_80\n"
    assert cutecc(*run, "-q").stderr == ""


def test_help_shows_an_example_for_every_command(cutecc) -> None:
    top = cutecc("--help").stdout
    commands = re.findall(r"^  ([a-z]+) +[A-Z]", top.partition("Commands:")[2], re.MULTILINE)
    assert {"compile", "opt", "passes", "pipelines", "parity"} <= set(commands)
    for command in commands:
        text = cutecc(command, "--help").stdout
        assert re.search(rf"Examples?:\s+cutecc {command}", text), command
    assert cutecc(commands[0], "-h").stdout == cutecc(commands[0], "--help").stdout


def test_version(cutecc) -> None:
    import cutecc as package
    from cutecc.ir.version import installed_wheel

    lines = cutecc("--version").stdout.splitlines()
    assert lines == [f"cutecc, version {package.__version__}", f"nvidia-cutlass-dsl, version {installed_wheel()}"]


def test_a_command_that_is_not_there(cutecc) -> None:
    done = cutecc("complie", status=2)
    assert "no command 'complie'; did you mean 'compile'?" in done.stderr
    assert "No such command" in cutecc("frobnicate", status=2).stderr
