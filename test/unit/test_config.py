"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.config import Settings
from cutecc.errors import UsageError


@pytest.fixture(autouse=True)
def _with_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTECC_CACHE")


def test_nothing_is_set() -> None:
    assert Settings.from_environment() == Settings(None, None, False)


def test_everything_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_TARGET", "sm_90a")
    monkeypatch.setenv("CUTECC_PTXAS", "/opt/ptxas")
    monkeypatch.setenv("CUTECC_DEBUG", "1")
    assert Settings.from_environment() == Settings("sm_90a", Path("/opt/ptxas"), True)


@pytest.mark.parametrize("value", ["", "0"])
def test_zero_and_empty_mean_no(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CUTECC_DEBUG", value)
    monkeypatch.setenv("CUTECC_TARGET", "")
    monkeypatch.setenv("CUTECC_PTXAS", "")
    assert Settings.from_environment() == Settings(None, None, False)


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("500M", 500 << 20), ("2 GiB", 2 << 30), ("3kb", 3 << 10), ("0", 0), ("7B", 7)]
)
def test_sizes(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("CUTECC_CACHE_SIZE", text)
    assert Settings.from_environment().cache_size == size


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "5 K M", "GiB", "10iB2"])
def test_what_is_no_size(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("CUTECC_CACHE_SIZE", text)
    with pytest.raises(UsageError, match=r"CUTECC_CACHE_SIZE: .* is not a size"):
        Settings.from_environment()


def test_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_CACHE", "0")
    monkeypatch.setenv("CUTECC_CACHE_DIR", "/somewhere")
    settings = Settings.from_environment()
    assert not settings.cache
    assert settings.cache_dir == Path("/somewhere")


@pytest.mark.parametrize("variable", ["debug", "native", "cache"])
def test_on_and_off(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    def is_on(text: str) -> bool:
        monkeypatch.setenv(f"CUTECC_{variable.upper()}", text)
        return getattr(Settings.from_environment(), variable)

    assert all(map(is_on, ["1", "true", "YES", "On"]))
    assert not any(map(is_on, ["0", "false", "NO", "Off"]))
    assert is_on("") == is_on(" ") == getattr(Settings(), variable)
    with pytest.raises(UsageError, match=f"CUTECC_{variable.upper()}: 'maybe' is neither on nor off"):
        is_on("maybe")
