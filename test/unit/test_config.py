"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.config import Settings


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
