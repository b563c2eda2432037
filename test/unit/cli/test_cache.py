"""`cutecc cache`, and the cache in `cutecc compile`, as commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from conftest import KERNELS, Run

from cutecc import __version__
from cutecc.cache import entries
from cutecc.cache.store import Store
from cutecc.compilation.request import CompileOptions
from cutecc.record import archive


@pytest.fixture
def filled(small_kernel, other_kernel, cache_dir: Path) -> Path:
    """A cache with two compilations."""
    import cutecc

    options = CompileOptions(pipeline="canonicalize", artifacts=())
    for kernel in (small_kernel, other_kernel):
        cutecc.compile_module(
            kernel.bytecode, target=kernel.target, name=kernel.name, pipeline="canonicalize", options=options
        )
    return cache_dir


def test_nothing_is_there_yet(cutecc: Run, cache_dir: Path) -> None:
    assert "compilations   0\n" in cutecc("cache", "info").stdout
    listed = cutecc("cache", "list")
    assert (listed.stdout, listed.stderr) == ("", "the cache is empty\n")
    assert cutecc("cache", "clear").stdout == "removed 0 compilations, 0 B\n"
    assert cutecc("cache", "verify").stdout == "the cache is empty\n"
    assert not cache_dir.exists()


def test_info(cutecc: Run, filled: Path) -> None:
    shown = cutecc("cache", "info", env={"CUTECC_CACHE_SIZE": "3M"}).stdout
    assert f"folder         {filled}\n" in shown
    assert "used           yes\n" in shown
    assert "compilations   2\n" in shown
    assert "of 3.0 MiB\n" in shown
    assert "no: CUTECC_CACHE is off" in cutecc("cache", "info", env={"CUTECC_CACHE": "no"}).stdout


def test_environments_of_versions_are_counted_and_cleared_apart(cutecc: Run, filled: Path) -> None:
    place = filled.parent / "environments"
    for name in ("4.6.3-a", "4.7.1-b"):
        (place / name / "lib").mkdir(parents=True)
        (place / name / "lib" / "file").write_bytes(bytes(1 << 20))
    (place / "4.6.3-a.lock").touch()
    assert "environments   2, 2.0 MiB, of cutecc versions\n" in cutecc("cache", "info").stdout
    assert "removes all of them" in cutecc("cache", "clear", "softmax", "--environments", status=2).stderr
    assert cutecc("cache", "clear", "--environments").stdout == "removed 2 environments, 2.0 MiB\n"
    assert not place.exists()
    shown = cutecc("cache", "info").stdout
    assert "compilations   2\n" in shown and "of cutecc versions" not in shown
    assert cutecc("cache", "clear", "--environments").stdout == "removed 0 environments, 0 B\n"


def test_list(cutecc: Run, filled: Path) -> None:
    lines = cutecc("cache", "list").stdout.splitlines()
    assert sorted(line.split()[6] for line in lines) == ["math_functions", "vector_copy"]
    (line,) = cutecc("cache", "list", "vector*").stdout.splitlines()
    key, target = line.split()[:2]
    assert target == "sm_80"
    assert cutecc("cache", "list", "gemm").stderr == "the cache has no kernel like gemm\n"
    assert len([path for path in filled.iterdir() if path.name.startswith(key)]) == 1


def test_clear(cutecc: Run, filled: Path) -> None:
    assert "removed 0 " in cutecc("cache", "clear", "--older-than", "1h").stdout
    assert "removed 1 compilation," in cutecc("cache", "clear", "math*").stdout
    (left,) = filled.iterdir()
    old = time.time() - 7200
    os.utime(left, (old, old))
    assert "removed 0 " in cutecc("cache", "clear", "--older-than", "1d").stdout
    assert "removed 1 " in cutecc("cache", "clear", "--older-than", "1h").stdout
    assert list(filled.iterdir()) == []
    assert "is not an age" in cutecc("cache", "clear", "--older-than", "soon", status=2).stderr


def test_verify(cutecc: Run, filled: Path) -> None:
    victim = sorted(filled.iterdir())[0]
    victim.write_bytes(victim.read_bytes()[:-1])
    shown = cutecc("cache", "verify", status=1).stdout
    assert f"removed {victim.name}: it was damaged\n" in shown
    assert "1 file in order" in shown
    assert cutecc("cache", "verify").stdout == "1 file in order\n"


def test_a_file_takes_kernels_to_another_cache(cutecc: Run, filled: Path, tmp_path: Path) -> None:
    env = {"CUTECC_CACHE_DIR": str(tmp_path / "other")}
    (kernel,) = cutecc("cache", "export", "one.cache", "vector*", "*copy").stdout.splitlines()
    assert kernel.startswith("one.cache: 1 kernel, ")
    assert cutecc("cache", "export", "all.cache", "--target", "sm_80").stdout.startswith("all.cache: 2 kernels, ")
    assert cutecc("cache", "import", "one.cache", env=env).stdout == "1 kernel: 1 new, 0 there already\n"
    done = cutecc("cache", "import", "all.cache", env=env)
    assert (done.stdout, done.stderr) == ("2 kernels: 1 new, 1 there already\n", "")
    assert {path.name for path in (tmp_path / "other" / "v1").iterdir()} == {path.name for path in filled.iterdir()}
    assert len(cutecc("cache", "list", env=env).stdout.splitlines()) == 2


def test_nothing_to_export_writes_nothing(cutecc: Run, filled: Path, tmp_path: Path) -> None:
    for words in (["gemm"], ["--target", "sm_999"]):
        done = cutecc("cache", "export", "no.cache", *words, status=2)
        assert "error: the cache has nothing like that to export\nhint: cutecc cache list" in done.stderr
    assert not (tmp_path / "no.cache").exists()


def test_what_is_of_another_cutecc_is_left_out_unless_asked_for(
    cutecc: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(filled, 1 << 30)
    (old, *_) = [entry.name for entry in store.entries()]
    stored = entries.decode(store.get(old) or b"")
    versions = msgspec.structs.replace(stored.record.versions, cutecc="0.0.1")
    monkeypatch.setattr(entries, "own_fingerprint", lambda: "0.0.1")
    made = replace(stored.record, versions=versions)
    made.files = stored.record.files
    store.put(old, entries.encode(made, old, stored.module, (), own_warnings=0))
    done = cutecc("cache", "export", "here.cache")
    assert done.stdout.startswith("here.cache: 1 kernel, ")
    assert done.stderr == "left out 1 of other versions: --all\n"
    assert cutecc("cache", "export", "all.cache", "--all").stdout.startswith("all.cache: 2 kernels, ")
    done = cutecc("cache", "import", "all.cache", env={"CUTECC_CACHE_DIR": str(tmp_path / "other")})
    assert done.stdout == "2 kernels: 2 new, 0 there already\n"
    assert done.stderr == f"1 cannot answer here: of cutecc 0.0.1; this is {__version__}\n"
    hint = cutecc("cache", "export", "none.cache", stored.record.name, status=2).stderr
    assert "hint: --all writes 1 kernel of other versions too" in hint


def test_what_is_refused_is_named(cutecc: Run, filled: Path, tmp_path: Path) -> None:
    cutecc("cache", "export", "all.cache")
    data = (tmp_path / "all.cache").read_bytes()
    files = [(each.name, data[each.offset : each.offset + each.size]) for each in archive.unpack(data, "all.cache")]
    (tmp_path / "odd.cache").write_bytes(archive.pack([*files[:-1], ("..\x1b/owned", b"x")]))
    done = cutecc("cache", "import", "odd.cache", env={"CUTECC_CACHE_DIR": str(tmp_path / "other")}, status=1)
    assert done.stdout == "1 kernel: 1 new, 0 there already\n"
    assert done.stderr == "refused ..\\x1b/owned: it is no kernel of a cache\n"
    (tmp_path / "odd.cache").write_bytes(data[:-1])
    done = cutecc("cache", "import", "odd.cache", status=2)
    assert done.stderr.startswith("error: odd.cache is cut short, or something was added to it\nhint: copy or build ")
    (tmp_path / "kernel.py").write_text("mine")
    assert "the file there is not a cache file" in cutecc("cache", "export", "kernel.py", status=2).stderr


def test_a_folder_that_cannot_be_used(cutecc: Run, tmp_path: Path, cache_dir: Path) -> None:
    cache_dir.parent.mkdir()
    cache_dir.symlink_to(tmp_path)
    assert "is not used: it is not a folder" in cutecc("cache", "info", status=1).stderr


@pytest.mark.slow
def test_compiling_a_file_twice(cutecc: Run, tmp_path: Path, cache_dir: Path) -> None:
    """The second time the file is not even run; dumps are made all the same."""
    kernel = tmp_path / "kernel.py"
    shutil.copy(KERNELS / "no_tensor.py", kernel)
    kernel.write_text(f"{kernel.read_text()}\nprint('the file runs')\n")
    time.sleep(0.05)

    def compile(*options: str) -> tuple[dict, bool]:
        done = cutecc("compile", kernel, "--json", *options)
        return json.loads(done.stdout), "the file runs" in done.stderr + done.stdout

    first, ran = compile()
    assert ran
    assert not first["cached"]
    ptx = (tmp_path / "cutecc-out" / "no_tensor-sm_80" / "no_tensor.ptx").read_bytes()
    assert sorted(entry.is_record for entry in Store(cache_dir, 1 << 30).entries()) == [False, False, True]

    second, ran = compile()
    assert not ran
    assert second["cached"]
    for key in ("name", "signature", "steps", "artifacts", "resources", "pipeline", "source", "versions"):
        assert second[key] == first[key], key
    assert (tmp_path / "cutecc-out" / "no_tensor-sm_80" / "no_tensor.ptx").read_bytes() == ptx

    third, ran = compile("--no-direct")
    assert ran
    assert third["cached"]

    dumped, ran = compile("--dump-after=all")
    assert ran
    assert not dumped["cached"]
    assert (tmp_path / "cutecc-out" / "no_tensor-sm_80" / "00-traced.mlir").is_file()


SPIN = """
import cutlass
import helper
from cutlass import cute

@cute.kernel
def spin_kernel(cycles: cutlass.Int64):
    start = cutlass.Int64(cute.arch.clock64())
    now = start
    while now - start < cycles:
        now = cutlass.Int64(cute.arch.clock64())

@cute.jit
def spin(cycles: cutlass.Int64):
    spin_kernel(cycles).launch(grid=[1, 1, 1], block=[helper.threads(), 1, 1])
"""
HELPER = """
import os

def threads():
    print("the file runs")
    return int(os.environ.get("WIDE_TILE", "128") if "WIDE" in os.environ else os.environ.get("TILE") or "64")
"""


@pytest.mark.slow
def test_variables_that_a_helper_reads(cutecc: Run, tmp_path: Path, cache_dir: Path) -> None:
    """The kernel is that of the variables' values, and is taken from the cache when these are as they were."""
    (tmp_path / "spin.py").write_text(SPIN)
    (tmp_path / "helper.py").write_text(HELPER)
    time.sleep(0.05)

    def compile(**env: str) -> tuple[int, bool]:
        done = cutecc(
            "compile", "spin.py", "--arg", "cycles=i64", "--target", "sm_80", "--json", env={"UNRELATED": "", **env}
        )
        ptx = (tmp_path / "cutecc-out" / "spin-sm_80" / "spin.ptx").read_text()
        threads = re.search(r"\.reqntid (\d+)", ptx)
        assert threads
        return int(threads[1]), "the file runs" in done.stderr

    assert compile(TILE="64") == (64, True)
    assert compile(TILE="128") == (128, True)
    assert compile(TILE="64", WIDE="1") == (128, True)
    assert compile(TILE="64", WIDE="1", UNRELATED="1") == (128, False)
    assert compile(TILE="64", WIDE="1", WIDE_TILE="256") == (256, True)

    # Three kernels; the direct entry is that of the last values.
    lines = cutecc("cache", "list", "spin").stdout.splitlines()
    assert [line.partition("  spin  ")[2] for line in lines] == ["spin.py cycles=i64"] * 3
    assert len(list(cache_dir.glob("*.direct"))) == 1
    assert "removed 3 compilations," in cutecc("cache", "clear", "spin").stdout
    assert list(cache_dir.iterdir()) == []


@pytest.mark.slow
def test_compiling_a_module_twice(cutecc: Run, small_kernel, cache_dir: Path) -> None:
    arguments = ("compile", small_kernel.module, "--target", small_kernel.target, "--json")
    assert not json.loads(cutecc(*arguments).stdout)["cached"]
    assert json.loads(cutecc(*arguments).stdout)["cached"]
    assert not json.loads(cutecc(*arguments, "--no-cache").stdout)["cached"]
    assert not json.loads(cutecc(*arguments, "--timing").stdout)["cached"]


def test_a_limit_that_is_no_size(cutecc) -> None:
    done = cutecc("cache", "info", env={"CUTECC_CACHE_SIZE": "-1"}, status=2)
    assert done.stderr.startswith("error: CUTECC_CACHE_SIZE: '-1' is not a size\nhint: ")
