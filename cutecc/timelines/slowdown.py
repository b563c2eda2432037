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

    Regions are cleared before each of them, armed or not: all begin with the same cache. Who comes first in a round,
    behind a wait of the host, finds the clock lower, by up to a tenth: a call that is not timed goes before.
    """
    armed = recorder.armed()
    calls = {"plain": plain, "idle": recording, "recorded": recording}
    names = [name for name, call in calls.items() if call is not None]
    times: dict[str, list[float]] = {name: [] for name in names}
    try:
        for number in range(_WARM_UP + _RUNS):
            events: dict[str, tuple[Any, Any]] = {}
            recorder.disarm()
            recording()
            turn = number % len(names)
            for name in (*names[turn:], *names[:turn]):
                recorder.arm(armed)
                if name != "recorded":
                    recorder.disarm()
                start = memory.record()
                (calls[name] or recording)()
                events[name] = start, memory.record()
            memory.synchronize()
            for name, pair in events.items():
                times[name].append(memory.elapsed(*pair))
    finally:
        recorder.disarm()
    medians = {name: statistics.median(found[_WARM_UP:]) for name, found in times.items()}
    return Slowdown(medians["recorded"], medians["idle"], medians.get("plain"))
