"""Tells of every kernel that a program traces and compiles through the CuTe DSL, and leaves the program as it is.

The DSL looks its own methods up on itself, one for each stage. The methods that begin and end a stage are replaced here
by attributes that note that they are looked up and give the method itself. So no frame of ours is ever on the DSL's
stack: tracebacks, the lines that the DSL finds on the stack, results and errors are those of an unwatched program.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from cutecc.errors import describe
from cutecc.frontend.call_description import DescribedParameter, described_parameters, kernel_name, names_of
from cutecc.frontend.call_site import CallSite, call_site
from cutecc.frontend.failures import clean

if TYPE_CHECKING:
    from cutecc.record.stages import UserLines

BASE = "cutlass.base_dsl.dsl"
"""The DSL's module that has to be loaded before `install`."""
_LOCATIONS = "cutlass._mlir_helpers.op"


@dataclass(frozen=True)
class TracedKernel:
    """A kernel as the program traced it, before any pass."""

    bytecode: bytes
    name: str
    """The short name of the function or class, safe in file names."""
    function: str
    """The Python function: `Gemm.__call__`."""
    symbol: str
    """The host function in the module."""
    kernels: Sequence[str]
    """The symbols of the kernels that it launches."""
    file: str | None
    line: int | None
    """The line of the function's `def`."""
    parameters: Sequence[DescribedParameter]
    target: str
    options: str
    """The DSL's compile options, as it gives them to its pipeline."""
    locations: bool
    """Whether the module has lines of the user's."""
    lines: UserLines | None
    """What is known of the user's program, when `install` was asked for it."""
    called_from: CallSite
    trace_seconds: float


@dataclass(frozen=True)
class FailedTrace:
    """A kernel that does not trace."""

    name: str
    function: str
    file: str | None
    line: int | None
    target: str
    called_from: CallSite
    error: str
    trace_seconds: float


class Listener(Protocol):
    """Who is told. An exception of its own is passed to `trouble`, and the program never sees it."""

    def wants(self, names: Sequence[str]) -> bool:
        """Whether a kernel with these names, of functions and symbols, is to be told of."""
        ...

    def traced(self, kernel: TracedKernel) -> str:
        """Before the program compiles the kernel; returns a key for what happens to it later."""
        ...

    def compiled(self, key: str, seconds: float, error: str | None) -> None:
        """The program has compiled the kernel, or taken it from a file of its own cache, in `seconds`; or failed to."""
        ...

    def repeated(self, key: str) -> None:
        """The program has traced the kernel once more and took it from its own memory."""
        ...

    def failed(self, trace: FailedTrace) -> None:
        """The kernel does not trace: the program gets `trace.error`."""
        ...

    def trouble(self, message: str) -> None:
        """Something cannot be told of."""
        ...


class UnknownDslError(Exception):
    """The installed DSL is not built as expected here: it cannot be watched."""


class _Lines:
    """The user's lines, in the trace of this thread from now on. One trace of a process has them at a time."""

    _free = threading.Lock()

    def __init__(self) -> None:
        self.known: UserLines | None = None
        self._stack = contextlib.ExitStack()
        if not self._free.acquire(blocking=False):
            return
        self._stack.callback(self._free.release)
        try:
            from cutecc.frontend.positions import fast_positions
            from cutecc.frontend.user_lines import user_lines

            self._stack.enter_context(fast_positions())
            self.known = self._stack.enter_context(user_lines())
            # The DSL has just set this for the trace that begins.
            vars(sys.modules[_LOCATIONS])["_ENABLE_FRAME_FILTERING"] = True
        except BaseException:
            self.end()
            raise

    def end(self) -> UserLines | None:
        """Leave the DSL as it was; gives what is known of the user's program."""
        self._stack.close()
        return self.known


@dataclass
class _Running:
    """A call of the DSL's `generate_mlir` that has not ended."""

    caller: int
    """The identity of the calling frame."""
    handled: int
    """The identity of the exception that the program was handling already."""
    began: float
    ours: float = 0.0
    """Seconds of it that are ours."""
    compile_began: float = 0.0
    key: str | None = None
    ignored: bool = False
    lines: _Lines | None = None


_TRACE = "generate_mlir"
_COMPILE = "compile_and_cache"
_END = "post_compilation_cleanup"
_EXPECTED = {
    _TRACE: ("self", "funcBody", "function_name", "args", "kwonlyargs", "sig", "no_cache"),
    _COMPILE: ("self", "module", "module_hash", "function_name", "pipeline"),
    _END: ("self",),
}
"""The methods that are watched, and the parameters that are relied on."""
_EXPORTS = "compile_to_precompiled_mlir"
"""The parameter of `generate_mlir` that asks for the traced module alone."""


def install(listener: Listener, *, lines: bool) -> None:
    """Watch the DSL of this process from now on. Its module `BASE` has to be loaded.

    With `lines`, traces have the user's lines. They otherwise have those that the program's own settings make.
    Raises `UnknownDslError` when the DSL is not built as expected; nothing has changed then.
    """
    dsl = sys.modules[BASE]
    base = getattr(dsl, "BaseDSL", None)
    for name, expected in _EXPECTED.items():
        method = getattr(base, name, None)
        known = list(inspect.signature(method).parameters) if inspect.isfunction(method) else []
        if not set(expected) <= set(known):
            raise UnknownDslError(f"BaseDSL.{name} is not as expected")
    _Watch(base, listener, lines).install()


class _Noticed:
    """A method that notes that it is looked up on an instance, and is itself."""

    def __init__(self, method: Any, notice: Callable[[Any, FrameType], None]) -> None:
        self._method = method
        self._notice = notice

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            frame = inspect.currentframe()
            assert frame is not None
            assert frame.f_back is not None
            self._notice(instance, frame.f_back)
        return self._method.__get__(instance, owner)


class _Threads(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.running: list[_Running] = []


class _Watch:
    def __init__(self, base: Any, listener: Listener, lines: bool) -> None:
        self._base = base
        self._listener = listener
        self._lines = lines
        self._trace_code: Any = getattr(base, _TRACE).__code__
        self._threads = _Threads()
        self._keys: dict[str, str] = {}
        """By the hash under which the DSL keeps what it has compiled."""

    def install(self) -> None:
        notices = {
            _TRACE: self._begin,
            _COMPILE: self._before_compile,
            _END: self._end,
        }
        for name, notice in notices.items():
            setattr(self._base, name, _Noticed(self._base.__dict__[name], self._contained(notice)))
        self._notices = notices

    def _contained(self, notice: Callable[[Any, FrameType], None]) -> Callable[[Any, FrameType], None]:
        def contained(dsl: Any, frame: FrameType) -> None:
            began = time.perf_counter()
            try:
                notice(dsl, frame)
            except Exception as error:
                with contextlib.suppress(Exception):
                    self._listener.trouble(f"a kernel was not recorded: {clean(describe(error))}")
            finally:
                if running := self._of(frame):
                    running.ours += time.perf_counter() - began

        return contained

    @property
    def _running(self) -> list[_Running]:
        """The calls of this thread, the outermost first."""
        return self._threads.running

    def _of(self, frame: FrameType) -> _Running | None:
        """The call whose `generate_mlir` has the frame `frame`; those inside of it have ended without a word."""
        if frame.f_code is not self._trace_code or frame.f_back is None:
            return None
        for index in range(len(self._running) - 1, -1, -1):
            if self._running[index].caller == id(frame.f_back):
                self._drop(index + 1)
                return self._running[index]
        return None

    def _drop(self, start: int | None) -> None:
        """Forget the calls of this thread from the position `start` on."""
        for running in () if start is None else self._running[start:]:
            self._running.remove(running)
            if running.lines:
                running.lines.end()

    def _begin(self, dsl: Any, frame: FrameType) -> None:
        # Methods that a class of the DSL has of its own are watched from its first use on.
        for kind in type(dsl).__mro__:
            for name, notice in self._notices.items():
                method = kind.__dict__.get(name)
                if inspect.isfunction(method):
                    setattr(kind, name, _Noticed(method, self._contained(notice)))
        running = _Running(id(frame), id(sys.exc_info()[1]), time.perf_counter())
        # One that ended without a word, before it came to its `finally`.
        self._drop(next((at for at, each in enumerate(self._running) if each.caller == id(frame)), None))
        self._running.append(running)
        if self._lines:
            running.lines = _Lines()

    def _before_compile(self, dsl: Any, frame: FrameType) -> None:
        running = self._of(frame)
        if running is None:
            if frame.f_code.co_name == "_device_func":
                self._listener.trouble(f"{frame.f_locals['setup'].function_name} is a device function: not recorded")
            return
        self._note_traced(running, dsl, frame)

    def _note_traced(self, running: _Running, dsl: Any, frame: FrameType) -> None:
        """Tell of the module that the call has traced, whose frame is `frame`."""
        values = frame.f_locals
        located = bool(vars(sys.modules[_LOCATIONS])["_ENABLE_FRAME_FILTERING"])
        lines = running.lines.end() if running.lines else None
        running.lines = None
        kernels = list(dsl.kernel_info)
        name, function = kernel_name(values["funcBody"], values["args"])
        if not self._listener.wants([*names_of(values["funcBody"], name, function), values["function_name"], *kernels]):
            running.ignored = True
            return
        if lines and lines.failure:
            self._listener.trouble(f"{name}: some operations have no line: {lines.failure}")
        trace_seconds = time.perf_counter() - running.began - running.ours
        code = _source(values["funcBody"])
        running.key = self._listener.traced(
            TracedKernel(
                bytecode=_bytecode(values["module"]),
                name=name,
                function=function,
                symbol=values["function_name"],
                kernels=kernels,
                file=code.co_filename,
                line=_definition_line(values["funcBody"], code),
                parameters=described_parameters(values["sig"], values["args"], values["kwonlyargs"]),
                target=_target(dsl),
                options=" ".join(each.serialize() for each in dsl.compile_options.options.values()),
                locations=located,
                lines=lines,
                called_from=call_site(frame),
                trace_seconds=trace_seconds,
            )
        )
        if values["module_hash"] is not None:
            self._keys[values["module_hash"]] = running.key
        running.compile_began = time.perf_counter()

    def _end(self, dsl: Any, frame: FrameType) -> None:
        running = self._of(frame)
        if running is None:
            return
        ended = time.perf_counter()
        self._drop(self._running.index(running))
        values = frame.f_locals
        # The module before any pass is all that the program asked for: no method of the DSL begins a compilation then.
        if values.get(_EXPORTS) and "module" in values:
            self._note_traced(running, dsl, frame)
        error = sys.exc_info()[1]
        if id(error) == running.handled:
            error = None
        if running.ignored:
            return
        if running.key is not None:
            seconds = ended - running.compile_began
            self._listener.compiled(running.key, seconds, clean(describe(error)) if error else None)
        elif error is not None:
            self._failed(dsl, values, frame, error, ended - running.began - running.ours)
        elif key := self._keys.get(values.get("module_hash") or ""):
            self._listener.repeated(key)

    def _failed(self, dsl: Any, values: Any, frame: FrameType, error: BaseException, seconds: float) -> None:
        name, function = kernel_name(values["funcBody"], values["args"])
        if self._listener.wants([*names_of(values["funcBody"], name, function), values["function_name"]]):
            code = _source(values["funcBody"])
            line = _definition_line(values["funcBody"], code)
            site = call_site(frame)
            text = clean(describe(error))
            self._listener.failed(
                FailedTrace(name, function, code.co_filename, line, _target(dsl), site, text, seconds)
            )


def _bytecode(module: Any) -> bytes:
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def _target(dsl: Any) -> str:
    return str(dsl.compile_options.gpu_arch or dsl.envar.arch or "")


def _source(function: Any) -> Any:
    # The DSL replaces a function's code by a rewritten one, but keeps the original.
    return getattr(function, "_original_code", function.__code__)


def _definition_line(function: Any, code: Any) -> int:
    """The line of the `def`, below the decorators."""
    import linecache

    first: int = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)[first - 1 : first + 30]
    head = f"def {function.__name__}"
    return next((first + index for index, line in enumerate(lines) if line.lstrip().startswith(head)), first)
