"""Samples of all that a process runs on its GPUs, and the cubins that they are of."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from cutecc.errors import ProfilingError
from cutecc.profiling.cupti import Cupti, Event
from cutecc.profiling.sampler import SampledPc, Sampler

_READ_SECONDS = 0.1
"""Between two readings: at CUPTI's own rate the hardware's buffer holds a third of a second."""
_PATIENCE_SECONDS = 2.0
"""How long a context that ends waits for a reading that goes on."""


class Collector:
    """From `begin` to `end`, samples of every context of this process.

    CUPTI tells of contexts and modules on whatever thread makes them, while that thread is inside of the driver: what
    hears it must wait for nothing that may wait for the driver.
    """

    def __init__(self, cupti: Cupti, *, period: int | None = None) -> None:
        """`period` as for `Sampler`."""
        self._cupti, self._period = cupti, period
        self._reading = threading.RLock()
        self._samplers: dict[int, Sampler] = {}
        self._images: list[bytes] = []
        self._known: dict[int, bytes] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name="cutecc-profile", daemon=True)
        self._began = 0.0
        self.counts: Counter[SampledPc] = Counter()
        self.dropped = self.other = 0
        self.was_full = False
        self.seconds = 0.0
        """From `begin` to `end`."""
        self.failures: list[ProfilingError] = []
        """Of contexts that could not be sampled, which no program is to end from."""
        self.graphs = 0
        """CUDA graphs that were instantiated meanwhile."""

    def begin(self, contexts: Sequence[int]) -> None:
        """Sample these contexts, and those that are made from now on. Raises `ProfilingError`."""
        self._cupti.subscribe(self._hear)
        try:
            for context in contexts:
                self._samplers[context] = Sampler(self._cupti, context, period=self._period)
        except ProfilingError:
            self._cupti.detach()
            raise
        self._began = time.perf_counter()
        self._thread.start()

    def end(self) -> None:
        """Stop, with all that was sampled in `counts`. All kernels have ended."""
        self.seconds = time.perf_counter() - self._began
        self._over.set()
        self._thread.join()
        for context in [*self._samplers]:
            self._finish(context)
        self._known = {self._cupti.crc(image): image for image in dict.fromkeys(self._images)}
        self._cupti.detach()

    @property
    def has_contexts(self) -> bool:
        """Whether there was a context to sample."""
        return bool(self._samplers or self.counts)

    def cubins(self) -> dict[int, bytes]:
        """By CRC, those that were loaded between `begin` and `end`."""
        return self._known

    def _hear(self, event: Event, context: int, cubin: bytes | None) -> None:
        try:
            match event:
                case Event.CONTEXT_CREATED if context not in self._samplers:
                    self._samplers[context] = Sampler(self._cupti, context, period=self._period)
                case Event.CONTEXT_DESTROY_STARTING if context in self._samplers:
                    self._finish(context)
                case Event.GRAPH_INSTANTIATED:
                    self.graphs += 1
                case Event.MODULE_LOADED if cubin is not None:
                    self._images.append(cubin)
                case _:
                    pass
        except ProfilingError as failure:
            self.failures.append(failure)

    def _finish(self, context: int) -> None:
        sampler = self._samplers.pop(context)
        if not self._reading.acquire(timeout=_PATIENCE_SECONDS):
            return
        with suppress(ProfilingError):  # the context may be gone with its samples
            sampler.finish()
        self._reading.release()
        self.counts += sampler.counts
        self.dropped += sampler.dropped
        self.other += sampler.other
        self.was_full |= sampler.was_full

    def _read_on(self) -> None:
        while not self._over.wait(_READ_SECONDS):
            with self._reading, suppress(ProfilingError):
                for sampler in [*self._samplers.values()]:
                    sampler.read()
