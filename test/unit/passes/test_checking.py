"""What a class must be like to be registered as a pass."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import cutecc
from cutecc.errors import UsageError
from cutecc.passes import ModulePass, OperationPass, lookup, registry
from cutecc.passes.pipeline import Pipeline


class Colour(enum.Enum):
    """A type without a text form."""

    RED = 1


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setattr(registry, "_pipelines", dict(registry._pipelines))
    yield


class Base(ModulePass):
    """What the classes below share."""

    name: ClassVar[str] = "test-shape"

    def run(self, module: Any) -> None:
        pass


def refused(pass_class: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        cutecc.register(pass_class)
    assert "test-shape" not in registry.registered_names()
    return caught.value


def test_what_is_no_pass() -> None:
    assert refused(Colour).message == "Colour is no pass"
    assert refused(lambda: None).message.endswith("is no pass")


def test_a_class_without_run() -> None:
    @dataclass(frozen=True)
    class Idle(ModulePass):
        name: ClassVar[str] = "test-shape"

    error = refused(Idle)
    assert error.message.endswith("Idle has no method 'run'")
    assert error.location is not None
    assert Path(error.location.file) == Path(__file__)
    assert error.location.line is not None
    assert "@dataclass" in Path(__file__).read_text().splitlines()[error.location.line - 1]


def test_a_class_that_is_not_a_dataclass() -> None:
    class Plain(Base):
        count: int = 0

    assert refused(Plain).message.endswith("Plain is not a dataclass")


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Colour, Colour.RED, "Colour"),
        (Path, Path(), "Path"),
        (list[int], None, "list"),
        (tuple[int, int], (1, 2), "tuple"),
        (int | str, 1, "int | str"),
        (Literal[1, 2], 1, "Literal"),
        (dict[str, int] | None, None, "dict"),
    ],
)
def test_types_without_a_text_form(kind: Any, value: Any, shown: str) -> None:
    made = type("Made", (Base,), {"__annotations__": {"it": kind}, "it": value, "__module__": __name__})
    message = refused(dataclass(frozen=True)(made)).message
    assert "has the field 'it' of type " in message
    assert shown in message


def test_fields_that_are_no_options() -> None:
    @dataclass(frozen=True)
    class Factory(Base):
        sizes: tuple[int, ...] = field(default_factory=tuple)

    @dataclass(frozen=True)
    class Computed(Base):
        size: int = field(default=1, init=False)

    assert "the field 'sizes' with a default_factory" in refused(Factory).message
    assert "the field 'size', which is no option" in refused(Computed).message


def test_names() -> None:
    @dataclass(frozen=True)
    class Option(ModulePass):
        name: str = "test-shape"  # pyright: ignore

        def run(self, module: Any) -> None:
            pass

    @dataclass(frozen=True)
    class Nameless(ModulePass):
        def run(self, module: Any) -> None:
            pass

    assert refused(Option).message.endswith("Option has its name as an option")
    assert refused(Nameless).message.endswith("Nameless has no name")
    for wrong in ("test_shape", "Test", "a b", "", "-a", "a{b}", "a,b"):
        made = dataclass(frozen=True)(type("Made", (Base,), {"name": wrong, "__module__": __name__}))
        assert f"has the name '{wrong}'; names are small letters" in refused(made).message


def test_passes_and_pipelines_share_their_names() -> None:
    @dataclass(frozen=True)
    class Shape(Base):
        """Fine."""

    @dataclass(frozen=True)
    class Nvidia(Base):
        name: ClassVar[str] = "nvidia"

    assert refused(Nvidia).message.endswith("Nvidia is called 'nvidia', as a pipeline is")
    cutecc.register_pipeline("test-all", lambda target, options: Pipeline())
    assert refused(
        dataclass(frozen=True)(type("All", (Base,), {"name": "test-all", "__module__": __name__}))
    ).message.endswith("All is called 'test-all', as a pipeline is")
    cutecc.register(Shape)
    for name in ("test-shape", "cse", "arith-expand"):
        with pytest.raises(UsageError, match=f"is called '{name}', as a pass is"):
            cutecc.register_pipeline(name, lambda target, options: Pipeline())


def test_an_option_without_a_default_must_be_given() -> None:
    @cutecc.register
    @dataclass(frozen=True)
    class Shape(Base):
        least_size: int

    with pytest.raises(UsageError, match="pass test-shape: option 'least-size' must be given"):
        Pipeline.parse("test-shape")
    assert str(Pipeline.parse("test-shape{least-size=4}")) == "test-shape{least-size=4}"


@pytest.mark.parametrize(
    ("failure", "text"),
    [(ValueError("too small"), "ValueError: too small"), (UsageError("no such size"), "no such size")],
)
def test_an_option_that_the_pass_refuses(failure: Exception, text: str) -> None:
    @cutecc.register
    @dataclass(frozen=True)
    class Shape(Base):
        size: int = 4

        def __post_init__(self) -> None:
            raise failure

    with pytest.raises(UsageError) as caught:
        Pipeline.parse("test-shape{size=1}")
    assert caught.value.message == f"pass test-shape: {text}"


@pytest.mark.parametrize(
    ("base", "runs_on", "complaint"),
    [
        (Base, ("gpu.func",), "says what it runs on, and runs on the module"),
        (OperationPass, "gpu.func", "says that it runs on 'gpu.func', which is no tuple of names"),
        (OperationPass, ("gpu.func", 1), "says that it runs on ('gpu.func', 1), which is no tuple of names"),
        (OperationPass, ("function",), "runs on what does not exist: no operation is called 'function'"),
        (OperationPass, ("gpu.*",), "runs on what does not exist: no operation is called 'gpu.*'"),
    ],
)
def test_what_a_pass_says_that_it_runs_on(base: type, runs_on: object, complaint: str) -> None:
    attributes = {"name": "test-shape", "runs_on": runs_on, "run": lambda self, operation: None, "__module__": __name__}
    assert refused(dataclass(frozen=True)(type("Made", (base,), attributes))).message.endswith(complaint)


def test_what_a_pass_runs_on_is_no_option() -> None:
    @dataclass(frozen=True)
    class Option(OperationPass):
        name: ClassVar[str] = "test-shape"
        runs_on: tuple[str, ...] = ("gpu.func",)  # pyright: ignore

        def run(self, operation: Any) -> None:
            pass

    assert refused(Option).message.endswith("Option has what it runs on as an option")


def test_an_operation_pass_without_run() -> None:
    @dataclass(frozen=True)
    class Idle(OperationPass):
        name: ClassVar[str] = "test-shape"

    error = refused(Idle)
    assert error.message.endswith("Idle has no method 'run'")
    assert error.hints == ["def run(self, operation: ir.Operation) -> None: ..."]
