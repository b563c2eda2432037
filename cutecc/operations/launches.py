"""Launching one kernel again and again with other addresses and numbers, at the cost of a few dictionary look-ups.

The first launch of a form (sizes, strides, device) evaluates the kernel's host program. The second makes a plan of it,
which all later ones run: it takes addresses and numbers, and nothing else is computed again.
"""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from cutecc.arguments.specs import ScalarSpec
from cutecc.runtime.binding import Binder, Bound
from cutecc.runtime.driver import Caller
from cutecc.runtime.host import CudaHost, explained, recover
from cutecc.runtime.launch import Launch
from cutecc.runtime.launcher import Launcher
from cutecc.runtime.library import Loaded, unload_retired
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.plan import Plan, make_plan
from cutecc.runtime.recent import Recent
from cutecc.support import forks

_REMEMBERED = 256
"""Forms whose plans are kept, per thread."""


class Planned:
    """Launches of one form, for one thread."""

    __slots__ = ("_caller", "_launches", "_loaded", "_note", "_pick", "_run")

    def __init__(self, plan: Plan, bound: Bound, binder: Binder, loaded: Loaded, order: Sequence[int]) -> None:
        """`order` are the places, among the values that `launch` is given, of what the plan takes."""
        self._caller = Caller()
        host = CudaHost(loaded, binder, bound, self._caller)
        run = plan.bind(*host.blocks_and_starters(plan.launches), host)
        self._run: Callable[..., None] = run if loaded.device.is_only else loaded.device.guarded(run)
        self._loaded, self._launches = loaded, plan.launches
        self._note = loaded.library.note_stream
        # At least A, B and D.
        self._pick: Callable[[Sequence[Any]], tuple[Any, ...]] = operator.itemgetter(*order)

    def launch(self, values: Sequence[Any], stream: int) -> None:
        """Launch on `stream`, a `CUstream`. Raises `LaunchError`."""
        self._caller.stream = stream
        if stream > 1:
            self._note(stream)
        picked = self._pick(values)
        try:
            self._run(*picked)
        except StatusError as error:
            recover(error, self._loaded, self._launches, lambda: self._run(*picked))


class Launches:
    """The launches of one kernel. Threads may share it."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._local = threading.local()
        self._evaluator = Evaluator(launcher.program)
        self._seen: Recent[Hashable, bool] = Recent(_REMEMBERED)
        self._lock = forks.lock()
        binder = launcher.binder
        # Numbers of the epilogue. Sizes decide about grids, and belong to the form.
        numbers = [each for each in binder.parameters if isinstance(each.spec, ScalarSpec)]
        scalars = [each.first_leaf for each in numbers if re.fullmatch(r"operands\[\d+\]", each.name)]
        self._varying = tuple(sorted({*binder.varying, *scalars}))
        self._names = {each.first_leaf: each.name for each in binder.parameters}

    def find(self, key: Hashable) -> Any:
        """What this thread has kept under `key`."""
        try:
            return self._local.kept.get(key)
        except AttributeError:  # the thread's first call
            return None

    def keep(self, key: Hashable, value: object) -> None:
        """Keep something for this thread."""
        if not hasattr(self._local, "kept"):
            self._local.kept = Recent[Hashable, Any](_REMEMBERED)
        kept: Recent[Hashable, Any] = self._local.kept
        kept.put(key, value)

    def is_new(self, key: Hashable) -> bool:
        """Whether `key` comes for the first time, in any thread."""
        with self._lock:
            seen = self._seen.get(key)
            self._seen.put(key, True)
        return seen is None

    def plan(self, bound: Bound, loaded: Loaded, places: Mapping[str, int]) -> Planned | None:
        """What repeats a call; `None` where only evaluating the program can.

        `places` says for each parameter, by its flat name, where its address or number is among the values of a launch;
        a stream has none: the last of the values stands for it, which is 0.
        """
        plan = make_plan(self._launcher.program, bound.leaves, self._varying)
        if plan is None:
            return None
        order = [places.get(self._names[leaf], -1) for leaf in self._varying]
        return Planned(plan, bound, self._launcher.binder, loaded, order)

    def evaluate(self, bound: Bound, loaded: Loaded, stream: int) -> None:
        """Launch once on `stream`. Raises `LaunchError`."""
        caller = Caller()
        caller.stream = stream
        if stream > 1:
            loaded.library.note_stream(stream)
        host = CudaHost(loaded, self._launcher.binder, bound, caller)
        with loaded.device.current():
            unload_retired(stream)
            try:
                self._evaluator(bound.leaves, host)
            except StatusError as error:
                launches: Sequence[Launch] = host.launches
                raise explained(error, loaded, launches) from None
