"""What a record says of a compilation that was interrupted, wherever that was: never that it is still running."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import cutecc
import cutecc.compilation.events
from cutecc.compilation import worker
from cutecc.compilation.events import Event, PassFinished, PassStarted, Planned
from cutecc.passes.instrumentation import SnapshotRecorder
from cutecc.record.folder import RecordFolder, read_folder

OBSERVED = cutecc.CompileOptions(observe=True)


class Interrupts(cutecc.Observer):
    """Ctrl-C at the first event of a kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def event(self, event: Event) -> None:
        if type(event).__name__ == self._kind:
            self._kind = ""
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("isolation", ["none", "worker"])
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    ("event", "status"),
    [
        (Planned, "interrupted"),
        (PassStarted, "interrupted"),
        (PassFinished, "interrupted"),
        (cutecc.compilation.events.ArtifactsStarted, "interrupted"),
        (cutecc.compilation.events.Finished, "ok"),
    ],
)
def test_an_interrupt_at_any_event(
    small_kernel, tmp_path: Path, monkeypatch, isolation, cached: bool, event: type[Event], status: str
) -> None:
    monkeypatch.setenv("CUTECC_CACHE_DIR", str(tmp_path / "cache"))
    if cached:
        cutecc.compile_module(small_kernel.bytecode, "sm_80", options=OBSERVED, cache=True)
    try:
        cutecc.compile_module(
            small_kernel.bytecode,
            "sm_80",
            observers=[Interrupts(event.__name__)],
            isolation=isolation,
            options=OBSERVED,
            output=tmp_path / "out",
            cache=cached,
        )
    except KeyboardInterrupt:
        assert read_folder(tmp_path / "out").status in ({status, "ok", "interrupted"} if cached else {status})
    else:
        assert cached, "the cache makes no artifacts, and starts no pass"


def test_an_interrupt_while_the_last_dumps_are_read(small_kernel, tmp_path: Path, monkeypatch) -> None:
    finish = SnapshotRecorder.finish

    def interrupted(self: SnapshotRecorder) -> None:
        signal.raise_signal(signal.SIGINT)
        finish(self)

    monkeypatch.setattr(SnapshotRecorder, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cutecc.compile_module(small_kernel.bytecode, "sm_80", options=OBSERVED, output=tmp_path, cache=False)
    assert read_folder(tmp_path).status == "ok"


def test_a_second_interrupt_while_the_first_is_written_down(small_kernel, tmp_path: Path, monkeypatch) -> None:
    reopen = RecordFolder.reopen

    def interrupted(path: Path, handle: str | None = None) -> RecordFolder:
        signal.raise_signal(signal.SIGINT)
        return reopen(path, handle)

    monkeypatch.setattr(worker.RecordFolder, "reopen", interrupted)
    observers = [Interrupts("PassFinished")]
    with pytest.raises(KeyboardInterrupt):
        cutecc.compile_module(
            small_kernel.bytecode,
            "sm_80",
            observers=observers,
            isolation="worker",
            options=OBSERVED,
            output=tmp_path,
            cache=False,
        )
    assert read_folder(tmp_path).status == "interrupted"
