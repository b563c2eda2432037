"""For pytest: the fixture `cutecc_device`, which runs kernels on the CPU emulator, on a GPU where there is one, and
compares what they write.

    def test_add(cutecc_device):
        c = cutecc_device.run(add, a, b, np.empty_like(a))[2]
        np.testing.assert_array_equal(c, a + b)
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import Checks

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
    group.addoption("--cutecc-seed", type=int, default=0, help="of the emulator's schedule")


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
        seed=int(option("--cutecc-seed")),
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

        The results are the arguments of the call, by position or name, arrays with what the emulator wrote (or the GPU,
        where only that runs). Where both run, every array is compared: an element is the same when the difference is at
        most `tolerance` times its size plus that of the array, by default what `cutecc run` takes for the type. Fails
        the test for a difference, for what the checks find, and for a fault. `check` takes the place of
        `--cutecc-check`.
        """
        from cutecc.trial.copies import copied

        cpu = gpu = None
        if self.on_cpu:
            cpu = copied(args, kwargs)
            options = {"check": self._check if check is None else check, "schedule": self._schedule, "seed": self._seed}
            self._emulate(kernel, cpu.args, cpu.kwargs, options)
        if self.on_gpu:
            gpu = copied(args, kwargs)
            gpu.run_on_gpu(kernel)
        if cpu and gpu and (problems := cpu.differences(gpu, tolerance)):
            pytest.fail("the emulator and the GPU differ:\n" + "\n".join(problems), pytrace=False)
        ran = cpu or gpu
        assert ran is not None
        names = zip(_names(kernel, args, kwargs), ran.args, strict=False)
        return Results(ran.args, {**dict(names), **ran.kwargs})

    def _emulate(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: dict[str, Any]) -> None:
        from cutecc.emulator.options import EmulatorOptions
        from cutecc.errors import LaunchError

        self.emulation = None
        options = EmulatorOptions.of(**given)
        try:
            self.emulation = cast("Emulation", kernel.emulate(*args, **kwargs, emulator=options))
            self.emulation.raise_findings()
        except LaunchError as error:  # faults and findings, told once: frames of ours say nothing to the test's author
            failure = str(error)
        else:
            return
        pytest.fail(failure, pytrace=False)


class Results(tuple[Any, ...]):
    """The arguments of a call after it: by their names, and those that were passed by position by that too."""

    by_name: dict[str, Any]

    def __new__(cls, args: tuple[Any, ...], by_name: dict[str, Any]) -> Results:
        made = super().__new__(cls, args)
        made.by_name = by_name
        return made

    def __getitem__(self, key: Any) -> Any:
        return self.by_name[key] if isinstance(key, str) else super().__getitem__(key)


def _names(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The names of the parameters that `args` are for."""
    if (function := getattr(kernel, "__cutecc_wrapped__", None)) is not None:  # of @cutecc.jit
        return [*inspect.signature(function).parameters]
    one = getattr(kernel, "modelled", kernel)  # of a set
    return one.launcher.binder.positional_names(args, kwargs)


def _checks(text: str) -> frozenset[str]:
    from cutecc.emulator.options import read_checks

    return _read(read_checks, None if text == "none" else text)


def _schedule(text: str) -> str:
    from cutecc.emulator.options import read_schedule

    return _read(read_schedule, text)


def _read(reader: Callable[[Any], _Value], text: str | None) -> _Value:
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
