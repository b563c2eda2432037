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
    hears it waits for as little as it can.
    """

    def __init__(self, cupti: Cupti, *, period: int | None = None) -> None:
        """`period` as for `Sampler`."""
        self._cupti, self._period = cupti, period
        self._reading = threading.RLock()
        self._samplers: dict[int, Sampler] = {}
        self._ended: list[Sampler] = []
        """Their buffers are CUPTI's until it is detached."""
        self._images: dict[bytes, None] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name="cutecc-profile", daemon=True)
        self._began = 0.0
        self.cubins: dict[int, bytes] = {}
        """By CRC, those that were loaded between `begin` and `end`."""
        self.counts: Counter[SampledPc] = Counter()
        self.dropped = self.other = 0
        self.was_full = False
        self.seconds = 0.0
        """From `begin` to `end`."""
        self.failures: list[ProfilingError] = []
        """Of contexts that could not be sampled, which no program is to end from."""

    @property
    def contexts(self) -> list[int]:
        """Those that are sampled now."""
        return [*self._samplers]

    def begin(self, contexts: Sequence[int]) -> None:
        """Sample these contexts, and those that are made from now on. Raises `ProfilingError`."""
        self._cupti.subscribe(self._hear)
        try:
            for context in contexts:
                self._samplers[context] = Sampler(self._cupti, context, period=self._period)
        except ProfilingError:
            with suppress(ProfilingError):
                self._cupti.detach()
            raise
        self._began = time.perf_counter()
        self._thread.start()

    def end(self) -> None:
        """Stop, with all that was sampled in `counts`. All kernels have ended."""
        self.seconds = time.perf_counter() - self._began
        self._over.set()
        self._thread.join()
        try:
            for context in self.contexts:
                self._finish(context)
            for image in self._images:
                with suppress(ProfilingError):
                    self.cubins[self._cupti.crc(image)] = image
        finally:
            self._over.set()
            with suppress(ProfilingError):
                self._cupti.detach()

    def abandon(self) -> None:
        """Hear nothing any more: this process is a fork, which has neither the contexts nor the thread."""
        self._over.set()
        self._samplers.clear()

    def _hear(self, event: Event, context: int, cubin: bytes | None) -> None:
        if self._over.is_set():
            return
        try:
            match event:
                case Event.CONTEXT_CREATED if context not in self._samplers:
                    self._samplers[context] = Sampler(self._cupti, context, period=self._period)
                case Event.CONTEXT_DESTROY_STARTING:
                    self._finish(context)
                case Event.MODULE_LOADED if cubin is not None:
                    self._images[cubin] = None
                case _:
                    pass
        except ProfilingError as failure:
            self.failures.append(failure)

    def _finish(self, context: int) -> None:
        sampler = self._samplers.pop(context, None)
        if sampler is None:
            return
        self._ended.append(sampler)
        if not self._reading.acquire(timeout=_PATIENCE_SECONDS):
            return
        try:
            with suppress(ProfilingError):  # the context may be gone with its samples
                sampler.finish()
            self.counts += sampler.counts
            self.dropped += sampler.dropped
            self.other += sampler.other
            self.was_full |= sampler.was_full
        finally:
            self._reading.release()

    def _read_on(self) -> None:
        while not self._over.wait(_READ_SECONDS):
            with self._reading, suppress(ProfilingError):
                for sampler in [*self._samplers.values()]:
                    sampler.read()
