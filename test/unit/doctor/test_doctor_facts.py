"""The facts that `cutecc doctor` gathers: of installed files, of GPUs, of the cache, and of a kernel's compilation."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cutecc.doctor import looking
from cutecc.doctor.facts import Gpu
from cutecc.doctor.trial import compile_one
from cutecc.runtime import cuda_bindings, driver
from cutecc.support import flavours
from cutecc.target import known_targets


def installed(folder: Path, name: str, version: str, record: str = "") -> None:
    """A distribution, by what pip leaves of it."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(record)


def test_the_facts_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_80")
    monkeypatch.setenv("UNRELATED", "1")
    facts = looking.look(trial=False)
    assert facts.whole
    assert facts.python == sys.version_info[:3]
    assert facts.packages["nvidia-cutlass-dsl"] == metadata.version("nvidia-cutlass-dsl")
    assert facts.packages["cuda-bindings"] == metadata.version("cuda-bindings")
    assert facts.flavours == flavours.installed_flavours() != ()
    assert facts.module and "nvidia_cutlass_dsl" in facts.module
    assert not facts.missing_files and not facts.contested_files
    assert facts.trial is None
    assert facts.variables["CUTE_DSL_ARCH"] == "sm_80" and "UNRELATED" not in facts.variables
    assert facts.llvm and all(each.version and not each.problem for each in facts.tools.values())
    assert not facts.cache.used, "as the tests have it"


def test_files_that_are_missing_or_of_two(tmp_path: Path) -> None:
    for name in ("same.py", "other.py"):
        (tmp_path / name).touch()
    installed(tmp_path, "a", "1", "same.py,sha256=AA,1\nother.py,sha256=AA,1\ngone.py,sha256=AA,1\ngone.pyc,,\n")
    installed(tmp_path, "b", "1", "same.py,sha256=AA,1\nother.py,sha256=BB,1\n")
    distributions = [*metadata.distributions(path=[str(tmp_path)])]
    missing, contested = looking._files_of(distributions)
    assert missing == ("gone.py",), "what Python makes anew is not missed"
    assert contested == ("other.py",)


def test_a_distribution_that_hides_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "nvidia_cutlass_dsl", "4.0.0")
    installed(tmp_path, "nvidia-cutlass-dsl-libs-cu99", "4.0.0")
    for name, text in {"broken-1": None, "nvidia_cutlass_dsl_libs_x-1": "Name: nvidia-cutlass-dsl-libs-x\n"}.items():
        (tmp_path / f"{name}.dist-info").mkdir()
        if text:
            (tmp_path / f"{name}.dist-info" / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    packages = looking.look(trial=False).packages
    assert packages["nvidia-cutlass-dsl"] == packages["nvidia-cutlass-dsl-libs-cu99"] == "4.0.0"
    assert "nvidia-cutlass-dsl-libs-x" not in packages, "it tells no version"


# GPUs.


class Fake:
    """A driver with two GPUs."""

    def device_count(self) -> int:
        return 2

    def device_name(self, ordinal: int) -> str:
        return f"GPU {ordinal}"

    def device_attribute(self, ordinal: int, which: driver.DeviceAttribute) -> int:
        return {driver.DeviceAttribute.CAPABILITY_MAJOR: 9, driver.DeviceAttribute.CAPABILITY_MINOR: ordinal}[which]


def gpus_with(monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[tuple[Gpu, ...], str | None, str | None]:
    def cuda_driver() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(cuda_bindings, "cuda_driver", cuda_driver)
    return looking._gpus()


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_with(monkeypatch, Fake()) == ((Gpu("GPU 0", (9, 0)), Gpu("GPU 1", (9, 1))), None, None)


def test_that_there_is_no_gpu_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    error = driver.failure("the CUDA driver does not start", 100, "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device")
    gpus, problem, hint = gpus_with(monkeypatch, error)
    assert (gpus, problem) == ((), None)
    assert hint and "CUDA_VISIBLE_DEVICES" in hint


def test_a_driver_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    error = driver.failure("the CUDA driver does not start", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): …")
    gpus, problem, hint = gpus_with(monkeypatch, error)
    assert gpus == () and problem and problem.endswith("(803): …")
    assert hint and "reboot" in hint


# The cache.


def test_a_cache(cache_dir: Path) -> None:
    found = looking.look(trial=False).cache
    assert (found.folder, found.used, found.problem, found.bytes) == (str(cache_dir), True, None, 0)
    assert found.limit == 2 << 30


def test_a_cache_that_cannot_be_made(cache_dir: Path) -> None:
    cache_dir.parent.mkdir()
    cache_dir.touch()
    problem = looking.look(trial=False).cache.problem
    assert problem and problem.startswith(f"the cache {cache_dir} is not used")


# The trial.


def test_a_kernel_compiles(cold_workers: None) -> None:
    assert compile_one() == ""


def test_a_kernel_that_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cutlass.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    says = f"the module 'cutlass' here is {tmp_path}/cutlass.py, not that of nvidia-cutlass-dsl"
    assert compile_one().startswith(f"compiling a kernel ends with status 1: {says}")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("kill -SEGV $$", "signal 11"),
        ("echo 'error: no' >&2; echo 'hint: none' >&2; exit 3", "status 3: no"),
        ("echo Traceback >&2; echo 'ImportError: gone' >&2; exit 1", "status 1: ImportError: gone"),
        ("exit 1", "status 1"),
    ],
)
def test_a_process_that_fails(program: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert compile_one() == f"compiling a kernel ends with {says}"


def test_the_trial_is_of_a_known_target() -> None:
    assert "sm_90a" in [each.name for each in known_targets()]
