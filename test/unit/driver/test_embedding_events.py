"""What observers hear of a compilation, in this process and from a worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, get_args

import pytest

import cutecc
from cutecc.compilation import events
from cutecc.compilation.request import CompileOptions
from cutecc.errors import PassError, UsageError
from cutecc.passes import remark
from cutecc.passes.base import ModulePass
from cutecc.passes.pipeline import Pipeline
from cutecc.record.folder import read_folder

ADDITION = "func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32  return %0 : i32 }"
LOCATED = 'func.func @f() { return } loc("user.mlir":7:3)'


@dataclass(frozen=True)
class Says(ModulePass):
    """Speaks of the function."""

    name: ClassVar[str] = "test-says-something"

    def run(self, module):
        (function,) = module.body.operations
        remark(function.operation, "here it is")


class Heard(cutecc.Observer):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[events.Event] = []

    def event(self, event: events.Event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def test_there_is_a_name_for_every_kind() -> None:
    classes = [value for value in vars(events).values() if isinstance(value, type)]
    kinds = {each for each in classes if each.__module__ == "cutecc.compilation.events"}
    assert kinds == set(get_args(events.Event))


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_everything_in_its_order(isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    heard = Heard()
    pipeline = Pipeline((*Pipeline.parse("cse").passes, Says()))
    kernel = cutecc.compile_module(LOCATED, "sm_80", pipeline, [heard], isolation=isolation, name="mine")
    of_cse, of_says = ["PassStarted", "PassFinished"], ["PassStarted", "Said", "PassFinished"]
    assert heard.kinds == ["Parsed", "Planned", *of_cse, *of_says, "ArtifactsStarted", "Finished"]
    told: list[object] = []
    for event in heard.events:
        match event:
            case events.Planned(compilation, first, total):
                told.append((compilation.name, compilation.target, first, total))
            case events.PassStarted(index, name):
                told.append((index, name))
            case events.Said(index, name, said):
                told.append((index, name, said.severity, said.message, said.location))
            case events.PassFinished(step):
                told.append((step.index, step.status))
            case events.Finished(compilation):
                assert compilation is kernel.compilation
            case _:
                pass
    assert told == [
        ("mine", "sm_80", 1, 2),
        (1, "cse"),
        (1, "ok"),
        (2, "test-says-something"),
        (2, "test-says-something", "remark", "here it is", "user.mlir:7:3"),
        (2, "ok"),
    ]


@pytest.mark.parametrize("isolation", ["none", "worker"])
@pytest.mark.parametrize(
    ("module", "pipeline", "expected"),
    [
        ("nonsense", "cse", ["Failed"]),
        (ADDITION, "nonsense", ["Parsed", "Failed"]),
        (ADDITION, "convert-cute-to-core", ["Parsed", "Planned", "PassStarted", "PassFinished", "Failed"]),
    ],
    ids=["parse", "plan", "pass"],
)
def test_a_failure_is_told_last(small_kernel, module, pipeline, expected, isolation) -> None:
    heard = Heard()
    if expected[-2:] == ["PassFinished", "Failed"]:
        module = small_kernel.bytecode
    with pytest.raises(cutecc.Error) as caught:
        cutecc.compile_module(
            module, "sm_80", pipeline, [heard], isolation=isolation, options=CompileOptions(reproduce=False)
        )
    assert heard.kinds == expected
    assert heard.events[-1] == events.Failed(caught.value)


def test_an_abort_is_told(small_kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_library import Die

    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    heard = Heard()
    with pytest.raises(PassError, match="pass test-die aborted"):
        cutecc.compile_module(
            ADDITION, "sm_80", Pipeline((Die(),)), [heard], isolation="worker", options=CompileOptions(reproduce=False)
        )
    assert heard.kinds == ["Parsed", "Planned", "PassStarted", "Failed"]


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_events_from_the_cache(small_kernel, isolation) -> None:
    """Whoever only hears events does not keep it from answering; whoever watches passes does."""
    first, second = Heard(), Heard()
    cutecc.compile_module(small_kernel.bytecode, "sm_80", observers=[first], isolation=isolation)
    cutecc.compile_module(small_kernel.bytecode, "sm_80", observers=[second], isolation=isolation)
    assert first.kinds[:4] == ["Parsed", "Keyed", "Planned", "PassStarted"]
    assert set(second.kinds) == {"Parsed", "Keyed", "Planned", "PassFinished", "Finished"}
    assert second.kinds.count("PassFinished") == first.kinds.count("PassFinished")

    class Watches(Heard):
        def after(self, position, module, seconds):
            pass

    third = Watches()
    cutecc.compile_module(small_kernel.bytecode, "sm_80", observers=[third])
    assert "PassStarted" in third.kinds


@pytest.mark.parametrize("method", ["started", "before", "after", "remarked", "failed"])
def test_what_gets_passes_does_not_cross(method: str) -> None:
    watching = type("Watching", (Heard,), {method: lambda self, *_: None})
    with pytest.raises(UsageError, match=rf"Watching\.{method} watches passes in this process") as caught:
        cutecc.compile_module(ADDITION, "sm_80", "cse", [watching()], isolation="worker")
    assert caught.value.hints == ["events do: override `event` instead", 'or leave out isolation="worker"']


def test_both_ways_of_watching(small_kernel) -> None:
    order: list[str] = []

    class Both(cutecc.Observer):
        def before(self, position, module):
            order.append(f"before {position.pass_.name}")

        def after(self, position, module, seconds):
            order.append(f"after {position.pass_.name}")

        def event(self, event):
            order.append(type(event).__name__)

    cutecc.compile_module(ADDITION, "sm_80", "cse", [Both()])
    assert order == [
        *("Parsed", "Planned", "PassStarted", "before cse", "PassFinished", "after cse", "ArtifactsStarted"),
        "Finished",
    ]


@pytest.mark.parametrize("isolation", ["none", "worker"])
@pytest.mark.parametrize("kind", [events.Parsed, events.Said, events.PassFinished])
def test_what_a_listener_raises_comes_out(kind, isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is: a listener's failure is not that of the pass which speaks."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))

    class Raises(Heard):
        def event(self, event):
            super().event(event)
            if isinstance(event, kind):
                raise LookupError("mine")

    raises, other = Raises(), Heard()
    with pytest.raises(LookupError, match="mine"):
        cutecc.compile_module(
            LOCATED, "sm_80", Pipeline((Says(),)), [raises, other], isolation=isolation, output=tmp_path / "out"
        )
    assert (raises.kinds[-2:], other.kinds[-1]) == ([kind.__name__, "Failed"], "Failed")
    if kind is not events.Parsed:
        assert read_folder(tmp_path / "out").status == "failed"


def test_what_an_observer_raises_for_a_remark_comes_out() -> None:
    class Raises(cutecc.Observer):
        def remarked(self, position, remark):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        cutecc.compile_module(LOCATED, "sm_80", Pipeline((Says(),)), [Raises()])


def test_remarks_of_analyses_are_heard(traced_kernels) -> None:
    kernel = traced_kernels["elementwise_add"]
    heard = Heard()
    options = CompileOptions(analyses=("check-coalescing",))
    compilation = cutecc.compile_module(kernel.bytecode, "sm_80", observers=[heard], options=options).compilation
    said = [event for event in heard.events if isinstance(event, events.Said)]
    assert {event.name for event in said} == {"check-coalescing"}
    assert [event.remark for event in said] == compilation.analyses[0].remarks
