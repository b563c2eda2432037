"""What passes say, and who hears it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import ModulePass, error, manager, note, remark, run_pipeline, walk, warning
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import Observer
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Remark

TEXT = b"""
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32 loc(callsite("lib.py":1:2 at "user.py":3:4))
  %1 = arith.addi %0, %a : i32
  return %1 : i32 loc(unknown)
}
"""


@dataclass(frozen=True)
class Talks(ModulePass):
    """Says something of each kind."""

    name: ClassVar[str] = "test-talks"

    fail: bool = False

    def run(self, module: ir.Module) -> None:
        first, second = walk(module, "arith.addi")
        remark(first, "one")
        warning(second, "two")
        note(second.operands[1], "three")
        remark(next(walk(module, "func.return")), "four")
        remark(ir.Location.file("given.py", 5, 6), "five")
        remark(None, "six")
        if self.fail:
            raise error(first, "seven", notes=["eight"], hints=["nine"])


@dataclass(frozen=True)
class Nests(ModulePass):
    """Runs a pass that talks, and a wheel's pass that fails."""

    name: ClassVar[str] = "test-nests"

    fail: bool = False

    def run(self, module: ir.Module) -> None:
        run_pipeline(Pipeline((Talks(fail=self.fail),)), module)


SAID = [
    Remark("remark", "one", "user.py:3:5"),
    Remark("warning", "two", "-:4:8"),
    Remark("note", "three", "-:2:14"),
    Remark("remark", "four", None),
    Remark("remark", "five", "given.py:5:7"),
    Remark("remark", "six", None),
]


class Listener(Observer):
    """Notes down what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def before(self, position, module):
        self.told.append(f"before {position.pass_.name}")

    def after(self, position, module, seconds):
        self.told.append(f"after {position.pass_.name}")

    def remarked(self, position, remark):
        self.told.append(remark)

    def failed(self, position, error, seconds):
        self.told.append(f"failed {position.pass_.name}")


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with fresh_context():
        yield parse(TEXT)


def test_observers_hear_remarks_while_the_pass_runs(module: ir.Module) -> None:
    listener = Listener()
    manager.run(Pipeline((Talks(),)), module, [listener])
    assert listener.told == ["before test-talks", *SAID, "after test-talks"]


def test_an_error_names_the_place_and_the_pass(module: ir.Module) -> None:
    listener = Listener()
    with pytest.raises(PassError) as caught:
        manager.run(Pipeline((Talks(fail=True),)), module, [listener])
    failure = caught.value
    assert (failure.message, failure.notes, failure.hints) == ("seven", ["eight"], ["nine"])
    assert (str(failure.location), failure.pass_name) == ("user.py:3:5", "test-talks")
    assert listener.told[-2:] == [SAID[-1], "failed test-talks"]


def test_observers_hear_passes_inside_passes(module: ir.Module) -> None:
    listener = Listener()
    manager.run(Pipeline((Nests(),)), module, [listener])
    assert listener.told == ["before test-nests", *SAID, "after test-nests"]
    with pytest.raises(PassError) as caught:
        manager.run(Pipeline((Nests(fail=True),)), module)
    assert caught.value.pass_name == "test-talks"


def test_nobody_has_to_listen(module: ir.Module, capfd: pytest.CaptureFixture[str]) -> None:
    Talks().run(module)
    assert capfd.readouterr() == ("", "")


def test_mlirs_own_remarks_are_heard_and_its_errors_are_not_taken(
    module: ir.Module, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[Remark] = []
    with hearing_remarks(heard.append, module.context):
        ir.Location.file("k.py", 1, 2).emit_error("mine")
        with pytest.raises(ir.MLIRError):
            ir.Module.parse("nonsense")
    assert not heard
    assert "mine" in capfd.readouterr().err


def test_remarks_are_in_the_record() -> None:
    options = CompileOptions(pipeline=Pipeline((Talks(),)), artifacts=())
    kernel = cutecc.compile_module(TEXT, target="sm_90a", options=options)
    (step,) = kernel.compilation.steps
    assert step.remarks == SAID
    assert step.provider == "plugin"


def test_an_internal_error_is_shown_at_the_passs_line(module: ir.Module) -> None:
    @dataclass(frozen=True)
    class Fails(ModulePass):
        """Divides by zero."""

        name: ClassVar[str] = "test-fails"

        def run(self, module: ir.Module) -> None:
            _ = 1 / 0

    with pytest.raises(PassError, match="ZeroDivisionError") as caught:
        manager.run(Pipeline((Fails(),)), module)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert "_ = 1 / 0" in caught.value.location.excerpt()


class _Speaker:
    """A context whose passes warn; no pass of the wheel is known to do it on demand."""

    def __init__(self) -> None:
        self.detached = False

    def attach_diagnostic_handler(self, handler):
        self.handler = handler
        return self

    def detach(self) -> None:
        self.detached = True

    def say(self, severity: str, message: str, place: str, *notes: object) -> bool:
        return self.handler(_diagnostic(severity, message, place, *notes))


def _diagnostic(severity: str, message: str, place: str, *notes: object) -> SimpleNamespace:
    return SimpleNamespace(
        severity=SimpleNamespace(name=severity), message=message, location=f"loc({place})", notes=list(notes)
    )


def test_warnings_of_the_wheels_passes_become_remarks() -> None:
    heard: list[Remark] = []
    context = _Speaker()
    with hearing_remarks(heard.append, cast(ir.Context, context)):
        note_ = _diagnostic("NOTE", "because of this\n", '"k.py":1:2')
        assert context.say("WARNING", "slow", '"k.py":3:4', note_)
        assert context.say("REMARK", "fused", "unknown")
        assert not context.say("ERROR", "wrong", "unknown")
    assert context.detached
    assert heard == [
        Remark("warning", "slow", "k.py:3:5"),
        Remark("note", "because of this", "k.py:1:3"),
        Remark("remark", "fused", None),
    ]
