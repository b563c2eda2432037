"""`cutecc compile --report` on the real command line: the page, also of what fails and of what is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import CUTECC
from report_pages import Page, check_sound

from cutecc.record.folder import read_folder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "elementwise_add.py"
ENDLESS = ",".join(["canonicalize,cse,symbol-dce"] * 3000)
PASSES = """
from cutecc.passes.base import ModulePass
from cutecc import register
from dataclasses import dataclass
from typing import ClassVar
import os

@register
@dataclass(frozen=True)
class Raises(ModulePass):
    '''Raises.'''
    name: ClassVar[str] = "test-raises"
    def run(self, module):
        raise ValueError("no such </script><script>alert(1)</script>")

@register
@dataclass(frozen=True)
class Aborts(ModulePass):
    '''Aborts.'''
    name: ClassVar[str] = "test-aborts"
    def run(self, module):
        os.abort()
"""


def test_a_kernel_becomes_a_page(cutecc, tmp_path: Path) -> None:
    done = cutecc("compile", EXAMPLE, "--target=sm_90a", "--report", "add.html", "-o", "out")
    assert done.stdout.splitlines() == ["out", "add.html"]
    page = Page.at(tmp_path / "add.html")
    check_sound(page)
    assert page.title == "elementwise_add for sm_90a – cutecc report"
    chunks = page.chunks
    manifest = chunks["manifest"]
    assert manifest["status"] == "ok"
    assert manifest["options"] == {"preserve-line-info": True}
    assert manifest["warnings"] == []
    # A stage for each pass that changed the module, each whole.
    changed = [0, *(each["index"] for each in manifest["steps"] if each["changed"])]
    assert [each for each in chunks if each.startswith("stage:")] == [f"stage:{index}" for index in changed]
    table = [place for name, places in chunks.items() if name.startswith("places:") for place in places]
    for index in changed:
        stage = chunks[f"stage:{index}"]
        assert stage["text"].count("\n") == len(stage["places"])
        assert max(stage["places"]) < len(table)
    assert {"listing:elementwise_add.ptx", "listing:elementwise_add.sass", "listing:elementwise_add.ll"} <= {*chunks}
    assert str(EXAMPLE) in chunks["user-lines"]["sources"]
    (kernel,) = chunks["mix"]["kernels"]
    assert kernel["mapped"] / kernel["instructions"] > 0.95
    share = f"{kernel['mapped'] / kernel['instructions']:.1%} of {kernel['instructions']} SASS instructions"
    assert any(share in text for text in page.all("li"))
    # The record has it all: the report can be made of it again, to the byte.
    assert cutecc("report", "out", "-o", "again.html").stdout == "again.html\n"
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "add.html").read_bytes()


def test_several_targets_have_a_page_each(cutecc, small_kernel, tmp_path: Path) -> None:
    (tmp_path / "a.mlirbc").write_bytes(small_kernel.bytecode)
    options = ["--target=sm_80,sm_90a", "--report=out.html", "--stop-after=cute-desugar"]
    done = cutecc("compile", "a.mlirbc", *options, "--json")
    assert [each["report"] for each in json.loads(done.stdout)] == ["out-sm_80.html", "out-sm_90a.html"]
    for target in ("sm_80", "sm_90a"):
        assert Page.at(tmp_path / f"out-{target}.html").chunks["manifest"]["target"] == target


def test_several_kernels_have_a_page_each(cutecc, small_kernel, other_kernel, tmp_path: Path) -> None:
    for name, kernel in (("a", small_kernel), ("b", other_kernel)):
        (tmp_path / f"{name}.mlirbc").write_bytes(kernel.bytecode)
    options = ["--target=sm_80", "--report=out.html", "--stop-after=cute-desugar", "-v"]
    output = cutecc("compile", "a.mlirbc", "b.mlirbc", *options).stdout
    for name in ("a", "b"):
        assert re.search(rf"^wrote out-{name}-sm_80\.html: a report, \d+ kB$", output, re.MULTILINE)
    titles = {name: Page.at(tmp_path / f"out-{name}-sm_80.html").title for name in ("a", "b")}
    assert titles == {name: f"{name} for sm_80 – cutecc report" for name in ("a", "b")}


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("folder", "that is a folder"),
        ("a.mlirbc", "the command names that file already"),
        ("k.cutecc", "the command names that file already"),
    ],
)
def test_what_cannot_be_written_is_refused_before_compiling(
    cutecc, small_kernel, tmp_path: Path, report: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.mlirbc").write_bytes(small_kernel.bytecode)
    options = ["--target=sm_80", "--report", report, "-o", "out", "--bundle=k.cutecc"]
    done = cutecc("compile", "a.mlirbc", *options, status=2)
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_reports_of_one_name_are_refused_before_compiling(cutecc, small_kernel, tmp_path: Path) -> None:
    for name in ("a-sm_80.mlirbc", "a.mlirbc"):
        (tmp_path / name).write_bytes(small_kernel.bytecode)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.mlirbc").write_bytes(small_kernel.bytecode)
    options = ["--target=sm_80", "--report=r.html"]
    done = cutecc("compile", "a.mlirbc", "b/a.mlirbc", *options, status=2)
    assert "would both be written to" in done.stderr
    assert not (tmp_path / "cutecc-out").exists()


def test_a_report_goes_into_the_folder_that_is_about_to_be_made(cutecc, small_kernel, tmp_path: Path) -> None:
    for _ in range(2):
        cutecc(
            "compile",
            small_kernel.module,
            "--target=sm_80",
            "--stop-after=cute-desugar",
            "-o",
            "out",
            "--report=out/k.html",
        )
        assert Page.at(tmp_path / "out" / "k.html").chunks["manifest"]["status"] == "stopped"


@pytest.mark.parametrize(("name", "how"), [("test-raises", "failed"), ("test-aborts", "aborted")])
def test_a_pass_that_fails_leaves_a_page_with_its_reproducer(
    cutecc, small_kernel, tmp_path: Path, name: str, how: str
) -> None:
    (tmp_path / "passes.py").write_text(PASSES)
    options = ["--target=sm_80", "--load=passes.py", f"--insert-after=cse#1={name}", "-o", "out", "--report=k.html"]
    done = cutecc("compile", small_kernel.module, *options, status=1)
    assert f"error: pass {name} {how}" in done.stderr
    assert "note: wrote k.html: a report, " in done.stderr
    page = Page.at(tmp_path / "k.html")
    check_sound(page)
    chunks = page.chunks
    manifest = chunks["manifest"]
    assert manifest["status"] == "failed"
    assert manifest["steps"][-1]["name"] == name
    assert manifest["steps"][-1]["status"] == "failed"
    assert manifest["failure"]["stage"] == name
    assert manifest["failure"]["message"].startswith(f"pass {name} {how}")
    if how == "failed":
        assert "no such </script><script>alert(1)</script>" in manifest["failure"]["message"]
    # Everything up to the failure.
    stages = {int(each.partition(":")[2]) for each in chunks if each.startswith("stage:")}
    changed = {each["index"] for each in manifest["steps"] if each["changed"]}
    assert stages == {0, *changed}
    reproducer = chunks["reproducer"]
    assert reproducer["file"] == manifest["failure"]["reproducer"]
    assert reproducer["text"] == (tmp_path / "out" / reproducer["file"]).read_text()
    command = f"cutecc opt {reproducer['file']} --pipeline={name} --load=passes.py"
    assert reproducer["command"] == command
    assert manifest["failure"]["message"] in page.all("pre")


def test_a_kernel_that_does_not_trace_leaves_a_page_that_says_why(cutecc, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("raise ValueError('at import')\n")
    (tmp_path / "k.html").touch()
    done = cutecc("compile", "k.py:f", "--target=sm_80", "--report=k.html", status=1)
    assert "note: wrote k.html: a report, " in done.stderr
    manifest = Page.at(tmp_path / "k.html").chunks["manifest"]
    assert manifest["status"] == "failed"
    assert manifest["failure"]["stage"] == "trace"
    assert "at import" in manifest["failure"]["message"]
    assert manifest["failure"]["location"].startswith("k.py:1")


def test_a_report_that_cannot_be_written_in_the_end_is_an_error(cutecc, small_kernel, tmp_path: Path) -> None:
    """The folder of the report goes away while the kernel is compiled."""
    (tmp_path / "passes.py").write_text(PASSES.replace("os.abort()", "os.rename('reports', 'gone')"))
    (tmp_path / "reports").mkdir()
    options = ["--target=sm_80", "--load=passes.py", "--insert-after=cute-desugar=test-aborts", "-o", "out"]
    done = cutecc(
        "compile", small_kernel.module, *options, "--report=reports/k.html", "--stop-after=test-aborts", status=2
    )
    assert "error: cannot write the report reports/k.html" in done.stderr
    assert read_folder(tmp_path / "out").status == "stopped"


def test_a_run_for_a_report_is_not_answered_from_the_cache(cutecc, small_kernel, cache_dir, tmp_path: Path) -> None:
    cutecc("compile", small_kernel.module, "--target=sm_80", "--line-info", "-o", "first")
    cutecc("compile", small_kernel.module, "--target=sm_80", "-o", "second", "--report=k.html")
    chunks = Page.at(tmp_path / "k.html").chunks
    assert not chunks["manifest"]["cached"]
    assert "stage:0" in chunks
    sizes = [path.stat().st_size for path in cache_dir.rglob("*.record")]
    stages = (tmp_path / "second" / f"{small_kernel.module.stem}.stages").stat().st_size
    assert sum(sizes) < sum(path.stat().st_size for path in (tmp_path / "first").iterdir()) + stages


def wait_for_a_pass(page: Path, process: subprocess.Popen[Any]) -> None:
    """Until the page of a running compilation tells of a pass that is over: its list of passes comes after stages."""
    for _ in range(1200):
        if page.exists():
            chunks = Page.at(page).chunks
            if "stage:1" in chunks and any(step["changed"] for step in chunks["manifest"]["steps"]):
                return
        assert process.poll() is None
        time.sleep(0.05)
    raise AssertionError("no pass was over within a minute")


def test_a_kill_leaves_a_page_with_what_there_was(small_kernel, tmp_path: Path) -> None:
    """Of the whole process group, so that nothing can tidy up."""
    (tmp_path / "endless.pipeline").write_text(ENDLESS)
    command = [CUTECC, "compile", small_kernel.module, "--target=sm_80", "--pipeline=endless.pipeline", "-o", "out"]
    process = subprocess.Popen(
        [*command, "--report=k.html"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    page = tmp_path / "k.html"
    try:
        wait_for_a_pass(page, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    found = Page.at(page)
    check_sound(found)
    chunks = found.chunks
    assert chunks["manifest"]["status"] == "running"
    assert chunks["manifest"]["steps"][0] == {
        **chunks["manifest"]["steps"][0],
        "index": 1,
        "name": "canonicalize",
        "changed": True,
    }
    assert {"stage:0", "stage:1"} <= {*chunks}


def test_an_interrupt_leaves_the_whole_report_of_what_there_was(small_kernel, tmp_path: Path) -> None:
    (tmp_path / "endless.pipeline").write_text(ENDLESS)
    command = [CUTECC, "compile", small_kernel.module, "--target=sm_80", "--pipeline=endless.pipeline", "-o", "out"]
    process = subprocess.Popen(
        [*command, "--report=k.html"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    page = tmp_path / "k.html"
    wait_for_a_pass(page, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    chunks = Page.at(page).chunks
    assert chunks["manifest"]["status"] == "interrupted"
    assert "stage:1" in chunks
