"""The driver: the one place that strings the stages together, from a kernel to its record.

compile():  trace ─▶ lower():  parse ─▶ plan the pipeline ─▶ run the passes ─▶ make the artifacts ─▶ Compilation
                                              └─▶ the cache, when it has the result ────────────────────┘
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cutecc.cache import lookup
from cutecc.compilation import caching, planning, reproducing
from cutecc.compilation.caching import Cached
from cutecc.compilation.events import ArtifactsStarted, Event, Keyed, Parsed, PassFinished, Planned, Said
from cutecc.compilation.observers import Listeners
from cutecc.compilation.planning import Plan
from cutecc.compilation.request import CompileOptions, CompileRequest, check_kinds
from cutecc.compilation.watchers import Watchers
from cutecc.config import Settings
from cutecc.errors import Error, ParseError, PassError, RecordError, UsageError
from cutecc.ir import interrupts, pass_context
from cutecc.ir.modules import fresh_context, parse, to_bytecode
from cutecc.kernel import Kernel, KernelSet
from cutecc.passes import manager, registry
from cutecc.passes.manager import Observer
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, Failure, Signature
from cutecc.record.folder import RecordFolder
from cutecc.support import forks
from cutecc.support.forks import TemporaryFolder
from cutecc.target import Target, parse_targets

if TYPE_CHECKING:
    from cutecc.frontend.traced import TracedModule
    from cutecc.ir.mlir import ir

Isolation = Literal["none", "worker"]

# The bindings and their value casters are process-wide; module objects of one compilation never meet another's.
_in_process = forks.rlock()


def compile(
    fn: Any,
    /,
    *args: Any,
    target: str | Target | Sequence[str | Target] | None = None,
    pipeline: str | Pipeline = "nvidia",
    options: CompileOptions = CompileOptions(),
    observers: Sequence[Observer] = (),
    isolation: Isolation = "none",
    output: str | Path | None = None,
    cache: bool | None = None,
    **kwargs: Any,
) -> Kernel | KernelSet:
    """Compile a kernel's host function, a `@cute.jit` function or an object with such a `__call__`.

    `args` and `kwargs` are its arguments: tensors of torch, numpy or cupy, CuTe tensors and fakes, numbers, or argument
    specs as strings (`docs/arguments.md`). `target` names a target, several (a list, or separated by commas), or
    `native`; by default `CUTECC_TARGET`, else the GPU of this machine. `pipeline` is a named pipeline, pipeline text or
    a `Pipeline`; `options` say everything else about lowering and what to keep. `observers` watch the passes, or hear
    events. With `isolation="worker"` the passes run in a process of their own, so that an abort of the MLIR bindings is
    an error; it imports the modules that define passes of yours, and only events come out of it. `output` is a folder
    for the record, with one below it for each of several targets. `cache=False` compiles anew and keeps nothing
    (`docs/caching.md`); `CUTECC_CACHE=0` makes that the default. With observers of passes, dumps or `verify_each` the
    passes run in any case.

    Returns a `Kernel`, or for several targets a `KernelSet`. Raises `cutecc.Error` for everything that goes wrong.
    """
    check_kinds(pipeline=pipeline, options=options, output=output, cache=cache)
    targets = _targets(target)
    options = _with_settings(_with_pipeline(options, pipeline))
    listeners = Listeners.of(observers, isolation)
    kernels: dict[str, Kernel] = {}
    for each in targets:
        folder = Path(output) / each.name if output and len(targets) > 1 else output
        request = functools.partial(
            _traced_request, fn, args, kwargs, each, Path(folder) if folder else None, lookup.wanted(cache)
        )
        compiled = functools.partial(_compiled, request, options, listeners, isolation)
        kernels[each.name] = Kernel(listeners.told(compiled))
    return KernelSet(kernels) if len(kernels) > 1 else kernels[targets[0].name]


def _with_settings(options: CompileOptions) -> CompileOptions:
    """The options with what the environment asks of every compilation."""
    if options.line_info or not Settings.from_environment().line_info:
        return options
    # Whose an instruction is, LLVM IR says; machine code is disassembled when somebody asks.
    return replace(options, line_info=True, artifacts=tuple(dict.fromkeys((*options.artifacts, "llvm-ir"))))


def _compiled(
    request: Callable[[CompileOptions, bool], CompileRequest],
    options: CompileOptions,
    listeners: Listeners,
    isolation: Isolation,
) -> Compilation:
    """Trace and lower; `request` traces, with source lines or without."""
    locating_later = options.locations is None and not options.wants_locations
    first = replace(options, reproduce=options.reproduce and not locating_later)
    try:
        return _lowered(request(first, options.wants_locations), listeners, isolation)
    except PassError:
        if not locating_later:
            raise
        # Once more, so that the error can name the user's line. Observers have seen it all already.
        return _lowered(request(options, True), Listeners((), ()), isolation)


def _traced_request(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    target: Target,
    output: Path | None,
    cache: bool,
    options: CompileOptions,
    locations: bool,
) -> CompileRequest:
    from cutecc.frontend.trace import trace as trace_kernel

    clock = _Clock()
    traced = trace_kernel(fn, *args, target=target, options=options.trace_options, locations=locations, **kwargs)
    return CompileRequest(
        traced.bytecode,
        target.name,
        traced.name,
        source=traced.source_file or "-",
        signature=traced.signature,
        options=options,
        output=output,
        trace_seconds=clock.lap(),
        warnings=traced.warnings,
        lines=traced.lines,
        cache=cache,
    )


def trace(fn: Any, /, *args: Any, target: str | Target | None = None, **kwargs: Any) -> TracedModule:
    """The traced module of a kernel, before any pass: its bytecode and signature. Arguments and errors as `compile`."""
    from cutecc.frontend.trace import trace as trace_kernel

    return trace_kernel(fn, *args, target=one_target(target), **kwargs)


def compile_module(
    module: ir.Module | bytes | str,
    target: str | Target | None = None,
    pipeline: str | Pipeline = "nvidia",
    observers: Sequence[Observer] = (),
    *,
    name: str = "kernel",
    options: CompileOptions = CompileOptions(),
    isolation: Isolation = "none",
    output: str | Path | None = None,
    signature: Signature | None = None,
    cache: bool | None = None,
) -> Kernel:
    """Compile a module that is cute MLIR already: text, bytecode, or a module object of another compiler's.

    The module object is left as it is, and may belong to any context. With a `signature`, `Signature.of(…)`, the kernel
    can be called. Never imports the DSL. Everything else as `compile`; `docs/embedding.md` is the guide.
    """
    data = _data_of(module)
    check_kinds(pipeline=pipeline, name=name, options=options, output=output, signature=signature, cache=cache)
    request = CompileRequest(
        data,
        one_target(target).name,
        name,
        signature=signature,
        options=_with_pipeline(options, pipeline),
        output=Path(output) if output else None,
        cache=lookup.wanted(cache),
    )
    listeners = Listeners.of(observers, isolation)
    return Kernel(listeners.told(functools.partial(_lowered, request, listeners, isolation)))


def _data_of(module: Any) -> bytes:
    """The text or bytecode of what a caller calls a module."""
    if isinstance(module, str):
        return _some(module.encode("utf-8", "surrogatepass"))
    if isinstance(module, bytes):
        return _some(module)
    # Whoever has a module object has the bindings.
    bindings = sys.modules.get("cutlass._mlir.ir")
    if bindings is not None and isinstance(module, bindings.Module):
        return to_bytecode(module)
    kind = f"{type(module).__module__}.{type(module).__qualname__}"
    if isinstance(module, os.PathLike):
        hint = "hand over what is in the file: path.read_bytes()"
    else:
        hint = "an ir.Module is one of cutecc.ir.mlir, or of cutlass._mlir, which are the same"
    raise UsageError(f"a module is MLIR text, bytecode or an ir.Module, not a {kind}", hints=[hint])


def _some(data: bytes) -> bytes:
    if not data.strip():
        raise ParseError("the text of the module is empty")
    return data


def _with_pipeline(options: CompileOptions, pipeline: str | Pipeline) -> CompileOptions:
    return options if pipeline == "nvidia" else replace(options, pipeline=pipeline)


def _targets(choice: str | Target | Sequence[str | Target] | None) -> list[Target]:
    if not isinstance(choice, str | Target | Sequence | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"a target is a name, as sm_90a, or a Target, not {choice!r}")
    if isinstance(choice, Target):
        return [choice]
    if choice is None:
        choice = Settings.from_environment().target or "native"
    names: Iterable[str | Target] = [choice] if isinstance(choice, str) else choice
    return parse_targets(",".join(map(str, names)))


def one_target(choice: str | Target | None) -> Target:
    """The target that is meant. Raises `UsageError` for several: a module is traced for one."""
    targets = _targets(choice)
    if len(targets) > 1:
        names = ", ".join(each.name for each in targets)
        raise UsageError(f"one target at a time, not {names}")
    return targets[0]


def _lowered(request: CompileRequest, listeners: Listeners, isolation: Isolation) -> Compilation:
    if isolation == "none":
        planned: Compilation | None = None

        def emit(event: Event) -> None:
            nonlocal planned
            planned = event.compilation if isinstance(event, Planned) else planned
            if listeners.emit:
                listeners.emit(event)

        try:
            return lower(request, listeners.of_passes, emit=emit)
        except Exception as failure:
            if isinstance(failure, Error) or listeners.raised(failure):
                raise
            error = reproducing.internal_error(failure)
            if request.options.reproduce:
                reproducing.save_internal(request, error, planned and planned.pipeline)
            raise error from failure
    from cutecc.compilation.worker import lower_in_worker

    return lower_in_worker(replace(request, registered=registry.for_worker(request.options.words)), listeners.emit)


def lower(
    request: CompileRequest, observers: Sequence[Observer] = (), *, emit: Callable[[Event], None] | None = None
) -> Compilation:
    """Lower one module for one target, in this process, and tell `emit` how it goes.

    With `request.output`, the record grows in that folder as passes end. Raises `ParseError`, `UsageError` for a
    pipeline that cannot be, `PassError` for the pass that failed and `ToolError` for a tool; the record on disk then
    says so too.
    """
    registry.register_all(request.registered)
    tell = emit or _nobody
    with _in_process, interrupts.held(), pass_context.isolated(), ExitStack() as stack:
        clock = _Clock()
        stack.enter_context(fresh_context())
        module = parse(request.module, request.source)
        tell(Parsed())
        plan = planning.plan(request, module)
        plan.compilation.seconds = {"trace": request.trace_seconds, "parse": clock.lap()}
        folder = _begun_record(request, plan, stack)
        cached = _cached(request, plan, module, observers, tell)
        if cached and cached.restore():
            return _restored(plan, folder, clock, tell)
        scratch = Path(stack.enter_context(TemporaryFolder()))
        watchers = Watchers.of(request, plan, folder, scratch, observers, emit)
        with _finishing(request, plan, folder, watchers, cached, clock):
            _run_passes(plan, module, watchers, clock, tell)
            _make_artifacts(plan, folder, watchers, tell)
        return plan.compilation


def _nobody(event: Event) -> None:
    """Hears events that nobody wants."""


def _begun_record(request: CompileRequest, plan: Plan, stack: ExitStack) -> RecordFolder | None:
    """The folder of the record, in which the plan stands from now on; `stack` closes it."""
    if request.output is None:
        return None
    folder = RecordFolder(request.output, request.output_handle)
    stack.callback(folder.close)
    folder.save(plan.compilation)
    return folder


def _cached(
    request: CompileRequest,
    plan: Plan,
    module: ir.Module,
    observers: Sequence[Observer],
    tell: Callable[[Event], None],
) -> Cached | None:
    """The cache, when it may know this request: observers of passes see them run, and could change things."""
    if not request.cache or observers:
        return None
    slot = caching.slot_for(request, plan, module)
    if slot is None:
        return None
    tell(Keyed(slot.key, slot.module, slot.sources))
    return Cached(request, slot, plan.compilation)


def _restored(plan: Plan, folder: RecordFolder | None, clock: _Clock, tell: Callable[[Event], None]) -> Compilation:
    """What the cache had; of passes that ran earlier is told what was told then."""
    compilation = plan.compilation
    compilation.seconds["cache"] = clock.lap()
    if folder:
        folder.save(compilation)
    # Behind it: who hears it may end the call, and the record is whole.
    tell(Planned(replace(compilation, steps=[]), plan.first, plan.last))
    for step in compilation.steps:
        for remark in step.remarks:
            tell(Said(step.index, step.name, remark))
        tell(PassFinished(step))
    return compilation


def _run_passes(
    plan: Plan, module: ir.Module, watchers: Watchers, clock: _Clock, tell: Callable[[Event], None]
) -> None:
    tell(Planned(plan.compilation, plan.first, plan.last))
    manager.run(watchers.collector.armed(plan.pipeline), module, watchers.observers, offset=plan.offset)
    plan.compilation.seconds["passes"] = clock.lap()


def _make_artifacts(plan: Plan, folder: RecordFolder | None, watchers: Watchers, tell: Callable[[Event], None]) -> None:
    tell(ArtifactsStarted())
    watchers.collector.finish(plan.compilation, folder)
    watchers.look_at_code()


@contextlib.contextmanager
def _finishing(
    request: CompileRequest,
    plan: Plan,
    folder: RecordFolder | None,
    watchers: Watchers,
    cached: Cached | None,
    clock: _Clock,
) -> Generator[None]:
    """What comes of the stages inside is the record's status; the record is kept whatever that is."""
    compilation = plan.compilation
    try:
        yield
        compilation.status = "stopped" if request.options.stop_after else "ok"
    except Error as error:
        _note_failure(request, plan, folder, error)
        raise
    except BaseException as failure:
        # Ctrl-C in a library call, or somebody else's observer.
        compilation.status = "interrupted" if isinstance(failure, KeyboardInterrupt) else "failed"
        raise
    finally:
        watchers.finish()
        if cached:
            cached.keep()
        compilation.seconds["artifacts"] = clock.lap()
        if folder:
            _save_last(folder, compilation)


def _note_failure(request: CompileRequest, plan: Plan, folder: RecordFolder | None, error: Error) -> None:
    """Have the record say what failed; for a pass, with a reproducer."""
    if error.location and error.location.file == "-":
        error.location = replace(error.location, file=request.source)
    compilation = plan.compilation
    compilation.status = "failed"
    stage = error.pass_name if isinstance(error, PassError) else "artifacts"
    compilation.failure = Failure.of(stage, error)
    if isinstance(error, PassError) and request.options.reproduce:
        index = compilation.steps[-1].index - plan.offset
        reproducing.save(request, plan.pipeline, index, error, compilation, folder)


def _save_last(folder: RecordFolder, compilation: Compilation) -> None:
    """Save the record; when that fails after something else has, the first failure is the one to tell."""
    try:
        folder.save(compilation)
    except RecordError:
        if compilation.status in ("ok", "stopped"):
            raise


class _Clock:
    """Wall time since the last lap, in seconds."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        now = time.perf_counter()
        lap, self._last = now - self._last, now
        return lap
