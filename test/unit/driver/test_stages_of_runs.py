"""Stages in the records of real compilations."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from report_pages import Page

import cutecc as library
from cutecc.compilation.request import CompileOptions
from cutecc.errors import PassError
from cutecc.passes.base import ModulePass
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.record.bundle import decode_bundle, encode_bundle
from cutecc.record.folder import read_folder
from cutecc.record.stages import UserLines, stages_of
from cutecc.support.locations import Frame
from cutecc.target import Target

pytestmark = pytest.mark.slow

DUMPS = CompileOptions(dumps=DumpChoice(("all",)))


@dataclass(frozen=True)
class Break(ModulePass):
    """Fails."""

    name: ClassVar[str] = "test-break"

    def run(self, module):
        raise ValueError("broken")


@dataclass(frozen=True)
class Abort(ModulePass):
    """Takes the process down."""

    name: ClassVar[str] = "test-abort"

    def run(self, module):
        import os

        os.abort()


def test_a_library_call_has_them_in_its_files(small_kernel) -> None:
    compilation = library.compile_module(small_kernel.bytecode, target="sm_80", options=DUMPS).compilation
    assert [artifact.file for artifact in compilation.artifacts if artifact.kind == "stages"] == ["kernel.stages"]
    stages = stages_of(compilation)
    assert stages.indices == [0, *(step.index for step in compilation.steps if step.changed)]
    assert stages.user_lines == UserLines()
    frames = {frame for place in stages.places for frame in place}
    assert {Path(frame.file).name for frame in frames} == {"vector_copy.py"}


def test_without_dumps_and_report_there_are_none(small_kernel) -> None:
    compilation = library.compile_module(
        small_kernel.bytecode, target="sm_80", options=CompileOptions(observe=True)
    ).compilation
    assert not any(artifact.kind == "stages" for artifact in compilation.artifacts)


def test_they_are_the_texts_of_the_dumps(small_kernel, tmp_path: Path) -> None:
    library.compile_module(small_kernel.bytecode, target="sm_80", options=DUMPS, output=tmp_path / "out")
    compilation = read_folder(tmp_path / "out")
    stages = stages_of(compilation)
    dumps = {0: compilation.traced} | {step.index: step.dump for step in compilation.steps if step.dump}
    assert stages.indices == [*dumps]
    for index, name in dumps.items():
        assert name is not None
        assert (tmp_path / "out" / name).read_text().partition("\n")[2] == stages.after(index).text
    journal = (tmp_path / "out" / ".cutecc-files").read_text().splitlines()
    assert "kernel.stages" in journal, "the next run takes it away"


def test_a_run_that_goes_on_from_a_dump(cutecc, small_kernel, tmp_path: Path) -> None:
    cutecc("compile", small_kernel.source, "--dump-after=canonicalize", "--dump-locations", "-o", "first")
    dump = min((tmp_path / "first").glob("*-canonicalize.mlir"))
    cutecc("compile", dump.relative_to(tmp_path), "--dump-after=all", "-o", "second")
    compilation = read_folder(tmp_path / "second")
    stages = stages_of(compilation)
    assert stages.indices[0] == int(dump.name[:2])
    assert stages.indices[1:] == [step.index for step in compilation.steps if step.changed]
    assert stages.user_lines.sources == {f"first/{dump.name}": dump.read_text()}
    # What the dump does not spell out, such as the end of a region that yields nothing, is from the dump itself.
    assert {Path(place[-1].file).name for place in stages.places} == {"vector_copy.py", dump.name}


def test_a_module_of_text_is_its_own_source(cutecc, tmp_path: Path) -> None:
    (tmp_path / "own.mlir").write_text("module {\n  func.func @f() {\n    return\n  }\n}\n")
    cutecc("compile", "own.mlir", "--target=sm_80", "--pipeline=builtin.module(cse)", "--dump-after=all", "-o", "out")
    stages = stages_of(read_folder(tmp_path / "out"))
    assert (Frame("own.mlir", 3, 5),) in stages.places


@pytest.mark.parametrize(("last", "isolation"), [(Break(), "none"), (Abort(), "worker")])
def test_a_run_that_fails_or_dies_leaves_those_before(last, isolation, small_kernel, tmp_path: Path) -> None:
    nvidia = choose_pipeline("nvidia", Target.parse("sm_80"))
    before = nvidia.position("cute-desugar") + 1
    pipeline = Pipeline((*nvidia.passes[:before], last, *nvidia.passes[before:]))
    options = CompileOptions(dumps=DumpChoice(("all",)), reproduce=False)
    with pytest.raises(PassError):
        library.compile_module(
            small_kernel.bytecode,
            target="sm_80",
            pipeline=pipeline,
            options=options,
            output=tmp_path / "out",
            isolation=isolation,
        )
    compilation = read_folder(tmp_path / "out")
    stages = stages_of(compilation)
    assert stages.indices[0] == 0
    assert stages.indices[-1] == before
    whole = library.compile_module(
        small_kernel.bytecode, target="sm_80", options=CompileOptions(observe=True, stop_after="cute-desugar")
    ).compilation
    assert compilation.traced_operations == whole.traced_operations
    for step, expected in zip(compilation.steps, whole.steps, strict=False):
        assert (step.name, step.changed) == (expected.name, expected.changed)
        assert step.operations_before == expected.operations_before
        assert step.operations_after == expected.operations_after
    died = compilation.steps[-1]
    assert died.operations_before == whole.steps[-1].operations_after
    assert (died.status, died.changed, died.operations_after) == ("failed", None, None)
    assert re.search(r"cute\.", stages.after(before).text)


KILLED = """
import dataclasses, os, signal, sys, typing
import cutecc
from cutecc.passes import instrumentation
from cutecc.passes.base import ModulePass
from cutecc.passes.pipeline import Pipeline

instrumentation._PROGRESS_SECONDS = 60  # however slow the disk is

@dataclasses.dataclass(frozen=True)
class Kill(ModulePass):
    "Ends the process at once."
    name: typing.ClassVar[str] = "test-kill"

    def run(self, module):
        os.kill(os.getpid(), signal.SIGKILL)

before = Pipeline.parse("builtin.module(cute-desugar,canonicalize,cse)").passes
cutecc.compile_module(
    open(sys.argv[1], "rb").read(), target="sm_80", pipeline=Pipeline((*before, Kill())), output="out",
    options=cutecc.CompileOptions(report=True),
)
"""


def test_a_library_call_that_is_killed_leaves_its_steps(cutecc, small_kernel, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, small_kernel.module], cwd=tmp_path, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    deadline = time.monotonic() + 60
    # The process that prints modules goes on for a moment.
    while (compilation := read_folder(tmp_path / "out")).steps[1].operations_after is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert compilation.status == "running"
    assert [step.name for step in compilation.steps] == ["cute-desugar", "canonicalize", "cse"]
    assert [step.changed for step in compilation.steps][:2] == [True, True]
    first, second = compilation.steps[:2]
    assert compilation.traced_operations == first.operations_before
    assert first.operations_after == second.operations_before and second.operations_after
    cutecc("report", "out", "-o", "k.html")
    shown = Page.at(tmp_path / "k.html").chunks["manifest"]["steps"]
    assert [each["name"] for each in shown] == ["cute-desugar", "canonicalize", "cse"]
    assert shown[1]["operations_after"] == second.operations_after


def test_a_bundle_holds_them_with_its_dumps(small_kernel) -> None:
    compilation = library.compile_module(small_kernel.bytecode, target="sm_80", options=DUMPS).compilation
    (plain,) = decode_bundle(encode_bundle([compilation]), "plain")
    assert not any(artifact.kind == "stages" for artifact in plain.artifacts)
    (full,) = decode_bundle(encode_bundle([compilation], dumps=True), "full")
    assert stages_of(full).indices == stages_of(compilation).indices


def test_the_cache_keeps_none(small_kernel, cache_dir: Path) -> None:
    first = library.compile_module(small_kernel.bytecode, target="sm_80", options=DUMPS).compilation
    assert stages_of(first)
    second = library.compile_module(small_kernel.bytecode, target="sm_80").compilation
    assert second.cached
    assert not any(artifact.kind == "stages" for artifact in second.artifacts)
    third = library.compile_module(small_kernel.bytecode, target="sm_80", options=DUMPS).compilation
    assert not third.cached
    assert stages_of(third).indices == stages_of(first).indices
