"""Calls that go over from Python to machine code, and back where machine code does not apply."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
from gpu_arrays import InterfaceArray
from native_driver_double import FUNCTIONS, NativeDriver
from recording import RecordingDriver
from scale_kernel import KERNEL, block, compilation, program

from cutecc.errors import LaunchError
from cutecc.record import Parameter, Signature
from cutecc.record.host_program import HostArgument, Leaf, encode
from cutecc.runtime.launcher import Launcher
from cutecc.runtime.native import builtin
from cutecc.runtime.native.switch import CALLS_BEFORE

pytest.importorskip("llvmlite")


def make(*, flat: bool = False) -> tuple[Launcher, RecordingDriver, NativeDriver]:
    """`scale`, a driver for Python and one for machine code; `flat` takes `x` as a pointer and a number."""
    host, driver = program(), RecordingDriver()
    record = compilation(host=host)
    if flat:
        kinds = (("pointer", "i64"), ("scalar", "i32"), ("scalar", "f32"), ("stream", "i64"))
        host = replace(host, arguments=[HostArgument([Leaf(*kind)]) for kind in kinds])  # pyright: ignore
        specs = {"x": "ptr<f32>", "n": "i32", "factor": "f32", "stream": "stream"}
        record.signature = Signature("scale", [Parameter(*each) for each in specs.items()])
        record.files["scale.host-program"] = encode(host)
    native = NativeDriver(host)
    driver.functions = lambda: native.functions
    driver._handles = itertools.count(FUNCTIONS - 1)  # the library's, then the kernel's
    return Launcher(record, driver), driver, native


def launch(address: int, size: int, factor: float, stream: int = 0) -> tuple[object, ...]:
    return (KERNEL, (size // 32, 1, 1), (32, 1, 1), 0, stream, {}, block(address, size, factor))


def test_a_call_that_comes_often_becomes_machine_code() -> None:
    launcher, driver, native = make(flat=True)
    for number in range(CALLS_BEFORE):
        launcher.call(0x1000 * (number + 1), 64, 1.0)
    assert (launcher.switch.launch_path, launcher.switch.reason) == ("native", None)
    assert len(driver.launches) == CALLS_BEFORE and not native.events
    launcher.call(0xAB00, 96, 2.5)
    launcher.call(0xCD00, 32, 2.5, stream=8)
    assert native.events == [launch(0xAB00, 96, 2.5), launch(0xCD00, 32, 2.5, 8)]
    assert len(driver.launches) == CALLS_BEFORE


def test_what_machine_code_does_not_do_python_does() -> None:
    launcher, driver, native = make(flat=True)
    for _ in range(CALLS_BEFORE):
        launcher.call(0x1000, 64, 1.0)
    native.capturing = 1
    driver.capturing.add(8)
    launcher.call(0x2000, 64, 1.0, stream=8)
    assert driver.launches[-1].stream == 8 and launcher.load(0).library.is_pinned
    native.capturing = 0
    with pytest.raises(LaunchError, match=r"grid \(0, 1, 1\)"):
        native.status_of = lambda _count: 1
        launcher.call(0x2000, 31, 1.0)


def test_unloading_takes_the_machine_code_away() -> None:
    launcher, driver, native = make(flat=True)
    for _ in range(CALLS_BEFORE + 1):
        launcher.call(0x1000, 64, 1.0)
    launcher.unload()
    launcher.call(0x1000, 64, 1.0)
    assert len(native.events) == 1 and driver.calls["load_library"] == 2
    assert launcher.switch.launch_path == "python"


def test_machine_code_that_is_ready_after_unloading_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher, driver, native = make(flat=True)
    prepared = launcher.prepare(0x1000, 64, 1.0)

    def unload_then(build: Callable[..., object]) -> Callable[..., object]:
        def slow_build(*args: object, **kwargs: object) -> object:
            made = build(*args, **kwargs)
            launcher.unload()  # by another thread
            return made

        return slow_build

    for name in ("build", "build_prepared"):
        monkeypatch.setattr(f"cutecc.runtime.native.builtin.{name}", unload_then(getattr(builtin, name)))
    for _ in range(CALLS_BEFORE):
        prepared()
    with pytest.raises(LaunchError, match="unloaded since"):
        prepared()
    for _ in range(CALLS_BEFORE):
        launcher.call(0x1000, 64, 1.0)
    driver._handles = itertools.count(FUNCTIONS - 1)
    launcher.call(0x1000, 64, 1.0)
    assert launcher.switch.launch_path == "python"
    assert not native.events and len(driver.launches) == 2 * CALLS_BEFORE + 1


def test_a_prepared_call_of_empty_arrays_stays_in_python() -> None:
    launcher, driver, native = make()
    prepared = launcher.prepare(InterfaceArray("float32", (0,), address=0), 2.0)
    for _ in range(CALLS_BEFORE + 2):
        prepared()
    assert not native.events and not native.asked and not driver.launches


def test_machine_code_keeps_no_launcher_alive() -> None:
    launcher, _, native = make(flat=True)
    for _ in range(CALLS_BEFORE + 1):
        launcher.call(0x1000, 64, 1.0)
    assert native.events
    launchers, libraries = weakref.ref(launcher), weakref.ref(launcher.load(0).library)
    del launcher
    assert launchers() is None and libraries() is None


def test_a_prepared_call_becomes_machine_code() -> None:
    launcher, driver, native = make()
    prepared = launcher.prepare(InterfaceArray("float32", (64,), address=0xBEE0), 2.0)
    for _ in range(CALLS_BEFORE):
        prepared()
    assert len(driver.launches) == CALLS_BEFORE and not native.events
    prepared()
    assert native.events == [launch(0xBEE0, 64, 2.0)]
    prepared(stream=9)
    assert driver.launches[-1].stream == 9
    native.device = 1  # another GPU is current
    prepared()
    assert len(driver.launches) == CALLS_BEFORE + 2 and len(native.events) == 1
    launcher.unload()
    with pytest.raises(LaunchError, match="unloaded since"):
        prepared()


def test_the_setting_keeps_calls_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_NATIVE", "0")
    launcher, driver, native = make(flat=True)
    prepared = launcher.prepare(0x1000, 64, 1.0)
    for _ in range(CALLS_BEFORE + 5):
        launcher.call(0x1000, 64, 1.0)
        prepared()
    assert not native.events and len(driver.launches) == 2 * (CALLS_BEFORE + 5)
