"""Host programs that embed cutecc: it says nothing, and leaves the process as it was, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ABORTS = HERE.parents[1] / "inputs" / "aborts-while-parsing.mlir"

# What the same situations end in, in both hosts.
OUTCOMES = {
    **dict.fromkeys(("success", "observed", "open"), "fine"),
    "parse": "ParseError",
    "pass": "PassError",
    "request": "UsageError",
    "event": "ZeroDivisionError",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, small_kernel) -> dict[str, dict[str, Any]]:
    """What hosts noted that use the DSL `before` cutecc, and only `after` it. They may print nothing at all."""
    found: dict[str, dict[str, Any]] = {}
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copy(small_kernel.module, folder / "kernel.mlirbc")
    shutil.copy(ABORTS, folder / "aborts.mlir")
    for when in ("before", "after"):
        (folder / "tmp").mkdir(exist_ok=True)
        report = folder / f"{when}.json"
        # With -X dev, a file that nobody closed is told of too.
        command = [sys.executable, "-X", "dev", HERE / "embedding_host.py", when, folder, report]
        environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        found[when] = json.loads(report.read_text())
    return found


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_process_is_as_it_was(reports, when: str) -> None:
    report = reports[when]
    expected = {
        **{f"{name}, {where}": outcome for name, outcome in OUTCOMES.items() for where in ("none", "worker")},
        "observer": "ZeroDivisionError",
        "abort": "ParseError",
    }
    assert report["outcomes"] == {name: expected[name] for name in report["outcomes"]}, report["messages"]
    assert len(report["changes"]) == (len(expected) if when == "before" else 5)
    assert {name: changes for name, changes in report["changes"].items() if changes} == {}


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_first_time_only_modules_come(reports, when: str) -> None:
    """And with them functions of the standard library's for the end of the program."""
    changes = [change for change in reports[when]["first"] if not change.startswith("exit handlers: ")]
    assert changes == []
    foreign = {"cutecc", "cutlass", "filelock", "msgspec", "typing_extensions", "__mp_main__"}
    assert set(reports[when]["additions"]) <= foreign | sys.stdlib_module_names


def test_the_dsl_traces_and_compiles_as_without_cutecc(reports) -> None:
    before, after = reports["before"]["stock"]
    assert after == before
    assert reports["after"]["stock"] == [before]
    assert reports["before"]["success"] == reports["after"]["success"]


def test_the_deferred_package_becomes_the_real_one(reports) -> None:
    assert reports["before"]["cutlass"] == "module"
    assert reports["after"]["cutlass"] == "_DeferredPackage"
    for report in reports.values():
        assert report["same cutlass"]
        assert report["cutlass afterwards"] == "module"


@pytest.mark.parametrize("imported", [True, False])
def test_a_host_with_another_module_of_that_name(tmp_path: Path, imported: bool) -> None:
    """It keeps its module, and is told."""
    (tmp_path / "cutlass.py").write_text("BLADE = 1\n")
    (tmp_path / "host.py").write_text(
        textwrap.dedent(f"""
            import sys
            if {imported}:
                import cutlass
            try:
                import cutecc
                cutecc.compile_module("module {{}}", "sm_80")
            except cutecc.Error as error:
                print(error)
            assert ("cutlass" in sys.modules) is {imported}
            import cutlass
            assert cutlass.BLADE == 1
        """)
    )
    done = subprocess.run([sys.executable, "host.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    place = tmp_path / "cutlass.py"
    assert done.stdout.splitlines()[0] == (
        f"the module 'cutlass' here is {place}, not that of nvidia-cutlass-dsl, which has the MLIR bindings"
    )
