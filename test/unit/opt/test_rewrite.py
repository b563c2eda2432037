"""Rewriting a file in this process: what is told, in which order, of passes that speak, fail or run together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

from cutecc.errors import PassError, UsageError
from cutecc.ir.mlir import ir
from cutecc.ir.modules import body_of
from cutecc.opt.request import (
    ChunkFinished,
    ChunkStarted,
    Event,
    Parsed,
    PassesFinished,
    PassStarted,
    PrintChoice,
    Printed,
    RewriteRequest,
    Said,
)
from cutecc.opt.rewrite import rewrite
from cutecc.passes import diagnostics, lookup, registry
from cutecc.passes.base import ModulePass


@dataclass(frozen=True)
class Speak(ModulePass):
    """Say something about each constant, and fail at the number 13."""

    name: ClassVar[str] = "speak"

    def run(self, module: ir.Module) -> None:
        found: list[ir.Operation] = []

        def visit(operation: ir.Operation) -> ir.WalkResult:
            if operation.name == "arith.constant":
                found.append(operation)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        for operation in found:
            value = operation.attributes["value"].value
            if value == 13:
                raise diagnostics.error(operation, "13 is unlucky", notes=["so they say"])
            diagnostics.remark(operation, f"a constant {value}")
            if value < 0:
                diagnostics.warning(operation, "negative")
                diagnostics.note(operation.location, "seen here")


@dataclass(frozen=True)
class Collide(ModulePass):
    """Give all functions one name, which the verifier does not accept."""

    name: ClassVar[str] = "collide"

    def run(self, module: ir.Module) -> None:
        for operation in body_of(module.operation):
            operation.attributes["sym_name"] = ir.StringAttr.get("same")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(Speak)
    registry.register(Collide)
    yield


def told(text: str, **settings: object) -> list[Event]:
    events: list[Event] = []
    rewrite(RewriteRequest(text.encode(), "in.mlir", "sm_90a", **settings), emit=events.append)  # pyright: ignore
    return events


def said(events: list[Event]) -> list[str]:
    return [
        f"{each.diagnostic.location}: {each.diagnostic.severity}: {each.diagnostic.message}"
        for each in events
        if isinstance(each, Said)
    ]


CONSTANTS = """func.func @f() {
  %0 = arith.constant 4 : i32
  %1 = arith.constant -5 : i32
  return
}
"""


def test_what_is_told_in_which_order() -> None:
    events = told(CONSTANTS, pipeline="speak,cse", prints=PrintChoice(after=["cse"]))
    kinds = [type(each) for each in events]
    assert kinds == [
        *(ChunkStarted, Parsed, PassStarted, Said, Said, Said, Said, PassStarted, Printed, PassesFinished),
        ChunkFinished,
    ]
    done = events[-1]
    assert isinstance(done, ChunkFinished)
    assert not done.failed
    assert b"func.func @f" in done.output


def test_what_passes_say_is_said_with_its_place_and_line() -> None:
    events = told(CONSTANTS, pipeline="speak")
    assert said(events) == [
        "in.mlir:2:8: remark: a constant 4",
        "in.mlir:3:8: remark: a constant -5",
        "in.mlir:3:8: warning: negative",
        "in.mlir:3:8: note: seen here",
    ]
    first = next(each for each in events if isinstance(each, Said))
    assert first.diagnostic.location is not None
    assert first.diagnostic.location.excerpt() == "    %0 = arith.constant 4 : i32\n         ^"


def test_what_passes_say_can_be_expected() -> None:
    text = """func.func @f() {
  %0 = arith.constant 4 : i32 // expected-remark {{a constant 4}}
  // expected-remark @+3 {{a constant -5}}
  // expected-warning @+2 {{negative}}
  // expected-note @+1 {{seen here}}
  %1 = arith.constant -5 : i32
  return
}
"""
    events = told(text, pipeline="speak", verify_diagnostics=True)
    assert said(events) == []
    assert isinstance(events[-1], ChunkFinished)
    assert not events[-1].failed
    assert said(told(text.replace("negative}}", "positive}}"), pipeline="speak", verify_diagnostics=True)) == [
        "in.mlir:6:8: error: unexpected warning: negative",
        'in.mlir:4:6: error: expected warning "positive" was not produced',
    ]


def test_a_python_passs_error_and_its_notes_can_be_expected() -> None:
    text = """func.func @f() {
  // expected-error @below {{13 is unlucky}}
  %0 = arith.constant 13 : i32 // expected-note {{so they say}}
  return
}
"""
    text = text.replace("@below", "@+1")
    events = told(text, pipeline="speak", verify_diagnostics=True)
    assert said(events) == []
    assert isinstance(events[-1], ChunkFinished)
    assert (events[-1].failed, events[-1].output) == (False, b"")


def test_what_the_verifier_finds_after_a_pass_can_be_expected() -> None:
    text = """// expected-note @below {{see existing symbol definition here}}
func.func @a() { return }
// expected-error @below {{redefinition of symbol named 'same'}}
func.func @b() { return }
"""
    assert said(told(text, pipeline="collide", verify_diagnostics=True, verify_each=True)) == []
    assert said(told(text, pipeline="collide", verify_diagnostics=True)) == []


def test_a_failing_pass_is_an_error_with_its_name_place_and_line() -> None:
    with pytest.raises(PassError) as caught:
        told("%0 = arith.constant 13 : i32", pipeline="speak")
    assert caught.value.pass_name == "speak"
    assert str(caught.value).splitlines()[:4] == [
        "in.mlir:1:6: 13 is unlucky",
        "  %0 = arith.constant 13 : i32",
        "       ^",
        "note: so they say",
    ]


def test_each_chunk_is_rewritten_on_its_own() -> None:
    text = f"{CONSTANTS}// -----\n%0 = arith.constant 13 : i32\n// -----\n%0 = arith.constant 7 : i32\n"
    events = told(text, pipeline="speak", split=True)
    assert [each.index for each in events if isinstance(each, ChunkStarted)] == [0, 1, 2]
    finished = [each for each in events if isinstance(each, ChunkFinished)]
    assert [each.failed for each in finished] == [False, True, False]
    assert [each.error.message if each.error else "" for each in finished] == ["", "13 is unlucky", ""]
    assert said(events)[-1] == "in.mlir:9:6: remark: a constant 7"
    only_last: list[Event] = []
    rewrite(RewriteRequest(text.encode(), "in.mlir", "sm_90a", "speak", split=True), 2, emit=only_last.append)
    assert [each.index for each in only_last if isinstance(each, ChunkStarted)] == [2]


def test_a_wrong_request_is_raised() -> None:
    with pytest.raises(UsageError, match="no pass is called"):
        told(CONSTANTS, pipeline="no-such-pass", split=True)
    with pytest.raises(UsageError, match="no pass 'sccp' in the pipeline"):
        told(CONSTANTS, pipeline="cse", prints=PrintChoice(before=["sccp"]))


def test_text_that_is_no_text_is_an_error_of_its_chunk() -> None:
    events: list[Event] = []
    rewrite(RewriteRequest(b"func.func @\xff()\n// -----\n", "in.mlir", "sm_90a", split=True), emit=events.append)
    first, second = [each for each in events if isinstance(each, ChunkFinished)]
    assert first.error is not None
    assert "neither MLIR bytecode nor UTF-8 text" in first.error.message
    assert not second.failed


@pytest.mark.parametrize("form", ["mlir", "bytecode", "llvm", "ptx"])
def test_an_invalid_result_is_an_error(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    # Of a pass that is not a plugin's, only the end is verified.
    monkeypatch.setattr(Collide, "provider", "cutecc")
    with pytest.raises(PassError, match="invalid after the last pass, cse: redefinition of symbol") as caught:
        told("func.func @a() { return }\nfunc.func @b() { return }", pipeline="collide,cse", form=form)
    assert caught.value.hints == ["--verify-each says which pass left it so"]


def test_prints_name_passes_that_are_there_and_run() -> None:
    for after in (["all", "cs"], ["cs"]):
        with pytest.raises(UsageError, match="no pass 'cs' in the pipeline"):
            told(CONSTANTS, pipeline="cse", prints=PrintChoice(after=after))
    last = "canonicalize#2"
    pipeline = "canonicalize,cuda-to-binary,canonicalize"
    with pytest.raises(UsageError, match=r"'canonicalize#2' is not reached: .* --emit=ptx"):
        told(CONSTANTS, pipeline=pipeline, form="ptx", prints=PrintChoice(before=[last]))
