"""Tracing: from a kernel's host function to the cute MLIR that the DSL makes of it. Needs no GPU."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from cutecc.errors import Error, SpecError, foreign_failures
from cutecc.frontend import dsl
from cutecc.frontend.artifacts import unread_artifacts
from cutecc.frontend.binding import Arguments, bind_specs, bind_values
from cutecc.frontend.callee import Callee
from cutecc.frontend.decorators import own_decorators
from cutecc.frontend.endless import bounded_recursion, no_iteration
from cutecc.frontend.failures import ENTRY_FRAME, clean, is_users, trace_error
from cutecc.frontend.header_names import check_outputs
from cutecc.frontend.host_functions import check_host_function
from cutecc.frontend.imports import own_imports
from cutecc.frontend.kernel_file import find_callee
from cutecc.frontend.positions import fast_positions
from cutecc.frontend.questions import answered
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.frontend.user_frames import user_frames
from cutecc.frontend.user_lines import user_lines
from cutecc.frontend.watch import Watch
from cutecc.ir.casters import wrapped_values
from cutecc.ir.interrupts import held
from cutecc.ir.modules import to_bytecode
from cutecc.record.compilation import Remark
from cutecc.record.stages import UserLines
from cutecc.support.forks import SettledLock
from cutecc.target import Target

_lock = SettledLock("tracing a kernel")
"""The DSL traces one kernel at a time, and is changed for that."""


def trace(
    fn: Any, /, *args: Any, target: Target, options: str = "", locations: bool = True, **kwargs: Any
) -> TracedModule:
    """Trace a `@cute.jit` function, a bound method or an object with such a `__call__`, for `target`.

    `args` and `kwargs` are its arguments: arrays of torch, numpy or cupy, CuTe tensors and fakes, numbers, or specs, as
    strings too. `options` are compile options of the DSL that change the trace. `locations` keeps the user's lines in
    the module: that takes time here and none later, and without `preserve-line-info` the same PTX comes out. Everything
    that tracing changes in the process is put back.

    Raises `UsageError` for something that is no host function, `SpecError` for an argument that does not fit, and
    `TraceError`, at the user's line, when the kernel does not trace.
    """
    with _lock, held(user_frames), wrapped_values(), _recorded_warnings() as caught:
        dsl.cutlass()
        callee = Callee.of(check_host_function(fn, getattr(fn, "__qualname__", repr(fn))))
        with dsl.targeting(target), answered(target):
            return _trace(callee, bind_values(callee, args, kwargs), options, locations, caught)


def trace_file(request: TraceRequest) -> TracedModule:
    """Trace a kernel of a file, which runs the file. Meant for a process of its own. Raises as `trace` does."""
    target = Target.parse(request.target)
    with _lock, held(user_frames), wrapped_values(), _recorded_warnings() as caught:
        dsl.cutlass()
        with dsl.targeting(target), answered(target), own_imports(request.path):
            if not request.watch:
                return _trace_file(request, caught)
            with Watch(request.path) as watch:
                traced = _trace_file(request, caught)
                return replace(traced, inputs=watch.inputs())


def _trace_file(request: TraceRequest, caught: list[warnings.WarningMessage]) -> TracedModule:
    found = find_callee(request.path, request.function, request.entry, request.sources.get("entry"))
    callee = Callee.of(found)
    try:
        arguments = bind_specs(callee, request.args, request.sources)
    except SpecError as error:
        if request.header_entry and error.location and error.location.file == request.path:
            error.notes.append(f"the header's specs are for its entry '{request.header_entry}'")
        raise
    parameters = dict.fromkeys([*callee.signature.parameters, *(each.name for each in arguments.signature.parameters)])
    check_outputs(request.outputs, parameters, callee.qualified_name)
    return _trace(callee, arguments, request.options, request.locations, caught)


def _trace(
    callee: Callee, arguments: Arguments, options: str, locations: bool, caught: list[warnings.WarningMessage]
) -> TracedModule:
    if locations:
        options = f"--generate-line-info {options}".strip()
    with (
        bounded_recursion(),
        no_iteration(),
        fast_positions(),
        unread_artifacts(),
        user_lines() if locations else contextlib.nullcontext(UserLines()) as lines,
        own_decorators(callee.function.__globals__),
    ):
        bytecode = _bytecode(callee, arguments, options)
    remarks = dict.fromkeys(_remark(each, callee) for each in caught)
    if lines.failure:
        remarks[Remark("warning", f"some operations have no line of yours: {lines.failure}")] = None
    return TracedModule(
        bytecode, arguments.signature, callee.name, callee.source_file, callee.source_line, tuple(remarks), lines=lines
    )


@contextlib.contextmanager
def _recorded_warnings() -> Generator[list[warnings.WarningMessage]]:
    """Collects the warnings that Python would print."""
    with warnings.catch_warnings(record=True) as caught:
        yield caught


def _bytecode(callee: Callee, arguments: Arguments, options: str) -> bytes:
    cutlass = dsl.cutlass()
    modules: list[Any] = []

    def keep(_owner: Any, module: Any, _name: str) -> None:
        modules.append(module)

    try:
        artifact = _call_from(
            callee,
            cutlass.cute.compile_to,
            cutlass.compiler.ArtifactType.PreCompiledMlir,
            callee.value,
            *arguments.args,
            **arguments.kwargs,
            options=options,
            trace_finalize_hooks=keep,
        )
    except foreign_failures() as error:
        # What is left to do after the trace is verifying the module and describing its parameters, and the DSL cannot
        # describe all that it can trace. We describe them ourselves.
        if modules and _verifies(modules[0]):
            return to_bytecode(modules[0])
        dsl.reset_after_failure()
        raise _failure(error, callee) from error
    except BaseException:
        dsl.reset_after_failure()
        raise
    return artifact.get_bitcode()


def _call_from(callee: Callee, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `function` from the user's file, as it were: from a frame at the `def` of `callee`.

    The DSL looks for the nearest caller outside itself, and ascribes to it the operations that take in the arguments.
    """
    lines_before = "\n" * ((callee.source_line or 1) - 1)
    code = compile(f"{lines_before}function(*args, **kwargs)", callee.source_file or "<kernel>", "eval")
    namespace = {"__name__": callee.function.__module__, "function": function, "args": args, "kwargs": kwargs}
    return eval(code.replace(co_name=ENTRY_FRAME), namespace)


def _verifies(module: Any) -> bool:
    try:
        return module.operation.verify()
    except Exception:
        return False


def _failure(error: BaseException, callee: Callee) -> Error:
    if isinstance(error, Error):
        return error
    return trace_error(error, f"{callee.qualified_name} does not trace", callee.source_file)


def _remark(caught: warnings.WarningMessage, callee: Callee) -> Remark:
    message: Any = caught.message
    text = getattr(message, "message", None)
    file, line = getattr(message, "filename", None), getattr(message, "line", None)
    if not file or not line:
        file, line = caught.filename, caught.lineno
    location = f"{file}:{line}" if is_users(file, callee.source_file) else None
    return Remark("warning", clean(text if isinstance(text, str) else str(message)), location)
