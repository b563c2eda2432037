"""Tests that need a GPU. Where there is none they are reported as not run, with the command that runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

COMMAND = "make gpu"


def _missing() -> str | None:
    """Why these tests cannot run here; `None` when they can."""
    from cutecc.errors import LaunchError
    from cutecc.runtime.workspace import Workspace

    try:
        with Workspace():
            return None
    except LaunchError as error:
        return error.message


@pytest.fixture(scope="session")
def why_not() -> str | None:
    return _missing()


@pytest.fixture(autouse=True)
def _needs_a_gpu(why_not: str | None) -> None:
    if why_not is not None:
        pytest.skip(f"not run: {why_not}")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the developer's shell sets, tests see the defaults; and a cache of their own, unless told another."""
    folder = os.environ.get("CUTECC_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
    for name in [*os.environ]:
        if name.startswith("CUTECC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CUTECC_CACHE_DIR", folder)


@pytest.fixture
def torch() -> Iterator[object]:
    module = pytest.importorskip("torch", reason="not run: torch is not installed")
    if not module.cuda.is_available():
        pytest.skip("not run: this torch has no CUDA")
    yield module
    module.cuda.synchronize()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what did not run here, and why; kernels for other GPUs, which pytest lists, are left out."""
    told = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    reasons = [reason for _, mark, reason in (text.partition("not run: ") for text in told) if mark]
    if reasons:
        terminalreporter.write_line(
            f"test/gpu: {len(reasons)} tests were NOT RUN here: {'; '.join(sorted(set(reasons)))}. "
            f"On a machine with a CUDA GPU: {COMMAND}"
        )
