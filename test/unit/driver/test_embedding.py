"""`cutecc.compile_module` for a compiler that embeds it: what it takes, its context, calls from inside of calls."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import cutecc
from cutecc.compilation.events import PassFinished
from cutecc.compilation.request import CompileOptions
from cutecc.errors import ParseError, PassError, SpecError, UsageError
from cutecc.ir.mlir import arith, ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import remark, run_pipeline
from cutecc.passes.base import ModulePass
from cutecc.passes.pipeline import Pipeline

QUIET = CompileOptions(reproduce=False)
ADDITION = "func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32  return %0 : i32 }"


def test_arguments_in_order(small_kernel) -> None:
    names: list[str] = []

    class Names(cutecc.Observer):
        def event(self, event):
            if isinstance(event, PassFinished):
                names.append(event.step.name)

    kernel = cutecc.compile_module(small_kernel.bytecode, "sm_80", "cse,canonicalize", [Names()])
    assert [step.name for step in kernel.compilation.steps] == names == ["cse", "canonicalize"]


@pytest.mark.parametrize("isolation", ["none", "worker"])
@pytest.mark.parametrize(
    ("module", "kind", "message"),
    [
        (None, UsageError, "a module is MLIR text, bytecode or an ir.Module, not a builtins.NoneType"),
        (Path("kernel.mlir"), UsageError, r"not a pathlib\.PosixPath\nhint: hand over .*: path\.read_bytes\(\)"),
        (bytearray(b"module {}"), UsageError, "not a builtins.bytearray"),
        (" \n", ParseError, "the text of the module is empty"),
        (b"", ParseError, "the text of the module is empty"),
        ("\ud800", ParseError, "is neither MLIR bytecode nor UTF-8 text"),
        ("mine.op", ParseError, r"Dialect `mine' not found for custom op 'mine\.op'(.|\n)*hint: .*lower others"),
        ('"mine.op"() : () -> ()', ParseError, r"operation being parsed with an unregistered dialect\n(.|\n)*hint: "),
    ],
    ids=["none", "path", "bytearray", "blank", "empty", "surrogate", "dialect", "generic"],
)
def test_what_is_no_module(module, kind, message: str, isolation) -> None:
    with pytest.raises(kind, match=message) as caught:
        cutecc.compile_module(module, "sm_80", isolation=isolation)
    assert "MLIR tool used" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pipeline": 3}, "pipeline is a name, a text or a Pipeline, not 3"),
        ({"target": 80}, "a target is a name, as sm_90a, or a Target, not 80"),
        ({"target": "sm_80,sm_90a"}, "one target at a time, not sm_80, sm_90a"),
        ({"observers": print}, "observers are a list, not <built-in function print>"),
        ({"observers": [print]}, "an observer is an object with methods of cutecc.Observer, not <built-in function"),
        ({"observers": [cutecc.Observer]}, "an observer is an object with methods of cutecc.Observer, not <class"),
        ({"options": {"opt_level": 3}}, "options is a CompileOptions, not {'opt_level': 3}"),
        ({"signature": "x"}, "signature is a Signature, not 'x'"),
        ({"cache": "yes"}, "cache is a bool, not 'yes'"),
    ],
    ids=str,
)
def test_arguments_of_other_types(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        cutecc.compile_module("module {}", **{"target": "sm_80", **arguments})
    assert caught.value.message.startswith(message)


def test_a_module_of_the_hosts_own_dialect() -> None:
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.parse('"mine.op"() : () -> ()')
    with pytest.raises(ParseError, match=r"dialect 'mine' is unknown(.|\n)*hint: .*lower others"):
        cutecc.compile_module(module, "sm_80")


def test_what_is_no_isolation() -> None:
    with pytest.raises(UsageError, match="isolation is 'none' or 'worker', not 'thread'"):
        cutecc.compile_module("module {}", "sm_80", isolation="thread")  # pyright: ignore[reportArgumentType]


def test_signatures_by_hand(small_kernel) -> None:
    signature = cutecc.Signature.of("axpy", a="f32", x="f32[?N{div=4}] align=16", y="f32[?N]")
    assert signature.function == "axpy"
    specs = {parameter.name: parameter.spec for parameter in signature.parameters}
    assert specs == {"a": "f32", "x": "f32[?N{div=4}] align=16", "y": "f32[?N{div=4}]"}
    with pytest.raises(SpecError, match="f32"):
        cutecc.Signature.of("axpy", a="f32[")
    kernel = cutecc.compile_module(small_kernel.bytecode, "sm_80", "cse", signature=signature)
    assert kernel.signature == signature


class Raises(cutecc.Observer):
    def event(self, event):
        if isinstance(event, PassFinished):
            raise ZeroDivisionError


@pytest.mark.parametrize("isolation", ["none", "worker"])
@pytest.mark.parametrize(
    ("pipeline", "observers", "expected"),
    [
        ("cse", [], None),
        ("nonsense", [], UsageError),
        ("convert-cute-to-core", [], PassError),
        ("cse", [Raises()], ZeroDivisionError),
    ],
)
def test_the_callers_context_stays_current(small_kernel, pipeline, observers, expected, isolation) -> None:
    """What the caller builds afterwards goes where it would have gone, with the same location."""
    with ir.Context() as context, ir.Location.file("host.py", 1, 2) as location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body) as point:
            arguments = small_kernel.bytecode, "sm_80", pipeline, observers
            if expected:
                with pytest.raises(expected):
                    cutecc.compile_module(*arguments, options=QUIET, isolation=isolation)
            else:
                cutecc.compile_module(*arguments, isolation=isolation)
            assert (ir.Context.current, ir.Location.current) == (context, location)
            assert ir.InsertionPoint.current.block == point.block
            arith.constant(ir.IntegerType.get_signless(32), 7)
        (constant,) = module.body.operations
        assert constant.location == location
    assert ir.Context.current is None


@pytest.mark.slow
def test_no_context_lives_on(small_kernel) -> None:
    """Types, attributes and threads belong to contexts: they are gone when the call is, also without the collector."""
    gc.collect()
    before = ir.Context._get_live_count()
    for pipeline in ("nvidia", "open"):
        for _ in range(2):
            cutecc.compile_module(small_kernel.bytecode, "sm_80", pipeline)
            assert ir.Context._get_live_count() == before
    for pipeline, observers in (("nonsense", []), ("convert-cute-to-core", []), ("cse", [Raises()])):
        with pytest.raises((cutecc.Error, ZeroDivisionError)):
            cutecc.compile_module(small_kernel.bytecode, "sm_80", pipeline, observers)
        assert ir.Context._get_live_count() == before


@dataclass(frozen=True)
class CompilesAnother(ModulePass):
    """Compiles a module of its own, and says so before and after."""

    name: ClassVar[str] = "test-compiles-another"
    isolation: str = "none"

    def run(self, module):
        remark(module.operation, "before")
        inner = cutecc.compile_module(
            ADDITION, "sm_80", Pipeline((Says(),)), isolation=self.isolation, options=CompileOptions(reproduce=False)
        )
        assert [each.message for step in inner.compilation.steps for each in step.remarks] == ["inside"]
        run_pipeline("canonicalize", module)
        remark(module.operation, "after")


@dataclass(frozen=True)
class Says(ModulePass):
    """Speaks, and changes the module by other passes."""

    name: ClassVar[str] = "test-says"

    def run(self, module):
        remark(module.operation, "inside")
        run_pipeline("cse,canonicalize", module)


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_a_pass_may_compile(isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the inner passes say is not said by the outer one."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    kernel = cutecc.compile_module(ADDITION, "sm_80", Pipeline((CompilesAnother(isolation),)))
    (step,) = kernel.compilation.steps
    assert [each.message for each in step.remarks] == ["before", "after"]


@pytest.mark.parametrize("inner", ["none", "worker"])
@pytest.mark.parametrize("outer", ["none", "worker"])
def test_an_event_handler_may_compile(outer, inner) -> None:
    results: list[str] = []

    class Compiles(cutecc.Observer):
        def event(self, event):
            if isinstance(event, PassFinished) and event.step.name == "cse":
                kernel = cutecc.compile_module(ADDITION, "sm_80", "canonicalize", isolation=inner)
                results.append(kernel.compilation.status)

    kernel = cutecc.compile_module(ADDITION, "sm_80", "canonicalize,cse", [Compiles()], isolation=outer)
    assert (kernel.compilation.status, results) == ("ok", ["ok"])


def test_an_observer_may_compile_and_look_at_its_module_afterwards() -> None:
    texts: list[str] = []

    class Compiles(cutecc.Observer):
        def after(self, position, module, seconds):
            cutecc.compile_module(module, "sm_80", "canonicalize")
            texts.append(str(module))

    with fresh_context():
        expected = str(parse(ADDITION.encode()))
    cutecc.compile_module(ADDITION, "sm_80", "cse,cse", [Compiles()])
    assert texts == [expected] * 2
