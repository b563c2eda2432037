"""For pytest: the fixture `cutecc_device`, which runs kernels on the CPU emulator, on a GPU where there is one, and
compares what they write.

    def test_add(cutecc_device):
        c = cutecc_device.run(add, a, b, np.empty_like(a))[2]
        np.testing.assert_array_equal(c, a + b)
"""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from cutecc.emulator.checks.finding import Finding
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import Checks
    from cutecc.errors import Error

_Value = TypeVar("_Value")

_CHOICES = ("cpu", "cuda", "both")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `cutecc_device`."""
    group = parser.getgroup("cutecc", "kernels of cutecc")
    group.addoption(
        "--cutecc-device",
        choices=_CHOICES,
        default="both",
        help="where cutecc_device runs kernels: on the emulator, a GPU, or by default both, where there is a GPU",
    )
    group.addoption(
        "--cutecc-check",
        metavar="NAMES",
        default="all",
        type=_checks,
        help="what the emulator looks for, comma-separated, or none; all by default",
    )
    group.addoption(
        "--cutecc-schedule",
        metavar="NAME",
        default=None,
        type=_schedule,
        help="the emulator's order of warps, as of cutecc sanitize",
    )
    group.addoption("--cutecc-seed", metavar="N", type=_seed, default=0, help="of the emulator's schedule")


@pytest.fixture
def cutecc_device(request: pytest.FixtureRequest) -> CuteccDevice:
    """Runs kernels on the emulator and on a GPU where there is one: `cutecc_device.run(kernel, a, b, c)`."""

    def option(name: str) -> Any:
        return request.config.getoption(name)

    where = option("--cutecc-device")
    on_gpu = where != "cpu" and _has_gpu()
    if where == "cuda" and not on_gpu:
        pytest.fail("--cutecc-device=cuda, and this machine has no GPU, or no driver for it", pytrace=False)
    return CuteccDevice(
        on_cpu=where != "cuda",
        on_gpu=on_gpu,
        check=option("--cutecc-check"),
        schedule=option("--cutecc-schedule"),
        seed=option("--cutecc-seed"),
    )


class CuteccDevice:
    """Runs kernels where the test is to run them."""

    def __init__(
        self, *, on_cpu: bool, on_gpu: bool, check: Checks, schedule: str | None = None, seed: int = 0
    ) -> None:
        self.on_cpu = on_cpu
        """Whether kernels run on the emulator."""
        self.on_gpu = on_gpu
        """Whether they run on a GPU."""
        self.emulation: Emulation | None = None
        """Of the last run on the emulator."""
        self._check = check
        self._schedule = schedule
        self._seed = seed

    def run(
        self, kernel: Any, /, *args: Any, tolerance: float | None = None, check: Any = None, **kwargs: Any
    ) -> Results:
        """Call `kernel` with copies of the arrays, which are numpy's or torch's on the CPU; what the copies hold then.

        `kernel` is compiled, or a host function, which is called as one with `@cutecc.jit`. The results are the
        arguments of the call, by position or name, arrays with what the emulator wrote (or the GPU, where only that
        runs). Where both run, every array is compared: an element is the same when the difference is at most
        `tolerance` times its size plus that of the array, by default what `cutecc run` takes for the type. Fails the
        test for a difference, for what the checks find, and for every error of cutecc. `check` takes the place of
        `--cutecc-check`.
        """
        from cutecc.errors import Error

        try:
            return self._run(_callable(kernel), args, kwargs, tolerance, self._check if check is None else check)
        except Error as error:  # told once: frames of ours say nothing to the test's author
            failure = _failure(error)
        pytest.fail(failure, pytrace=False)

    def _run(
        self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tolerance: float | None, check: Any
    ) -> Results:
        from cutecc.emulator.options import EmulatorOptions
        from cutecc.harness.copies import copied

        cpu = gpu = None
        self.emulation = None
        if self.on_cpu:
            cpu = copied(args, kwargs)
            options = EmulatorOptions(check=check, schedule=self._schedule, seed=self._seed)
            self.emulation = cast("Emulation", kernel.emulate(*cpu.args, **cpu.kwargs, emulator=options))
            self.emulation.raise_findings()
        if self.on_gpu:
            gpu = copied(args, kwargs)
            gpu.run_on_gpu(kernel)
        if cpu and gpu and (problems := cpu.differences(gpu, tolerance)):
            pytest.fail("the emulator and the GPU differ:\n" + "\n".join(problems), pytrace=False)
        ran = cpu or gpu
        assert ran is not None
        names = zip(_names(kernel, args, kwargs), ran.args, strict=False)
        return Results(ran.args, {**dict(names), **ran.kwargs})


class Results(tuple[Any, ...]):
    """The arguments of a call after it: by their names, and those that were passed by position by that too."""

    by_name: dict[str, Any]

    def __new__(cls, args: tuple[Any, ...], by_name: dict[str, Any]) -> Results:
        made = super().__new__(cls, args)
        made.by_name = by_name
        return made

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.by_name:
            raise KeyError(f"no argument of the call is called {key!r}; there are {', '.join(self.by_name) or 'none'}")
        return self.by_name[key]


def _callable(kernel: Any) -> Any:
    """What is compiled, or compiles when it is called. Raises `UsageError` for what is no host function either."""
    from cutecc.jit_function import JitFunction, jit
    from cutecc.kernel import Kernel, KernelSet

    return kernel if isinstance(kernel, Kernel | KernelSet | JitFunction) else jit(kernel)


def _failure(error: Error) -> str:
    """The error as a test tells it. Findings begin with the first one: pytest's summary shows no more than that."""
    from cutecc.errors import SanitizerError

    if not isinstance(error, SanitizerError):
        return str(error)
    first: Finding = error.findings[0]
    location = first.place.location
    where = f"{os.path.basename(location.file)}:{location.line}" if location else f"PTX line {first.place.ptx_line}"
    return f"{first.kind} at {where}: {first.message.splitlines()[0]}\n{error}"


def _names(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The names of the parameters that `args` are for."""
    if (function := getattr(kernel, "__cutecc_wrapped__", None)) is not None:  # of @cutecc.jit
        return [*inspect.signature(function).parameters]
    one = getattr(kernel, "emulated", kernel)  # of a set
    return one.launcher.binder.positional_names(args, kwargs)


def _checks(text: str) -> frozenset[str]:
    from cutecc.emulator.options import read_checks

    return _read(read_checks, None if text == "none" else text)


def _schedule(text: str) -> str:
    from cutecc.emulator.options import REPLAY, read_schedule

    name = _read(read_schedule, text)
    if name.startswith(REPLAY):
        raise argparse.ArgumentTypeError("a kept schedule is of one kernel: cutecc sanitize repeats it")
    return name


def _seed(text: str) -> int:
    from cutecc.emulator.options import read_seed

    return _read(read_seed, int(text) if text.isdecimal() else text)


def _read(reader: Callable[[Any], _Value], text: Any) -> _Value:
    """A value of the command line. Raises what argparse shows."""
    from cutecc.errors import UsageError

    try:
        return reader(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError("; ".join([error.message, *error.hints])) from None


def _has_gpu() -> bool:
    from cutecc.errors import NoGpuError
    from cutecc.target import native_targets

    try:
        return bool(native_targets())
    except NoGpuError:
        return False
