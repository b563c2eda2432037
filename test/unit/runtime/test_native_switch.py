"""Calls go over to machine code when a form of them has come often, and stay in Python where that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from native_driver_double import NativeDriver
from test_native_programs import one_operation

from cutecc.record.compilation import Parameter, Signature
from cutecc.runtime.native.switch import CALLS_BEFORE, NativeSwitch
from cutecc.runtime.parameters import call_parameters


class Kernel:
    """A launcher in small: `call` is what a call of it calls."""

    def __init__(self, spec: str = "i32") -> None:
        self.program = one_operation("ctpop", "i32", 1, "i32")
        self.driver = NativeDriver(self.program)
        self.python_calls = 0
        self.switch = NativeSwitch(
            self.program,
            call_parameters(Signature("host", [Parameter("x", spec)])),
            slow=self.call_in_python,
            report=lambda status, kernel: None,
            resources=lambda device: (self.driver.handles, self.driver.functions, self),
            install=self.install,
        )
        self.call: Callable[..., Any] = self.call_in_python
        self.installed = 0

    def install(self, call: Callable[..., Any], keeper: object) -> None:
        assert keeper is self
        self.call = call
        self.installed += 1

    def call_in_python(self, *args: Any, **kwargs: Any) -> None:
        self.python_calls += 1
        self.switch.note(args, kwargs, 0)


def test_a_form_that_comes_often_becomes_machine_code() -> None:
    kernel = Kernel()
    assert (kernel.switch.launch_path, kernel.switch.reason) == ("python", None)
    for _ in range(CALLS_BEFORE):
        assert kernel.switch.launch_path == "python"
        kernel.call(7)
    assert kernel.switch.launch_path == "native"
    for _ in range(5):
        kernel.call(7)
    assert kernel.python_calls == CALLS_BEFORE and kernel.driver.launches == 5
    kernel.call(7, 8)
    assert kernel.python_calls == CALLS_BEFORE + 1


def test_calls_by_name_do_not_count() -> None:
    kernel = Kernel()
    for _ in range(2 * CALLS_BEFORE):
        kernel.call(x=7)
    assert kernel.switch.launch_path == "python"


def test_what_cannot_be_machine_code_stays_in_python_and_says_why() -> None:
    kernel = Kernel()
    for _ in range(2 * CALLS_BEFORE):
        kernel.call("seven")
    assert kernel.switch.launch_path == "python"
    assert kernel.switch.reason == "argument 'x' is a str, no int"
    assert kernel.python_calls == 2 * CALLS_BEFORE


def test_the_setting_keeps_calls_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_NATIVE", "0")
    kernel = Kernel()
    for _ in range(2 * CALLS_BEFORE):
        kernel.call(7)
    assert (kernel.switch.launch_path, kernel.switch.reason) == ("python", "CUTECC_NATIVE is 0")


def test_several_forms_are_all_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnAnotherDevice(Kernel):
        device = 0

        def call_in_python(self, *args: Any, **kwargs: Any) -> None:
            self.python_calls += 1
            self.switch.note(args, kwargs, self.driver.device)

    kernel = OnAnotherDevice()
    for device in (0, 1):
        kernel.driver.device = device
        for _ in range(CALLS_BEFORE):
            kernel.call(7)
    assert kernel.installed == 2
    calls = kernel.python_calls
    for device in (0, 1, 0):
        kernel.driver.device = device
        kernel.call(7)
    assert kernel.python_calls == calls
    kernel.driver.device = 2
    kernel.call(7)
    assert kernel.python_calls == calls + 1


def test_without_llvmlite_calls_stay_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from cutecc.runtime.native import compiler

    compiler._llvm.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    kernel = Kernel()
    for _ in range(CALLS_BEFORE):
        kernel.call(7)
    assert kernel.switch.launch_path == "python"
    assert "llvmlite cannot be used" in str(kernel.switch.reason)
    assert compiler._llvm.cache_info().currsize == 0
