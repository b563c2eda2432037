"""Which passes there are."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, is_dataclass
from typing import ClassVar

import pytest
from sample_passes import Rename

from cutecc.errors import UsageError
from cutecc.passes import lookup, registry
from cutecc.passes.base import ModulePass


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


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
            prefix = "check-" if package == "cutecc.passes.analysis" else ""
            assert prefix + module.replace("_", "-") == name
