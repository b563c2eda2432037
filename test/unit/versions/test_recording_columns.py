"""Compiling a column in a process of its own: what it is called with, and what comes of those that fail or die."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cutecc.errors import UsageError
from cutecc.record import Compilation, Failure, Versions
from cutecc.record.folder import RecordFolder
from cutecc.versions.checkouts import Tree, working_tree
from cutecc.versions.columns import Column
from cutecc.versions.recording import Asked, Recorded, interpreter, record

_PROGRAM = """#!{python} -SI
import json, os, pathlib, shutil, signal, sys
words = sys.argv[1:]
output = words[words.index("--output") + 1]
said = {{"words": words, "folder": os.getcwd(), "path": os.environ["PYTHONPATH"].split(os.pathsep)}}
said["cutecc"] = os.path.realpath(said["path"][0] + "/cutecc")
pathlib.Path({log!r}).write_text(json.dumps(said))
prepared = pathlib.Path({prepared!r})
{script}
"""


class Interpreter:
    """A program that stands for Python in an environment, and for the cutecc that it starts."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "python"
        self.output = folder / "output"
        self._log = folder / "log"
        self._prepared = folder / "prepared"

    def does(self, script: str = "shutil.copytree(prepared, output)") -> None:
        self.program.write_text(
            _PROGRAM.format(python=sys.executable, log=str(self._log), prepared=str(self._prepared), script=script)
        )
        self.program.chmod(0o755)

    def prepare(self, place: str = "", **fields: Any) -> None:
        """A record that it writes, in this folder below the output."""
        folder = RecordFolder(self._prepared / place)
        fields = {"name": "k", "target": "sm_80", **fields}
        folder.save(Compilation(pipeline="cse", versions=Versions("0", "3", "4", "own"), **fields))
        folder.close()

    def write(self, name: str, text: str) -> None:
        self._prepared.mkdir(exist_ok=True)
        (self._prepared / name).write_text(text)

    @property
    def said(self) -> dict[str, Any]:
        return json.loads(self._log.read_text())

    def record(self, asked: Asked | None = None, tree: Tree | None = None, **column: Any) -> Recorded:
        asked = asked or Asked(("k.py",))
        tree = tree or working_tree(asked.kernels)
        return record(Column("mine", **column), asked, tree, self.program, self.output, jobs=3)


@pytest.fixture
def python(tmp_path: Path) -> Interpreter:
    python = Interpreter(tmp_path)
    python.does()
    return python


WATCH = Asked(program=("python", "train.py", "--size", "3"))


# what it is called with


def test_the_command_and_where_it_starts(python: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/one:/two")
    python.prepare(status="ok")
    tree = Tree(("k.py", "-l.py:f"), tmp_path, (tmp_path / "src",))
    python.record(Asked(("ignored",), "sm_80,sm_90a", ("--arg", "x=f32")), tree, options=("--opt-level", "1"))
    words, output = python.said["words"], str(python.output)
    assert words[:4] == ["-P", "-m", "cutecc", "compile"]
    assert " ".join(words[4:]) == (
        f"--quiet --output {output} --jobs 3 --target sm_80,sm_90a --dump-after=all --line-info "
        "--arg x=f32 --opt-level 1 -- k.py -l.py:f"
    )
    assert python.said["folder"] == str(tmp_path)
    packages, *others = python.said["path"]
    assert others == [str(tmp_path / "src"), "/one", "/two"]
    assert not os.path.exists(packages)
    import cutecc

    assert python.said["cutecc"] == os.path.dirname(cutecc.__file__)


@pytest.mark.parametrize("first", ["python", "python3"])
def test_a_program_is_run_by_the_columns_python(python: Interpreter, first: str) -> None:
    python.record(Asked(targets="sm_90a", program=(first, "train.py", "python")))
    assert python.said["words"][3:] == [
        *["watch", "--lines", "--quiet", "--output", str(python.output), "--jobs", "3", "--target", "sm_90a"],
        *["--", str(python.program), "train.py", "python"],
    ]


def test_a_program_that_is_no_python_is_as_it_is(python: Interpreter) -> None:
    python.record(Asked(program=("./serve", "python")))
    assert python.said["words"][-3:] == ["--", "./serve", "python"]


def test_a_program_takes_no_options(python: Interpreter) -> None:
    with pytest.raises(UsageError, match="--across 'mine': options are for kernel files, not for a program"):
        python.record(WATCH, options=("--opt-level", "1"))


def test_the_interpreter_of_a_column() -> None:
    assert interpreter(Column("x")) == Path(sys.executable)
    assert interpreter(Column("x", python=Path("/venv/bin/python"))) == Path("/venv/bin/python")


# what comes of it


def test_a_single_kernel_is_known_by_its_target(python: Interpreter) -> None:
    python.prepare(status="ok")
    found = python.record()
    assert found.failure is None
    assert {key: each.name for key, each in found.records.items()} == {"sm_80": "k"}


def test_one_target_or_several_a_kernel_has_the_same_key(python: Interpreter) -> None:
    python.prepare("sm_80", status="ok")
    python.prepare("sm_90a", status="ok", target="sm_90a")
    assert {*python.record().records} == {"sm_80", "sm_90a"}


def test_several_kernels_are_known_by_file_function_and_target(python: Interpreter) -> None:
    python.prepare("a-sm_80", status="ok")
    python.prepare("b-f-sm_80", status="ok")
    assert [*python.record(Asked(("a.py", "b.py:f"))).records] == ["a-sm_80", "b-f-sm_80"]


@pytest.mark.parametrize("place", ["", "sm_80"])
def test_what_a_revision_alone_has_of_several_is_known_by_the_same(python: Interpreter, place: str) -> None:
    python.prepare(place, status="ok")
    tree = Tree(("b.py:f",), Path.cwd())
    assert [*python.record(Asked(("a.py", "b.py:f")), tree).records] == ["b-f-sm_80"]


def test_kernels_that_fail_are_records_too(python: Interpreter) -> None:
    python.prepare("a-sm_80", status="failed", failure=Failure("cse", "no", "PassError"))
    python.prepare("b-sm_80", status="ok")
    python.does("shutil.copytree(prepared, output); print('error: no', file=sys.stderr); sys.exit(1)")
    found = python.record(Asked(("a.py", "b.py")))
    assert found.failure is None
    assert {key: each.status for key, each in found.records.items()} == {"a-sm_80": "failed", "b-sm_80": "ok"}


@pytest.mark.parametrize(
    "script, failure",
    [
        ("print('one\\ntwo\\nthree\\nfour', file=sys.stderr); sys.exit(1)", "it compiles no kernel\ntwo\nthree\nfour"),
        ("print('k.py:3:1: error: no\\n  line\\nhint: x', file=sys.stderr); sys.exit(1)", "k.py:3:1: error: no"),
        ("print('x\\nerror: no\\ny', file=sys.stderr); sys.exit(1)", "it compiles no kernel\nno"),
        ("print('\\x1b[31mred', file=sys.stderr)", "it compiles no kernel\n\\x1b[31mred"),
        ("sys.stderr.buffer.write(b'\\xff\\n')", "it compiles no kernel\n\N{REPLACEMENT CHARACTER}"),
        ("", "it compiles no kernel"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process ended with SIGKILL"),
        ("print('Fatal', file=sys.stderr, flush=True); os.abort()", "the process ended with SIGABRT\nFatal"),
    ],
)
def test_columns_without_kernels_say_why(python: Interpreter, script: str, failure: str) -> None:
    python.does(script)
    found = python.record()
    assert found.records == {}
    assert (found.failure or "").endswith(failure)


def test_a_column_that_dies_keeps_what_it_has(python: Interpreter) -> None:
    python.prepare("a-sm_80", status="ok")
    python.does("shutil.copytree(prepared, output); os.kill(os.getpid(), signal.SIGSEGV)")
    found = python.record(Asked(("a.py", "b.py")))
    assert [*found.records] == ["a-sm_80"]
    assert found.failure == "the process ended with SIGSEGV"


def test_files_that_leave_no_record_are_not_forgotten(python: Interpreter) -> None:
    python.prepare("a-sm_80", status="ok")
    python.prepare("b-sm_80", status="failed", failure=Failure("cse", "no", "PassError"))
    said = "error: there is no file c.py\nb.py:1:1: error: no\nnote: x: error: no\n2 of 3 failed"
    python.does(f"shutil.copytree(prepared, output); print({said!r}, file=sys.stderr); sys.exit(1)")
    found = python.record(Asked(("a.py", "b.py", "c.py")))
    assert [*found.records] == ["a-sm_80", "b-sm_80"]
    assert found.failure == "not all kernels were compiled\nthere is no file c.py\nb.py:1:1: error: no"


def test_a_damaged_record_is_a_failure_of_the_column(python: Interpreter) -> None:
    python.write("manifest.json", "{")
    found = python.record()
    assert found.records == {}
    assert "manifest.json" in (found.failure or "")


@pytest.mark.parametrize(
    "said, message, hints",
    [
        (
            "error: unknown target 'sm_123'\nhint: did you mean sm_121?",
            "unknown target 'sm_123'",
            ["did you mean sm_121?"],
        ),
        ("Usage: x\nTry y\n\nError: No such option '--oops'.", "No such option '--oops'.", []),
        ("nothing of the sort", "nothing of the sort", []),
    ],
)
def test_what_compile_does_not_take_is_an_error(python: Interpreter, said: str, message: str, hints: list[str]) -> None:
    python.does(f"print({said!r}, file=sys.stderr); sys.exit(2)")
    with pytest.raises(UsageError) as caught:
        python.record(options=("--oops",))
    assert caught.value.message == f"--across 'mine': {message}"
    assert caught.value.hints == hints


def test_what_is_of_all_columns_is_not_said_to_be_of_one(python: Interpreter) -> None:
    python.does("print('error: there is no file k.py', file=sys.stderr); sys.exit(2)")
    with pytest.raises(UsageError) as caught:
        python.record()
    assert caught.value.message == "there is no file k.py"


def test_an_interpreter_that_does_not_start(tmp_path: Path) -> None:
    python = Interpreter(tmp_path)
    with pytest.raises(UsageError, match="python cannot be started: No such file or directory"):
        python.record()


# programs


def index(*kernels: tuple[str, str, str | None], status: int = 0) -> str:
    entries = [{"name": name, "target": target, "record": place} for name, target, place in kernels]
    return json.dumps({"program": {"status": status, "ended": f"status {status}"}, "kernels": entries})


def test_what_a_program_compiles_is_known_by_name_target_and_order(python: Interpreter) -> None:
    for number in range(3):
        python.prepare(f"kernels/{number}", status="ok", options={"number": number})
    kernels = [
        ("k", "sm_80", "kernels/0"),
        ("f", "sm_80", None),
        ("l", "sm_80", "kernels/1"),
        ("k", "sm_80", "kernels/2"),
    ]
    python.write("index.json", index(*kernels))
    found = python.record(WATCH)
    numbers = {key: each.options["number"] for key, each in found.records.items()}
    assert numbers == {"k-sm_80#1": 0, "l-sm_80#1": 1, "k-sm_80#2": 2}
    assert found.failure is None


def test_a_program_that_fails_keeps_its_kernels_and_says_so(python: Interpreter) -> None:
    python.prepare("kernels/0", status="ok")
    python.write("index.json", index(("k", "sm_80", "kernels/0"), status=3))
    python.does("shutil.copytree(prepared, output); print('ValueError: no', file=sys.stderr); sys.exit(3)")
    found = python.record(WATCH)
    assert [*found.records] == ["k-sm_80#1"]
    assert found.failure == "the program ended with status 3\nValueError: no"


def test_the_status_of_a_program_is_no_refusal(python: Interpreter) -> None:
    python.write("index.json", index(status=2))
    python.does("shutil.copytree(prepared, output); sys.exit(2)")
    assert python.record(WATCH).failure == "the program ended with status 2"


@pytest.mark.parametrize("text", ["{", "[]", '{"kernels": [{"record": 3}]}'])
def test_an_index_that_is_none(python: Interpreter, text: str) -> None:
    python.write("index.json", text)
    assert python.record(WATCH).failure


def test_a_program_that_cannot_be_started(python: Interpreter) -> None:
    python.does("print('error: cannot run train', file=sys.stderr); sys.exit(127)")
    assert python.record(WATCH).failure == "it compiles no kernel\ncannot run train"
