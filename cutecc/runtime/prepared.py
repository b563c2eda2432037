"""A call with all its arguments: what depends on them is computed once."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cutecc.config import Settings
from cutecc.errors import LaunchError
from cutecc.record.host_program import HostProgram
from cutecc.runtime.binding import Binder, Bound
from cutecc.runtime.direct_call import DirectCall, set_call
from cutecc.runtime.driver import Caller
from cutecc.runtime.host import CudaHost, recover, reporter, tensor_shapes
from cutecc.runtime.launch import Launch
from cutecc.runtime.library import Loaded
from cutecc.runtime.native.switch import CALLS_BEFORE
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.plan import make_plan
from cutecc.runtime.streams import current_stream, read_stream


class Prepared(DirectCall):
    """A call to repeat. It keeps the arguments alive.

    `prepared()` launches on the stream that was given when preparing, else on the current one; `prepared(stream=…)`
    elsewhere. Raises `LaunchError` as the call would, and when the kernel has been unloaded.
    """

    def __init__(self, program: HostProgram, binder: Binder, bound: Bound, loaded: Loaded, arguments: object) -> None:
        self._program, self._binder, self._bound, self._loaded = program, binder, bound, loaded
        self._arguments = arguments
        self._plan = make_plan(program, bound.leaves, binder.stream_leaves)
        self._streams = bound.values(binder.stream_leaves)
        self._local = threading.local()
        current = current_stream(bound.library, loaded.device.ordinal)
        given = bound.stream
        self._default = current if given is None else lambda: given
        self._calls_before = CALLS_BEFORE if Settings.from_environment().native else 0
        """Calls in Python until there is machine code for them; 0 when there will be none."""
        this = weakref.ref(self)  # what the object holds must not hold the object

        def call(*, stream: Any = None) -> None:
            prepared = this()
            if prepared is None:
                raise LaunchError("the prepared call is gone")
            prepared._call_in_python(stream)

        self._in_python = call
        set_call(self, call)
        loaded.library.on_unload(self, Prepared._leave_machine_code)

    @property
    def launches(self) -> Sequence[Launch]:
        """What a call launches, in its order; without any where that is only known as it runs."""
        return self._plan.launches if self._plan else ()

    def variable(self, name: str) -> tuple[int, int] | None:
        """The address and bytes of a variable of the kernels' code on this call's GPU; `None` where there is none."""
        return self._loaded.library.variable(name, self._loaded.device)

    def _leave_machine_code(self) -> None:
        """The machine code launches handles that are no more."""
        self._calls_before = 0
        set_call(self, self._in_python)

    def _call_in_python(self, stream: Any) -> None:
        if not self._loaded.library.is_loaded:
            raise LaunchError("the kernel has been unloaded since the call was prepared")
        try:
            caller: Caller = self._local.caller
            run: Callable[..., None] = self._local.run
        except AttributeError:
            caller, run = self._bind()
        streams = self._streams
        if stream is None:
            stream = self._default()
        else:
            stream = read_stream(stream)
            streams = tuple([stream if each in (0, self._bound.stream) else each for each in streams])
        caller.stream = stream
        if stream > 1:
            self._loaded.library.note_stream(stream)
        if self._bound.after:
            self._order(stream)
        try:
            run(*streams)
        except StatusError as error:
            recover(error, self._loaded, self._plan.launches if self._plan else [], lambda: run(*streams))
        if self._calls_before:
            self._calls_before -= 1
            if not self._calls_before and (builtin := self._machine_code()) is not None:
                set_call(self, builtin)
                if not self._loaded.library.is_loaded:  # another thread has unloaded it meanwhile
                    self._leave_machine_code()

    def __reduce__(self) -> NoReturn:
        # Neither what is loaded nor the machine code of this object can be another's.
        raise TypeError("a prepared call cannot be copied or pickled: prepare the call again")

    def __repr__(self) -> str:
        names = ", ".join(kernel.name for kernel in self._program.kernels)
        return f"<prepared launch of {names} on cuda:{self._loaded.device.ordinal}>"

    def _machine_code(self) -> Callable[[], object] | None:
        """The same call as a builtin, `None` where there can be none."""
        from cutecc.runtime.native import builtin

        bound, loaded, driver = self._bound, self._loaded, self._loaded.device.driver
        if bound.after or bound.library not in (None, "torch"):
            return None
        if any(0 in shape for shape in tensor_shapes(self._binder, bound).values()):
            return None  # launches without blocks are left out, which only Python does
        try:
            return builtin.build_prepared(
                self._program,
                bound.leaves,
                functions=[loaded.functions[kernel.name] for kernel in self._program.kernels],
                device=loaded.device.ordinal,
                driver=driver.functions(),
                slow=self._in_python,
                report=reporter(loaded, self._program),
                stream=bound.stream,
                # Arrays may look like torch's where torch is not loaded.
                stream_of=getattr(sys.modules.get("torch"), "Tensor", None) if bound.library == "torch" else None,
                keep=loaded,
            )
        except builtin.Unsupported:
            return None

    def _order(self, stream: int) -> None:
        with self._loaded.device.current():
            for first in self._bound.after:
                self._loaded.device.driver.order(first, stream)

    def _bind(self) -> tuple[Caller, Callable[..., None]]:
        """What the calling thread runs, with parameter blocks of its own."""
        device, caller = self._loaded.device, Caller()
        host = CudaHost(self._loaded, self._binder, self._bound, caller)
        if self._plan is not None:
            run = self._plan.bind(*host.blocks_and_starters(self._plan.launches), host)
            run = run if device.is_only else device.guarded(run)
        else:
            run = device.guarded(self._evaluate(host))
        self._local.caller, self._local.run = caller, run
        return caller, run

    def _evaluate(self, host: CudaHost) -> Callable[..., None]:
        """The whole program, for a call without a plan."""
        evaluator = Evaluator(self._program)
        positions, leaves = self._binder.stream_leaves, list(self._bound.leaves)

        def run(*streams: int) -> None:
            present = leaves.copy()
            for position, stream in zip(positions, streams, strict=True):
                present[position] = stream
            evaluator(present, host)

        return run
