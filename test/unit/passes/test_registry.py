"""Which passes there are."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import pytest
from sample_passes import Rename

from cutecc.errors import UsageError
from cutecc.passes import lookup, registry
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.passes.registrations import definitions
from cutecc.target import Target


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setattr(registry, "_pipelines", dict(registry._pipelines))


def test_registered_passes_are_found_by_name() -> None:
    assert lookup.find_pass("test-rename") is None
    assert registry.register(Rename) is Rename
    assert lookup.find_pass("test-rename") is Rename
    assert lookup.registered_passes()["test-rename"] is Rename


def test_a_name_that_is_taken_names_both() -> None:
    registry.register(Rename)

    @dataclass(frozen=True)
    class Other(ModulePass):
        """Another pass."""

        name: ClassVar[str] = "test-rename"

        def run(self, module):
            pass

    with pytest.raises(UsageError) as caught:
        registry.register(Other)
    assert "sample_passes.Rename" in caught.value.message
    assert Other.__qualname__ in caught.value.message
    assert lookup.find_pass("test-rename") is Rename


def short(name: str, target: Target, options: WheelOptions) -> Pipeline:
    """One pass of them."""
    return Pipeline.parse(name)


class Longer:
    """Two passes."""

    def __call__(self, target: Target, options: WheelOptions) -> Pipeline:
        return Pipeline.parse("cse,canonicalize")


@pytest.mark.parametrize(
    ("build", "summary", "passes"),
    [
        (functools.partial(short, "cse"), "One pass of them.", "cse"),
        (functools.partial(functools.partial(short), "cse"), "One pass of them.", "cse"),
        (Longer(), "Two passes.", "cse,canonicalize"),
    ],
)
def test_a_pipeline_may_be_whatever_can_be_called(build: Any, summary: str, passes: str) -> None:
    assert registry.register_pipeline("test-short", build) is build
    registry.register_pipeline("test-short", build)
    found = lookup.registered_pipelines()["test-short"]
    assert (found.summary, found.origin) == (summary, "test_registry")
    assert str(choose_pipeline("test-short", Target.parse("sm_90a"))) == passes
    assert registry.for_worker(["test-short"]) == (found,)
    assert definitions()["test-short"].__module__ == __name__
    with pytest.raises(UsageError, match=r"two pipelines are called 'test-short': test_registry\.(short|Longer) and "):
        registry.register_pipeline("test-short", lambda target, options: Pipeline())


def test_registering_again_after_a_reload_is_fine() -> None:
    registry.register(Rename)
    registry.register(Rename)
    assert lookup.find_pass("test-rename") is Rename


def test_every_pass_of_ours_has_the_shape_of_one() -> None:
    passes = lookup.registered_passes()
    assert passes, "the reimplementations are registered"
    for name, pass_class in passes.items():
        assert name == pass_class.name
        assert name == name.lower()
        assert "_" not in name
        assert is_dataclass(pass_class)
        assert pass_class.__dataclass_params__.frozen, name  # type: ignore[attr-defined]
        assert pass_class.summary().endswith("."), f"{name}: the first line of the docstring is a sentence"
        assert pass_class() == pass_class(), name
        source = inspect.getsource(pass_class)
        for field in fields(pass_class):
            after = source.partition(f"    {field.name}: ")[2].partition("\n")[2].lstrip()
            assert after.startswith('"""'), f"{name}: field {field.name} has a docstring below it"


def test_one_file_holds_one_pass_called_like_it() -> None:
    for name, pass_class in lookup.registered_passes().items():
        if pass_class.provider != "composite":  # whose name says which stretch of the pipeline it stands for
            package, _, module = pass_class.__module__.rpartition(".")
            prefix = "check-" if package.startswith("cutecc.passes.analysis") else ""
            assert prefix + module.replace("_", "-") == name
