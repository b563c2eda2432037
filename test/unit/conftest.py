"""What many tests need: the command line, and the repository's kernels, traced once for all of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "test" / "kernels"
EXAMPLES = ROOT / "examples"
CUTECC = Path(sys.executable).with_name("cutecc")

# Also for what fixtures of whole modules and sessions compile.
os.environ["CUTECC_CACHE"] = "0"
# A shell starts what runs in its background with interrupts ignored, which all processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the developer's shell sets, tests see the defaults, but for the user's cache, which they leave alone."""
    for name in [*os.environ]:
        if name.startswith("CUTECC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CUTECC_CACHE", "0")


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turns the cache on, in a folder of its own; returns the folder that holds its files."""
    monkeypatch.setenv("CUTECC_CACHE", "1")
    monkeypatch.setenv("CUTECC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "v1"


@pytest.fixture
def cutecc(tmp_path: Path) -> Run:
    """Runs the `cutecc` command in `tmp_path`, its output captured; `status` is the exit code to expect.

    No run may end in a traceback of ours, whatever else happens.
    """

    def run(
        *arguments: object, status: int = 0, env: dict[str, str] | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        result = subprocess.run(
            [CUTECC, *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, **(env or {})},
            input=input,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == status, f"status {result.returncode}, not {status}:\n{result.stdout}{result.stderr}"
        if "--debug" not in arguments:
            assert "Traceback (most recent call last)" not in result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def says(cutecc):
    """Runs `cutecc compile` and checks each line of its message, in order, as a pattern."""

    def check(*arguments: object, status: int, lines: list[str], env: dict[str, str] | None = None) -> str:
        done = cutecc("compile", *arguments, status=status, env=env)
        assert done.stdout == ""
        assert "internal error" not in done.stderr
        rest = done.stderr.splitlines()
        for pattern in lines:
            found = next((index for index, line in enumerate(rest) if re.fullmatch(pattern, line)), None)
            assert found is not None, f"no line {pattern!r} (in this order) in:\n{done.stderr}"
            rest = rest[found + 1 :]
        return done.stderr

    return check


@dataclass(frozen=True)
class TracedKernel:
    """A kernel of the repository as the DSL traced it for its header's target."""

    source: Path
    module: Path
    target: str

    @property
    def name(self) -> str:
        return self.source.stem

    @property
    def bytecode(self) -> bytes:
        return self.module.read_bytes()


@pytest.fixture(scope="session")
def traced_kernels(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, TracedKernel]:
    """Every kernel of `test/kernels` and `examples` by name, traced by one process for all of pytest's workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "traced"
    sources = [*sorted(KERNELS.glob("*.py")), *sorted(EXAMPLES.glob("*.py"))]
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            partial.mkdir(exist_ok=True)
            script = Path(__file__).with_name("trace_kernels.py")
            done = subprocess.run(
                [sys.executable, script, partial, *sources], capture_output=True, text=True, timeout=600
            )
            assert done.returncode == 0, done.stderr
            partial.rename(folder)
    kernels: dict[str, TracedKernel] = {}
    for source in sources:
        (module,) = folder.glob(f"{source.stem}-sm_*.mlirbc")
        kernels[source.stem] = TracedKernel(source, module, module.stem.rpartition("-")[2])
    return kernels


@pytest.fixture(scope="session")
def small_kernel(traced_kernels: dict[str, TracedKernel]) -> TracedKernel:
    """A kernel that compiles quickly."""
    return traced_kernels["vector_copy"]


@pytest.fixture(scope="session")
def other_kernel(traced_kernels: dict[str, TracedKernel]) -> TracedKernel:
    """Another one, which loops and calls math functions."""
    return traced_kernels["math_functions"]
