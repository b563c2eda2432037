"""The cache in library calls: what it answers, what it leaves to the passes, and that nobody fails because of it."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutecc
from cutecc.cache import entries
from cutecc.cache import store as store_module
from cutecc.compilation import caching
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions
from cutecc.errors import RecordError
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import remark, walk
from cutecc.passes.base import ModulePass
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.manager import Observer
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation
from cutecc.record.folder import read_folder

PTX = CompileOptions(artifacts=("ptx",))


def compile(kernel, **settings) -> Compilation:
    settings.setdefault("options", PTX)
    return cutecc.compile_module(kernel.bytecode, target=kernel.target, **settings).compilation


def test_the_second_time_it_is_there(small_kernel, cache_dir: Path) -> None:
    first, second = compile(small_kernel), compile(small_kernel)
    assert not first.cached
    assert second.cached
    assert len(list(cache_dir.iterdir())) == 1
    assert second.seconds.keys() == {"trace", "parse", "cache"}
    # All but what says so is the same.
    assert replace(second, cached=False, seconds=first.seconds) == first
    assert dict(second.files) == dict(first.files)


@pytest.mark.parametrize("off", ["cache=False", "CUTECC_CACHE=0"])
def test_it_can_be_off(small_kernel, cache_dir: Path, off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if off == "CUTECC_CACHE=0":
        monkeypatch.setenv("CUTECC_CACHE", "0")
    choice = False if off == "cache=False" else None
    assert not compile(small_kernel, cache=choice).cached
    assert not compile(small_kernel, cache=choice).cached
    assert not cache_dir.exists()


def test_a_worker_uses_it_too(small_kernel, cache_dir: Path) -> None:
    first = compile(small_kernel, isolation="worker")
    assert not first.cached
    assert compile(small_kernel, isolation="worker").cached
    assert compile(small_kernel).artifact("ptx") == first.artifact("ptx")


def test_other_processes_use_it(small_kernel, cache_dir: Path) -> None:
    compile(small_kernel)
    script = """
import sys, cutecc
from cutecc.compilation.request import CompileOptions
data = open(sys.argv[1], "rb").read()
options = CompileOptions(artifacts=("ptx",))
print(cutecc.compile_module(data, target=sys.argv[2], options=options).compilation.cached)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, small_kernel.module, small_kernel.target],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert done.stdout == "True\n"


@settings(max_examples=50)
@given(data=st.binary(max_size=200), packed=st.booleans())
def test_what_is_no_entry_is_an_error(data: bytes, packed: bool) -> None:
    with pytest.raises(RecordError):
        entries.decode(zlib.compress(data) if packed else data)


def test_many_threads(small_kernel, cache_dir: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: compile(small_kernel), range(8)))
    assert len({result.artifact("ptx") for result in results}) == 1
    assert sum(not result.cached for result in results) == 1, "in one process only the first compiles"


# What is asked for is what one gets.


def test_an_entry_with_less_is_replaced(small_kernel, cache_dir: Path) -> None:
    compile(small_kernel)
    everything = replace(PTX, artifacts=ALL_ARTIFACTS, observe=True)
    first = compile(small_kernel, options=everything)
    assert not first.cached
    assert len(list(cache_dir.iterdir())) == 1
    again, less = compile(small_kernel, options=everything), compile(small_kernel)
    assert again.cached
    assert again.artifacts == first.artifacts
    assert again.resources == first.resources
    assert again.steps == first.steps
    assert less.cached
    assert {artifact.kind for artifact in less.artifacts} <= {"ptx"}
    assert set(less.files) == {artifact.file for artifact in less.artifacts}


def test_another_disassembler_disassembles_anew(small_kernel, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_sass = replace(PTX, artifacts=("sass",))
    assert not compile(small_kernel, options=with_sass).cached
    assert compile(small_kernel, options=with_sass).cached
    monkeypatch.setattr(caching, "tool_version", lambda _: "99.0")
    assert not compile(small_kernel, options=with_sass).cached


def test_dumps_are_made_on_a_hit(small_kernel, cache_dir: Path, tmp_path: Path) -> None:
    rich = replace(PTX, observe=True, artifacts=("ptx", "llvm-ir"))
    plain = compile(small_kernel, options=rich)
    dumped = compile(small_kernel, options=replace(PTX, dumps=DumpChoice(("all",))), output=tmp_path / "record")
    assert not dumped.cached
    assert dumped.artifact("ptx") == plain.artifact("ptx")
    assert (tmp_path / "record" / "00-traced.mlir").is_file()
    assert any(step.dump and (tmp_path / "record" / step.dump).is_file() for step in dumped.steps)
    assert compile(small_kernel, options=rich).cached, "the entry that holds more stays"


def test_a_run_with_dumps_fills_the_cache(small_kernel, cache_dir: Path) -> None:
    compile(small_kernel, options=replace(PTX, dumps=DumpChoice(("cse",)), observe=True))
    found = compile(small_kernel)
    assert found.cached
    assert found.traced is None
    assert all(step.dump is None and step.dump_before is None for step in found.steps)


@pytest.mark.parametrize("options", [replace(PTX, verify_each=True), replace(PTX, stop_after="cute-desugar")])
def test_passes_run_when_they_are_watched(small_kernel, cache_dir: Path, options: CompileOptions) -> None:
    compile(small_kernel)
    assert not compile(small_kernel, options=options).cached


def test_observers_see_the_passes(small_kernel, cache_dir: Path) -> None:
    class Names(Observer):
        def __init__(self) -> None:
            self.names: list[str] = []

        def after(self, position, module, seconds) -> None:
            self.names.append(position.pass_.name)

    compile(small_kernel)
    names = Names()
    assert not compile(small_kernel, observers=[names]).cached
    assert "cuda-to-binary" in names.names


def test_the_record_is_written_on_a_hit(small_kernel, cache_dir: Path, tmp_path: Path) -> None:
    first = compile(small_kernel)
    compile(small_kernel, output=tmp_path / "record", name="renamed")
    found = read_folder(tmp_path / "record")
    assert found.cached
    assert found.status == "ok"
    assert found.name == "renamed"
    assert found.artifacts[0].file == "renamed.ptx"
    assert found.artifact("ptx") == first.artifact("ptx")


def test_failures_are_not_kept(small_kernel, cache_dir: Path) -> None:
    for _ in range(2):
        with pytest.raises(cutecc.Error):
            compile(small_kernel, pipeline=Pipeline((Fail(),)))
    assert not cache_dir.exists()


@dataclass(frozen=True)
class Fail(ModulePass):
    """Fails."""

    name: ClassVar[str] = "test-cache-fail"

    def run(self, module) -> None:
        raise ValueError("no")


@dataclass(frozen=True)
class Point(ModulePass):
    """Says where the first layout is made."""

    name: ClassVar[str] = "test-cache-point"

    def run(self, module) -> None:
        remark(next(iter(walk(module.operation, "cute.get_layout"))), "here")


def test_remarks_name_the_lines_of_this_file(small_kernel, cache_dir: Path) -> None:
    """The key is the same when a file has moved, but what passes said about its lines is not."""
    with fresh_context():
        text = to_text(parse(small_kernel.bytecode), locations=True)
    moved = text.replace("vector_copy.py", "moved.py")
    assert moved != text

    def remarks(module: str) -> tuple[bool, list[str | None]]:
        pipeline = Pipeline((Point(),))
        record = cutecc.compile_module(module, target="sm_80", pipeline=pipeline, options=PTX).compilation
        return record.cached, [each.location for step in record.steps for each in step.remarks]

    cached, [before] = remarks(text)
    assert not cached
    assert before is not None
    assert "vector_copy.py" in before
    assert remarks(text) == (True, [before])
    cached, [after] = remarks(moved)
    assert not cached
    assert after == before.replace("vector_copy.py", "moved.py")
    assert len(list(cache_dir.iterdir())) == 1, "it was the same key"


# When something is wrong with it.


def test_a_damaged_entry_is_made_anew(small_kernel, cache_dir: Path) -> None:
    first = compile(small_kernel)
    (entry,) = cache_dir.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(good[:-20] + bytes(20))
    second = compile(small_kernel)
    assert not second.cached
    assert second.artifact("ptx") == first.artifact("ptx")
    assert compile(small_kernel).cached


def test_an_entry_that_no_one_can_read_is_made_anew(small_kernel, cache_dir: Path) -> None:
    """Whole, but not what this version writes."""
    compile(small_kernel)
    (entry,) = cache_dir.iterdir()
    store_module.Store(cache_dir, 1 << 30).put(entry.name, b"something else")
    assert not compile(small_kernel).cached
    assert compile(small_kernel).cached


def test_a_full_disk_costs_a_warning(small_kernel, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    record = compile(small_kernel)
    assert record.status == "ok"
    (warning,) = record.warnings
    assert warning.message == f"the cache {cache_dir} cannot be written: No space left on device"
    monkeypatch.undo()


def test_a_folder_that_cannot_be_costs_a_warning(small_kernel, cache_dir: Path) -> None:
    cache_dir.parent.write_text("a file")
    record = compile(small_kernel)
    assert record.artifact("ptx")
    (warning,) = record.warnings
    assert str(cache_dir) in warning.message
    assert "Not a directory" in warning.message


def test_warnings_of_a_full_disk_are_not_kept(small_kernel, cache_dir: Path) -> None:
    record = compile(small_kernel, options=replace(PTX, observe=True))
    again = compile(small_kernel, options=replace(PTX, observe=True))
    assert again.cached
    assert again.warnings == record.warnings
