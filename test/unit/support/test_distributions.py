"""What is said of a module that is not installed, where everything of cutecc is."""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager

import pytest

import cutecc
from cutecc.errors import NotInstalledError, UsageError
from cutecc.support.distributions import is_here, needed_by


def test_a_module_that_no_distribution_has_is_missing_as_others_are() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'cutecc\.no_such'") as caught:
        importlib.import_module("cutecc.no_such")
    assert not isinstance(caught.value, cutecc.Error)


def test_a_module_of_the_other_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, cutecc._Elsewhere])
    with pytest.raises(NotInstalledError, match=r"^cutecc\.no_such is in the distribution cutecc, and only") as caught:
        importlib.import_module("cutecc.no_such")
    assert isinstance(caught.value, UsageError)
    assert caught.value.hints == ["pip install cutecc"]
    with pytest.raises(NotInstalledError, match=r"^drawing needs the distribution cutecc, and only"), drawing():
        importlib.import_module("cutecc.no_such.other")


def test_a_name_whose_module_is_of_the_other_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, cutecc._Elsewhere])
    monkeypatch.setitem(cutecc._HOMES, "drawing", "cutecc.no_such")
    assert not hasattr(cutecc, "drawing")
    said = r"^cutecc\.drawing needs the distribution cutecc, and only"
    with pytest.raises(AttributeError, match=said) as caught:
        _ = cutecc.drawing
    assert isinstance(caught.value, UsageError)
    assert caught.value.hints == ["pip install cutecc"]
    # Python would only say that it cannot import the name.
    with pytest.raises(NotInstalledError, match=said):
        exec("from cutecc import drawing")
    with pytest.raises(NotInstalledError, match=said):
        exec("import cutecc.drawing")


def test_a_name_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, cutecc._Elsewhere])
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'cutecc\.load'"):
        exec("import cutecc.load")


def test_a_module_that_is_called_as_a_name_of_ours_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, cutecc._Elsewhere])
    monkeypatch.setitem(cutecc._HOMES, "drawing", "cutecc.no_such")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'drawing'$"):
        exec("import drawing")


def test_where_everything_is_nothing_of_the_process_changes() -> None:
    assert cutecc._Elsewhere not in sys.meta_path


def test_a_package_of_an_extra() -> None:
    with pytest.raises(NotInstalledError, match=r"^drawing needs numpy, which is not") as caught, drawing():
        raise ModuleNotFoundError("No module named 'numpy.linalg'", name="numpy.linalg")
    assert caught.value.hints == ["pip install 'cutecc-runtime[run]'"]


def test_what_is_said_already_is_not_said_again() -> None:
    outer = needed_by("printing", extra="emulator")
    with pytest.raises(NotInstalledError, match=r"^drawing needs numpy"), outer, drawing():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")


def test_another_package_is_nobody_of_ours() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such") as caught, drawing():
        importlib.import_module("no_such")
    assert not isinstance(caught.value, cutecc.Error)


def test_where_modules_are() -> None:
    assert is_here("cutecc.driver")
    assert is_here("cutecc.passes.nvidia")
    assert not is_here("cutecc.no_such")


def drawing() -> AbstractContextManager[None]:
    return needed_by("drawing", extra="run")
