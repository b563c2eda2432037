"""What many tests need: the command line, and the repository's kernels, traced once for all of them."""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_report import longer_kernel
from emulated_runs import EmulatedKernels
from filelock import FileLock
from hypothesis import settings
from kept_listings import keeping
from warm_client import WarmProcess
from warm_processes import Starter, Templates, same_start

from cutecc.backend import nvdisasm
from cutecc.support import isolation

# How long a case takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "test" / "kernels"
EXAMPLES = ROOT / "examples"
CUTECC = Path(sys.executable).with_name("cutecc")

NEEDS_TORCH = {"bring_your_own_kernel"}
"""Kernels whose files import it: nvidia-cutlass-operators does."""

_NAMES_TORCH = re.compile(r"\b(torch|KERNEL_NAMES|names_in)\b")
"""What `make test-torch` looks for in files, to collect no others."""


def names_in(*folders: Path) -> list[Any]:
    """Names of `traced_kernels`, for `pytest.mark.parametrize`."""
    names = sorted(path.stem for folder in folders for path in folder.glob("*.py"))
    return [pytest.param(name, marks=pytest.mark.torch) if name in NEEDS_TORCH else name for name in names]


MANY_CASES = 3
"""Of a slow test, from which on not all of them are run each time."""
KERNEL_NAMES = names_in(KERNELS, EXAMPLES)

# Also for what fixtures of whole modules and sessions compile.
os.environ["CUTECC_CACHE"] = "0"
# Before any test changes them.
ENVIRONMENT = dict(os.environ)
START_PYTHON = isolation.start_python
# A shell starts what runs in its background with interrupts ignored, which all processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@functools.cache
def has_torch() -> bool:
    """Whether it is installed; it is not imported for that."""
    return importlib.util.find_spec("torch") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes the fixture `torch` has the marker, by which `make test-torch` chooses."""
    for item in items:
        if "torch" in getattr(item, "fixturenames", ()):
            item.add_marker("torch")
    for path in {item.path for item in items if item.get_closest_marker("torch")}:
        if not _NAMES_TORCH.search(path.read_text()):
            raise pytest.UsageError(f"{path} needs torch and does not name it: make test-torch would not find it")
    _leave_to_the_night(items)


def _leave_to_the_night(items: list[pytest.Item]) -> None:
    """Of a slow test with more cases than `MANY_CASES`, a third of them is run each time, all of them at night."""
    cases: defaultdict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("each_time"):
            cases[item.path, getattr(item, "originalname", item.name)].append(item)
    for group in cases.values():
        if len(group) > MANY_CASES:
            for number, item in enumerate(group):
                if number % 3:
                    item.add_marker("nightly")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and not has_torch():
        pytest.skip("torch is not installed: make test-torch")


@pytest.fixture(scope="session")
def torch() -> Any:
    """The module; tests that take it are left out where it is not installed."""
    return importlib.import_module("torch")


def pytest_collection_finish() -> None:
    """Have the garbage collector look at what tests make, and no more at what they import: a tenth of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the developer's shell sets, tests see the defaults, but for the user's cache, which they leave alone,
    and for `CUTECC_ATTACKS`, which is theirs.

    What a command that is called in this process sets, such as what `--load` names, is gone after the test.
    """
    for name in [*os.environ]:
        if name.startswith("CUTECC_") and name != "CUTECC_ATTACKS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("CUTECC_CACHE", "0")
    yield
    for name in [*os.environ]:
        if name.startswith("CUTECC_") and name != "CUTECC_ATTACKS":
            del os.environ[name]


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turns the cache on, in a folder of its own; returns the folder that holds its files."""
    monkeypatch.setenv("CUTECC_CACHE", "1")
    monkeypatch.setenv("CUTECC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "v1"


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder for all of pytest's workers."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session", autouse=True)
def listings(shared_folder: Path) -> Iterator[Path]:
    """Where what nvdisasm says of each cubin is kept, for this process and those that are warm."""
    folder = shared_folder / "listings"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        if "COLD_START" not in os.environ:
            patch.setattr(nvdisasm, "disassemble", keeping(folder))
        yield folder


@pytest.fixture(scope="session")
def templates(listings: Path) -> Iterator[Templates]:
    """What processes of the command line are copies of."""
    templates = Templates(ENVIRONMENT, listings)
    yield templates
    templates.close()


@pytest.fixture(scope="session")
def commands_folder(request: pytest.FixtureRequest) -> Path | None:
    """A folder for `PATH` whose `cutecc` begins with its imports done; with `COLD_START=1`, there is none."""
    return None if "COLD_START" in os.environ else request.getfixturevalue("templates").folder_of_commands()


@pytest.fixture(scope="session")
def command(commands_folder: Path | None) -> Path:
    """The `cutecc` program for a shell or a terminal, which begins with its imports done; Ctrl-C does not reach it."""
    return commands_folder / "cutecc" if commands_folder else CUTECC


@pytest.fixture(scope="session", autouse=True)
def _warm_workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Processes that the library starts begin with their imports done; not with `COLD_START=1`."""
    # Threads start processes too.
    lock = threading.Lock()

    @functools.cache
    def starter() -> Starter:
        return request.getfixturevalue("templates").starter(START_PYTHON)

    def start(entry: str, *descriptors: int, **settings: Any) -> Any:
        with lock:
            warm = starter()
        return warm(entry, *descriptors, **settings)

    with pytest.MonkeyPatch.context() as patch:
        if "COLD_START" not in os.environ:
            patch.setattr(isolation, "start_python", start)
        yield


@pytest.fixture
def cold_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the library starts in a test are interpreters of their own, and its children."""
    monkeypatch.setattr(isolation, "start_python", START_PYTHON)


@pytest.fixture(scope="session")
def cutecc_in(request: pytest.FixtureRequest) -> Run:
    """Runs the `cutecc` command in a folder, its output captured; `status` is the exit code to expect, or several.

    No run may end in a traceback of ours, whatever else happens. The command is a process of its own in any case; it is
    one with its imports done (`warm_processes`) unless it is `cold`, or an interpreter would read its environment.
    """

    def run(
        folder: Path,
        *arguments: object,
        status: int | tuple[int, ...] = 0,
        env: dict[str, str] | None = None,
        input: str | None = None,
        cold: bool = "COLD_START" in os.environ,
    ) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        environment |= env or {}
        command = [str(CUTECC), *map(str, arguments)]
        templates = None if cold else request.getfixturevalue("templates")
        if templates and same_start(environment, templates.environment):
            result = subprocess.CompletedProcess(
                command, *templates.run(command, folder=folder, environment=environment, input=input or "")
            )
        else:
            result = subprocess.run(
                command, cwd=folder, env=environment, input=input, capture_output=True, text=True, timeout=300
            )
        expected = status if isinstance(status, tuple) else (status,)
        assert result.returncode in expected, (
            f"status {result.returncode}, not {status}:\n{result.stdout}{result.stderr}"
        )
        if "--debug" not in arguments:
            assert "Traceback (most recent call last)" not in result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def cutecc(tmp_path: Path, cutecc_in: Run) -> Run:
    """Runs the `cutecc` command in `tmp_path`."""
    return functools.partial(cutecc_in, tmp_path)


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


class TracedKernels(Mapping[str, TracedKernel]):
    """Kernels by name, each traced when it is first asked for, once for all of pytest's workers.

    One that cannot be traced fails the tests that ask for it, and no others.
    """

    def __init__(self, folder: Path, sources: dict[str, Path], templates: Templates | None) -> None:
        """Into `folder`, by copies of what `templates` has, or by interpreters."""
        self._folder = folder
        self._sources = sources
        self._templates = templates

    def __getitem__(self, name: str) -> TracedKernel:
        source = self._sources[name]
        error = self._folder / f"{name}.error"
        with FileLock(self._folder / f"{name}.lock"):
            if not (error.exists() or self._module(name)):
                self._trace(source, error)
        if error.exists():
            pytest.fail(f"{source} was not traced: {error.read_text()}", pytrace=False)
        module = self._module(name)
        assert module is not None
        return TracedKernel(source, module, module.stem.rpartition("-")[2])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def _module(self, name: str) -> Path | None:
        return next(self._folder.glob(f"{name}-sm_*.mlirbc"), None)

    def _trace(self, source: Path, error: Path) -> None:
        arguments = [str(self._folder), str(source)]
        if self._templates:
            with open(os.devnull, "r+") as nothing:
                streams = [nothing.fileno()] * 3
                status = WarmProcess(
                    self._templates.address("tracing"),
                    "trace_kernels:main",
                    ["trace_kernels.py", *arguments],
                    streams=streams,
                    environment=ENVIRONMENT,
                    path=sys.path,
                ).wait(timeout=300)
        else:
            script = Path(__file__).with_name("trace_kernels.py")
            status = subprocess.run([sys.executable, script, *arguments], stdout=subprocess.DEVNULL).returncode
        if status:
            error.write_text(f"the process ended with status {status}")


@pytest.fixture(scope="session")
def traced_kernels(shared_folder: Path, request: pytest.FixtureRequest) -> TracedKernels:
    """Every kernel of `test/kernels` and `examples` by name.

    Those that need torch are left out where it is not installed. The one that is large to measure with goes over fewer
    keys: four of its steps are what sixteen are.
    """
    folder = shared_folder / "traced"
    folder.mkdir(exist_ok=True)
    sources = {path.stem: path for path in [*sorted(KERNELS.glob("*.py")), *sorted(EXAMPLES.glob("*.py"))]}
    sources = {name: path for name, path in sources.items() if has_torch() or name not in NEEDS_TORCH}
    shorter = folder / "large_unrolled.py"
    with FileLock(f"{shorter}.lock"):
        if not shorter.exists():
            shorter.write_text(longer_kernel(256))
    sources[shorter.stem] = shorter
    return TracedKernels(folder, sources, None if "COLD_START" in os.environ else request.getfixturevalue("templates"))


@pytest.fixture(scope="session")
def emulated(_warm_workers: None) -> Iterator[EmulatedKernels]:
    """Kernels of files on the emulator, without the command line."""
    dsl = isolation.Worker()
    yield EmulatedKernels(dsl)
    dsl.close()


@pytest.fixture(scope="session")
def small_kernel(traced_kernels: TracedKernels) -> TracedKernel:
    """A kernel that compiles quickly."""
    return traced_kernels["vector_copy"]


@pytest.fixture(scope="session")
def other_kernel(traced_kernels: TracedKernels) -> TracedKernel:
    """Another one, which loops and calls math functions."""
    return traced_kernels["math_functions"]
