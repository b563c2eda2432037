"""Calling a compiled kernel: from Python arguments to launches.

A call is read, looked up by all that decides about it but addresses and streams, and run by its launch plan. What was
not seen before is bound with all checks and evaluated in full; from the second time on there is a plan.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cutecc.errors import LaunchError
from cutecc.record.compilation import Compilation
from cutecc.record.host_program import HostProgram
from cutecc.runtime.binding import Binder, Bound
from cutecc.runtime.device import CudaDevice, choose
from cutecc.runtime.direct_call import DirectCall, set_call
from cutecc.runtime.driver import Caller, Driver, DriverFunctions
from cutecc.runtime.host import CudaHost, explained, recover, reporter
from cutecc.runtime.launch import Launch
from cutecc.runtime.library import Library, Loaded, unload_retired
from cutecc.runtime.native.switch import NativeSwitch
from cutecc.runtime.prepared import Prepared
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.plan import Plan, make_plan
from cutecc.runtime.program.verification import verify
from cutecc.runtime.reading import Reader
from cutecc.runtime.recent import Recent
from cutecc.runtime.streams import current_stream
from cutecc.support import forks

_REMEMBERED = 256
"""Kinds of calls (shapes, strides, scalars) whose plans are kept, per kernel and thread; the last so many at least."""
_READERS = 4
"""Readers that a kernel keeps: one for each mixture of libraries and ways to pass arguments."""


@dataclass(eq=False, slots=True)
class Known:
    """What a thread knows about one kind of call."""

    run: Callable[..., None]
    """Takes the values of the plan's varying leaves."""
    current: Callable[[], int]
    """The stream of a call that names none."""
    loaded: Loaded
    launches: Sequence[Launch]


class Thread:
    """The state of the calls that one thread makes: parameter blocks are not shared."""

    __slots__ = ("caller", "known", "planned", "read")

    def __init__(self) -> None:
        self.caller = Caller()
        """Says where the present call's launches with stream 0 go. The runs of `known` refer to it, not to this."""
        self.read: Reader = _read_nothing
        """The reader that the last call was read by."""
        self.known: dict[Hashable, Known] = {}
        """What the keys of `read` stand for."""
        self.planned: Recent[tuple[object, ...], Known] = Recent(_REMEMBERED)
        """The same by library and `Bound.key`."""


def _read_nothing(*_args: Any, **_kwargs: Any) -> None:
    return None


class Launcher:
    """Calls one compiled kernel. Threads may share it."""

    def __init__(
        self,
        compilation: Compilation,
        driver: Driver | None = None,
        *,
        on_cpu: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None,
        only_on_cpu: bool = False,
    ) -> None:
        """`driver` is the machine's CUDA driver unless given; it is looked for when the first call comes. `on_cpu` does
        a call with `device="cpu"`; a kernel that nobody trusts runs `only_on_cpu`.

        Raises `LaunchError` when the record does not hold what a launch needs, `RecordError` when that is damaged,
        and `ArgumentError` for a kernel that no caller can pass arguments to.
        """
        self.compilation = compilation
        self.program = _program(compilation)
        signature = compilation.signature
        if signature is None:
            raise LaunchError(
                f"{compilation.name} was compiled from MLIR, and its record does not say what its arguments are",
                hints=["pass the signature: cutecc.compile_module(…, signature=…)"],
            )
        workload = compilation.workload
        self.binder = Binder(signature, self.program, outputs=workload.outputs if workload else ())
        self._evaluator: Evaluator | None = None
        self._given_driver = driver
        self._on_cpu = on_cpu
        self._only_on_cpu = only_on_cpu
        self._lock = forks.lock()
        self._served: Callable[[], DirectCall | None] = lambda: None
        self._forget()

    def _forget(self) -> None:
        self._local = threading.local()
        self._loaded: dict[int, Loaded] = {}
        self._plans: Recent[tuple[object, ...], tuple[Plan | None]] = Recent(_REMEMBERED)
        """By `Bound.key`; one that cannot be made is not tried again."""
        self._seen: Recent[tuple[object, ...], bool] = Recent(_REMEMBERED)
        self._readers: list[Reader] = []
        # What the switch is given must not keep this object alive.
        this: weakref.ref[Launcher] = weakref.ref(self)
        vars(self).pop("call", None)
        self._tell_served()
        self.switch = NativeSwitch(
            self.program,
            self.binder.groups,
            slow=_weakly(this, Launcher.call_in_python),
            report=_weakly(this, Launcher._report),
            resources=_weakly(this, Launcher._resources),
            install=_weakly(this, Launcher._install),
        )
        self._note = self.switch.note

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> None:
        """Launch the kernel, all in Python; `stream=` and `unchecked=` as `Kernel` has them."""
        try:
            thread: Thread = self._local.thread
        except AttributeError:
            self._local.thread = thread = Thread()
        try:
            found = thread.read(*args, **kwargs)
        except (AttributeError, TypeError):  # not a call like the last one
            found = None
        if found is not None:
            key, values, stream = found
            known = thread.known.get(key)
            if known is not None:
                thread.caller.stream = stream = known.current() if stream is None else stream
                if stream > 1:
                    known.loaded.library.note_stream(stream)
                try:
                    known.run(*values)
                except StatusError as error:
                    recover(error, known.loaded, known.launches, lambda: known.run(*values))
                if self._note is not None:
                    self._note_call(args, kwargs, known.loaded.device.ordinal)
                return
        self._call_anew(thread, args, kwargs)

    call = call_in_python
    """What calling a kernel calls. The switch to machine code puts another function in its place, in the instance."""

    def _call_anew(self, thread: Thread, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call that is not like the last ones."""
        if self.binder.names_device(kwargs) and kwargs.pop("device") == "cpu" and self._on_cpu is not None:
            self._on_cpu(args, kwargs)
            return
        unchecked = bool(kwargs.pop("unchecked", False))
        _ = self.driver  # where there is none, that is what to say, and not where the arrays have to be
        read, key = self._read(thread, args, kwargs)
        bound = self.binder.bind(args, kwargs, checked=not unchecked)
        name = (bound.library, *bound.key)
        known = thread.planned.get(name)
        if known is None:
            loaded = self.load(bound.device)
            plan = self._plan(bound)
            if plan is None:
                self._evaluate(thread, bound, loaded)
                if not unchecked:
                    self._note_call(args, kwargs, loaded.device.ordinal)
                return
            known = self._bind_plan(plan, bound, loaded, thread)
        with known.loaded.device.current():
            self._choose_stream(thread.caller, bound, known.current, known.loaded)
            try:
                known.run(*bound.values(self.binder.varying))
            except StatusError as error:
                raise explained(error, known.loaded, known.launches) from None
        if not unchecked:
            self._note_call(args, kwargs, known.loaded.device.ordinal)
        if bound.device is None and not known.loaded.device.is_only:
            return  # it goes to the GPU that is current then
        thread.planned.put(name, known)
        if unchecked:
            return  # a reader's key stands for a call that has passed all checks
        if read is None and (read := self._new_reader(args, kwargs)) and (found := read(*args, **kwargs)):
            key = found[0]
        if read is not None and key is not None:
            self._remember(thread, read, key, known)

    # Reading.

    def _read(
        self, thread: Thread, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Reader | None, Hashable | None]:
        """The reader that reads this call, and its key."""
        for read in (thread.read, *self._readers):
            try:
                found = read(*args, **kwargs)
            except (AttributeError, TypeError):
                continue
            if found is not None:
                return read, found[0]
        return None, None

    def _new_reader(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reader | None:
        read = self.binder.reader(args, kwargs)
        if read is not None:
            with self._lock:
                self._readers = [read, *self._readers[: _READERS - 1]]
        return read

    @staticmethod
    def _remember(thread: Thread, read: Reader, key: Hashable, known: Known) -> None:
        if read is not thread.read or len(thread.known) >= _REMEMBERED:
            thread.read, thread.known = read, {}
        thread.known[key] = known

    # Loading.

    @property
    def driver(self) -> Driver:
        """The CUDA driver; `LaunchError` where there is none, and for a kernel that is not to run on a GPU."""
        if self._only_on_cpu:
            raise LaunchError(
                f"{self.compilation.name} is untrusted, and runs on the CPU emulator alone",
                hints=['pass device="cpu"; once you trust who made it, load it without untrusted=True'],
            )
        if self._given_driver is None:
            from cutecc.runtime.cuda_bindings import cuda_driver

            self._given_driver = cuda_driver()
        return self._given_driver

    def load(self, ordinal: int | None = None) -> Loaded:
        """The kernel's code on a GPU; `None` is the current one, or the first where a thread has none."""
        if ordinal is None:
            ordinal = self.driver.current_device() or 0
        loaded = self._loaded.get(ordinal)
        if loaded is None:
            with self._lock:
                loaded = self._loaded.get(ordinal)
                if loaded is None:
                    loaded = self._loaded[ordinal] = self._load(ordinal)
        return loaded

    def _load(self, ordinal: int) -> Loaded:
        device = CudaDevice(self.driver, ordinal)
        _, image = choose([self.compilation], device)
        others = [other.library for other in self._loaded.values() if other.library.image == image]
        library = others[0] if others else Library(device, image, self.program.kernels, self.compilation)
        return library.on(device)

    def unload(self) -> None:
        """Unload the kernel's code; the next call loads it again.

        The driver waits for launches that run. No thread may be in a call, and a CUDA graph that holds the kernel must
        not be launched any more.
        """
        with self._lock:
            libraries = {loaded.library for loaded in self._loaded.values()}
            self._forget()
        for library in libraries:
            library.unload()

    # Running.

    def _plan(self, bound: Bound) -> Plan | None:
        """A plan for calls like this one; `None` for the first one, and where there can be none."""
        with self._lock:
            planned = self._plans.get(bound.key)
            if planned is None and self._seen.get(bound.key) is None:
                self._seen.put(bound.key, True)
                return None
        if planned is None:
            planned = (make_plan(self.program, bound.leaves, self.binder.varying),)
            with self._lock:
                self._plans.put(bound.key, planned)
        return planned[0]

    def _bind_plan(self, plan: Plan, bound: Bound, loaded: Loaded, thread: Thread) -> Known:
        """The plan with parameter blocks of this thread's own."""
        host = CudaHost(loaded, self.binder, bound, thread.caller)
        run = plan.bind(*host.blocks_and_starters(plan.launches), host)
        current = current_stream(bound.library, loaded.device.ordinal)
        return Known(run if loaded.device.is_only else loaded.device.guarded(run), current, loaded, plan.launches)

    def _evaluate(self, thread: Thread, bound: Bound, loaded: Loaded) -> None:
        if self._evaluator is None:
            self._evaluator = Evaluator(self.program)
        host = CudaHost(loaded, self.binder, bound, thread.caller)
        with loaded.device.current():
            self._choose_stream(thread.caller, bound, current_stream(bound.library, loaded.device.ordinal), loaded)
            try:
                self._evaluator(bound.leaves, host)
            except StatusError as error:
                raise explained(error, loaded, host.launches) from None

    def _choose_stream(self, caller: Caller, bound: Bound, current: Callable[[], int], loaded: Loaded) -> None:
        caller.stream = stream = current() if bound.stream is None else bound.stream
        if stream > 1:
            loaded.library.note_stream(stream)
        for first in bound.after:
            self.driver.order(first, stream)
        unload_retired(stream)

    def prepare(self, /, *args: Any, **kwargs: Any) -> Prepared:
        """The call as an object that repeats it. Checks and errors as in a call; nothing is launched."""
        unchecked = bool(kwargs.pop("unchecked", False))
        _ = self.driver
        bound = self.binder.bind(args, kwargs, checked=not unchecked)
        loaded = self.load(bound.device)
        unload_retired(bound.stream or current_stream(bound.library, loaded.device.ordinal)())
        return Prepared(self.program, self.binder, bound, loaded, (args, kwargs))

    # The switch to machine code.

    def _note_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], device: int) -> None:
        if (note := self._note) is not None:
            note(args, kwargs, device)
            if self.switch.is_done:
                self._note = None

    def serve(self, kernel: DirectCall) -> None:
        """Have `kernel` call what `call` is, now and when that changes."""
        self._served = weakref.ref(kernel)
        self._tell_served()

    def _tell_served(self) -> None:
        if (kernel := self._served()) is not None:
            set_call(kernel, self.call)

    def _install(self, call: Callable[..., None], loaded: object) -> None:
        with self._lock:
            if loaded in self._loaded.values():  # else another thread has unloaded it meanwhile
                vars(self)["call"] = call
                self._tell_served()

    def _resources(self, device: int) -> tuple[list[int], DriverFunctions, Loaded]:
        loaded = self.load(device)
        functions = [loaded.functions[kernel.name] for kernel in self.program.kernels]
        return functions, self.driver.functions(), loaded

    def _report(self, status: int, kernel: int) -> NoReturn:
        reporter(self.load(), self.program)(status, kernel)


def _weakly(this: weakref.ref[Launcher], method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an object that this function does not keep alive: whoever calls holds it."""

    def function(*args: Any, **kwargs: Any) -> Any:
        launcher = this()
        if launcher is None:
            raise LaunchError("the kernel is gone")
        return method(launcher, *args, **kwargs)

    return function


def _program(compilation: Compilation) -> HostProgram:
    program = compilation.host_program
    if program is None:
        reason = {"stopped": "its compilation was stopped early", "failed": "its compilation failed"}
        raise LaunchError(
            f"{compilation.name} for {compilation.target} cannot be called: its record has no host program"
            + (f", because {reason[compilation.status]}" if compilation.status in reason else ""),
            hints=["compile it to the end; the kernel's warnings say when a host function could not be translated"],
        )
    verify(program)
    return program
