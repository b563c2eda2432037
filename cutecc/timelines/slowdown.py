"""What recording costs: the same call plain, with recording code that does nothing, and recording, in turn."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, Protocol

from cutecc.timelines.recording import Memory, Recorder
from cutecc.timelines.timeline import Slowdown

_WARM_UP, _RUNS = 3, 21


class ClockedMemory(Memory, Protocol):
    """The GPU's memory, and its clock."""

    def record(self) -> Any: ...

    def elapsed(self, start: Any, stop: Any) -> float: ...

    def synchronize(self) -> None: ...


def measure_slowdown(
    memory: ClockedMemory, recorder: Recorder, recording: Callable[[], object], plain: Callable[[], object] | None
) -> Slowdown:
    """Time `recording`, the call that `recorder` arms, and `plain`. Medians of rounds in which each has a turn.

    Regions are cleared before each of them, armed or not: all begin with the same cache, and none waits for the host.
    """
    armed = recorder.armed()
    times: dict[str, list[float]] = {"plain": [], "idle": [], "recorded": []}
    for _ in range(_WARM_UP + _RUNS):
        events: dict[str, tuple[Any, Any]] = {}
        for name in times:
            call = plain if name == "plain" else recording
            if call is None:
                continue
            recorder.arm(armed)
            if name == "idle":
                recorder.disarm()
            start = memory.record()
            call()
            events[name] = start, memory.record()
        memory.synchronize()
        for name, pair in events.items():
            times[name].append(memory.elapsed(*pair))
    recorder.disarm()
    medians = {name: statistics.median(found[_WARM_UP:]) for name, found in times.items() if found}
    return Slowdown(medians["recorded"], medians["idle"], medians.get("plain"))
