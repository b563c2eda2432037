"""Checks that bisecting and reducing ask: commands, and FileCheck files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cutecc.errors import UsageError
from cutecc.workbench.checks import CommandCheck
from cutecc.workbench.file_checks import FileCheck

MODULE = b"module {\n  func.func @f() {\n    return\n  }\n}\n"


def script(folder: Path, text: str) -> str:
    """A command that runs Python `text`."""
    file = folder / "check.py"
    file.write_text(f"import sys\n{text}\n")
    return f"{sys.executable} {file}"


@pytest.mark.parametrize(
    ("status", "verdict"), [(0, "passes"), (1, "fails"), (2, "fails"), (124, "fails"), (125, "unknown")]
)
def test_the_status_of_a_command_is_the_verdict(tmp_path: Path, status: int, verdict: str) -> None:
    check = CommandCheck.parse(script(tmp_path, f"print('so it is'); sys.exit({status})"))
    found = check(MODULE, ".mlir")
    assert found.verdict == verdict
    assert found.status == (status if verdict == "fails" else None)
    if verdict == "fails":
        assert found.text == "so it is"


def test_the_file_is_the_last_argument_or_stands_for_braces(tmp_path: Path) -> None:
    command = script(
        tmp_path,
        "name = sys.argv[1].removeprefix('--in=')\n"
        "assert name.endswith('.ptx')\nassert open(name, 'rb').read() == b'code'\nprint(*sys.argv[2:])\nsys.exit(3)",
    )
    assert CommandCheck.parse(command)(b"code", ".ptx").text == "status 3"
    assert CommandCheck.parse(f"{command} --in={{}} more")(b"code", ".ptx").text == "more"


def test_no_shell_runs_a_command(tmp_path: Path) -> None:
    command = script(tmp_path, "print(sys.argv[1:3]); sys.exit(1)")
    assert CommandCheck.parse(f"{command} '$HOME' ';'")(MODULE, ".mlir").text == "['$HOME', ';']"


def test_a_command_that_takes_too_long_cannot_tell(tmp_path: Path) -> None:
    found = CommandCheck.parse(script(tmp_path, "import time; time.sleep(60)"), seconds=0.2)(MODULE, ".mlir")
    assert (found.verdict, found.text) == ("unknown", "the check takes longer than 0.2 s")


LEAVING = """
import os, subprocess, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({marker!r}, "w").write(str(child.pid))
{then}
"""


@pytest.mark.slow
@pytest.mark.parametrize("then", ["time.sleep(600)", "print('done'); sys.exit(1)"])
def test_what_a_command_starts_ends_with_it(tmp_path: Path, then: str) -> None:
    marker = tmp_path / "pid"
    command = script(tmp_path, LEAVING.format(marker=str(marker), then=then))
    found = CommandCheck.parse(command, seconds=3)(MODULE, ".mlir")
    assert (found.verdict, found.line) in (("unknown", "the check takes longer than 3 s"), ("fails", "done"))
    assert_ended(int(marker.read_text()))


def test_what_a_command_starts_ends_with_the_process_that_asks(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    command = script(tmp_path, LEAVING.format(marker=str(marker), then="time.sleep(600)"))
    ask = f"from cutecc.workbench.checks import CommandCheck; CommandCheck.parse({command!r})(b'', '.mlir')"
    asking = subprocess.Popen([sys.executable, "-c", ask])
    until(lambda: marker.exists() and marker.read_text() != "")
    asking.kill()
    asking.wait()
    assert_ended(int(marker.read_text()))


def assert_ended(pid: int) -> None:
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text())


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_command_may_say_more_than_memory_holds(tmp_path: Path) -> None:
    command = script(tmp_path, "for _ in range(4000): print('x' * 16383)\nprint('the end'); sys.exit(1)")
    tracemalloc.start()
    found = CommandCheck.parse(command, message="the end$")(MODULE, ".mlir")
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    assert found.text.endswith("x\nthe end")


def test_what_it_says_can_be_part_of_the_failure(tmp_path: Path) -> None:
    command = script(tmp_path, "print('operand #1 is wrong', file=sys.stderr); sys.exit(1)")
    assert CommandCheck.parse(command, message=r"operand #\d is wrong")(MODULE, ".mlir").verdict == "fails"
    other = CommandCheck.parse(command, message="result")(MODULE, ".mlir")
    assert (other.verdict, other.text) == ("unknown", "it fails without saying 'result'")


def test_a_command_that_a_signal_ends_fails(tmp_path: Path) -> None:
    found = CommandCheck.parse(script(tmp_path, "import os; os.abort()"))(MODULE, ".mlir")
    assert (found.verdict, found.text, found.status) == ("fails", "ended by signal 6", -6)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "--check is empty"),
        ("no-such-program-at-all {}", "--check: there is no program 'no-such-program-at-all'"),
        ("grep 'x", "--check 'grep 'x': No closing quotation"),
    ],
)
def test_wrong_commands(command: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        CommandCheck.parse(command)
    assert caught.value.message == message


def test_a_command_within_the_command_that_is_not_there_is_no_failure_of_the_module(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ends with 127, as for a program that is not there"):
        CommandCheck.parse(script(tmp_path, "sys.exit(127)"))(MODULE, ".mlir")


def test_a_wrong_pattern() -> None:
    with pytest.raises(UsageError, match=r"--message '\(' is no regular expression"):
        CommandCheck.parse("true", message="(")


def checks(folder: Path, text: str) -> Path:
    path = folder / "checks.txt"
    path.write_text(text)
    return path


def test_filecheck(tmp_path: Path) -> None:
    path = checks(tmp_path, "// CHECK-LABEL: func.func @f\n// CHECK-NEXT: return\n// OTHER: func.func @g\n")
    assert FileCheck.read(path)(MODULE, ".mlir").verdict == "passes"
    other = FileCheck.read(path, ["OTHER"])(MODULE, ".mlir")
    assert other.verdict == "fails"
    assert other.line.startswith(f'{path}:3: error: Couldn\'t match "func.func @g"')
    assert "\x1b" not in other.text
    # The same object is asked again and again.
    check = FileCheck.read(path)
    assert [check(each, ".mlir").verdict for each in (MODULE, b"module {}", MODULE)] == ["passes", "fails", "passes"]


def test_checks_in_any_order_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = checks(tmp_path, "CHECK-DAG: return\nCHECK-DAG: func.func\nCHECK: }\n")
    assert FileCheck.read(path)(MODULE, ".mlir").verdict == "passes"
    other = MODULE.replace(b"return", b"unreachable")
    assert FileCheck.read(path)(other, ".mlir").verdict == "fails"
    assert capfd.readouterr() == ("", "")


def test_an_empty_text_fails_a_check_and_passes_a_negative_one(tmp_path: Path) -> None:
    assert FileCheck.read(checks(tmp_path, "// CHECK: x\n"))(b"", ".mlir").verdict == "fails"
    assert FileCheck.read(checks(tmp_path, "// CHECK-NOT: x\n"))(b"", ".mlir").verdict == "passes"


@pytest.mark.parametrize("first", ["CHECK-NOT: [[X:unreachable]]", "CHECK-LABEL: @[[X:f]]"])
def test_a_variable_is_known_only_behind_what_sets_it(tmp_path: Path, first: str) -> None:
    for use in ("CHECK: [[X]]", "CHECK-LABEL: [[X]]"):
        with pytest.raises(UsageError, match=r"checks\.txt:2: Variable X referenced before assignment"):
            FileCheck.read(checks(tmp_path, f"{first}\n{use}\n"))


def test_a_label_uses_no_variable(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"checks\.txt:2: Variable X referenced before assignment"):
        FileCheck.read(checks(tmp_path, "CHECK: @[[X:f]]\nCHECK-LABEL: [[X]]\n"))


def test_a_pattern_that_what_was_matched_makes_malformed_is_no_failure_of_the_module(tmp_path: Path) -> None:
    check = FileCheck.read(checks(tmp_path, "CHECK: @[[X:.]]\nCHECK: {{[g-}}[[X]]{{]}}\n"))
    with pytest.raises(UsageError, match=r"checks\.txt:2: Malformed regex expression: "):
        check(MODULE, ".mlir")


@pytest.mark.parametrize(("line", "verdict"), [("CHECK-NEXT: x", "fails"), ("CHECK-EMPTY:", "passes")])
def test_what_comes_behind_a_text_that_no_line_break_ends(tmp_path: Path, line: str, verdict: str) -> None:
    check = FileCheck.read(checks(tmp_path, f"CHECK: }}\n{line}\n"))
    assert check(b"module {}", ".mlir").verdict == check(b"module {}\n", ".mlir").verdict == verdict


def test_a_pattern_that_the_package_cannot_match_is_no_failure_of_the_module(tmp_path: Path) -> None:
    check = FileCheck.read(checks(tmp_path, "CHECK: {{(?:r)}}[[X:e]]\n"))
    with pytest.raises(UsageError, match=r"checks\.txt: the package filecheck cannot match it: IndexError"):
        check(MODULE, ".mlir")


def test_the_beginning_of_a_pattern_need_not_be_one(tmp_path: Path) -> None:
    check = FileCheck.read(checks(tmp_path, "CHECK: {{return[xy}}{{z]}}\n"))
    assert check(MODULE, ".mlir").verdict == "fails"


def test_wrong_check_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no lines with CHECK:"):
        FileCheck.read(checks(tmp_path, "// nothing\n"))
    for text, message in (
        ("CHECK: [[X:", ""),
        ("CHECK: {{(}}", "Malformed regex expression: "),
        ("CHECK: [[X]]\nCHECK: [[X:.*]]", "Variable X referenced before assignment"),
        ("CHECK: [[#X+1]]", ""),
        ("CHECK: {{[[:cntrl:]]}}", "Can't translate posix regex"),
        ("CHECK-NEXT: x", "CHECK-NEXT stands behind no other check"),
    ):
        with pytest.raises(UsageError, match=rf"checks\.txt:1: {message}"):
            FileCheck.read(checks(tmp_path, text))
    assert FileCheck.read(checks(tmp_path, "CHECK: @[[X:f]]\nCHECK-NOT: [[X]]{{[(]}}"))(MODULE, ".mlir").text == ""
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match="is not a plain file"):
            FileCheck.read(file)
    with pytest.raises(UsageError, match="cannot read"):
        FileCheck.read(tmp_path / "missing.txt")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot read"):
        FileCheck.read(tmp_path / "bytes")
