"""From a kernel file to its record, past whatever the cache spares: the passes, and in a fresh process the trace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from cutecc.cache import direct, entries, lookup
from cutecc.cache.direct import DirectEntry
from cutecc.cache.fingerprint import digest_of, file_digest
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store
from cutecc.compilation.events import Event, Keyed, PassFinished
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions, CompileRequest
from cutecc.compilation.worker import lower_in_worker
from cutecc.config import Settings
from cutecc.errors import TraceError
from cutecc.frontend.files import errors_as_given
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.passes.named import NAMED
from cutecc.record import Compilation
from cutecc.record.folder import RecordFolder
from cutecc.support import isolation

_FORMAT = 1


def trace_apart(file: TraceRequest) -> TracedModule:
    """Run the file and trace its kernel, in a process of its own. Raises `TraceError`."""
    try:
        return isolation.call(
            "cutecc.frontend.trace:trace_file", file, environment={"CUTE_DSL_ARCH": file.target}, quiet=False
        )
    except isolation.ProcessDied as death:
        raise TraceError(f"tracing {file.path} aborted: {death.message}") from None


def lower_file(
    file: TraceRequest,
    request: CompileRequest,
    *,
    output_of: Callable[[str], Path] | None = None,
    trace: Callable[[TraceRequest], TracedModule] = trace_apart,
    cache: bool | None = None,
    use_direct: bool = True,
    on_event: Callable[[Event], None] | None = None,
) -> Compilation:
    """Trace the kernel of a file and lower it, each in a process of its own, or take what is known from the cache.

    `request` says all but what tracing tells, and `output_of` where the record of a kernel of some name goes, unless
    the request does. `cache` is by default as `CUTECC_CACHE` says; without `use_direct` the file is always run. Raises
    as `trace`, `output_of` and `lower_in_worker` do.
    """
    options = request.options

    def of_trace(traced: TracedModule, seconds: float) -> CompileRequest:
        made = request.of(traced, seconds)
        return replace(made, output=output_of(made.name)) if output_of else made

    file = replace(file, target=request.target, options=options.trace_options, locations=options.wants_locations)
    use_cache = lookup.wanted(cache)
    began = time.time_ns()
    environment = dict(os.environ)
    known = _direct_key(file, options) if use_cache and use_direct else None
    if known and not options.needs_passes and (found := _find(known, options, of_trace, on_event)):
        return found
    start = time.perf_counter()
    with errors_as_given(file.path):
        traced = trace(replace(file, watch=known is not None))
    whole = replace(of_trace(traced, time.perf_counter() - start), cache=use_cache)
    keyed: list[Keyed] = []

    def follow(event: Event) -> None:
        if isinstance(event, Keyed):
            keyed.append(event)
        elif on_event:
            on_event(event)

    with errors_as_given(file.path):
        compilation = lower_in_worker(whole, follow)
    if known and keyed and compilation.status == "ok":
        _keep(known, keyed[0], traced, began, environment)
    return compilation


def _direct_key(file: TraceRequest, options: CompileOptions) -> str | None:
    """The name under which to remember what a file leads to; `None` for a request that cannot be told from others."""
    if not isinstance(options.pipeline, str):
        return None
    pipeline = Path(options.pipeline)
    is_file = options.pipeline not in NAMED and "(" not in options.pipeline and pipeline.is_file()
    files = [file.path, *(path for path in options.wheel.link_libraries.split(",") if path)]
    files += [str(path) for path in Settings.from_environment().load]
    files += [str(path) for path in (options.ptxas, pipeline if is_file else None) if path]
    try:
        digest = digest_of(
            {
                "format": _FORMAT,
                "environment": direct.environment(),
                "path": os.path.abspath(file.path),
                "function": file.function,
                "entry": file.entry,
                "args": {name: str(spec) for name, spec in file.args.items()},
                "target": file.target,
                "trace": [file.options, file.locations],
                "pipeline": options.pipeline,
                "edits": [[edit.kind, edit.selector, edit.pass_text] for edit in options.edits],
                "start": options.start_after,
                "options": options.changed(),
                "files": [file_digest(path) for path in files],
            }
        )
    except OSError:
        return None
    return f"{digest}.direct"


def _find(
    name: str,
    options: CompileOptions,
    request_for: Callable[[TracedModule, float], CompileRequest],
    on_event: Callable[[Event], None] | None,
) -> Compilation | None:
    """The record that the direct entry `name` leads to, if there is one, it holds, and its record has all asked for."""
    start = time.perf_counter()
    try:
        entry = lookup.load_direct(name)
        stored = lookup.load(entry.key) if entry and direct.holds(entry.snapshot) else None
    except CacheError:
        return None  # tried again, and told of, when the module is lowered
    if entry is None or stored is None:
        return None
    if not entries.serves(stored, entry.module, options.artifacts, observe=options.observe):
        return None
    traced = TracedModule(b"", entry.signature, entry.name, None, None, tuple(entry.warnings))
    request = request_for(traced, 0.0)
    compilation = Compilation(
        name=request.name,
        target=request.target,
        pipeline=stored.record.pipeline,
        versions=stored.record.versions,
        command=list(request.command),
        source=request.source,
        options=request.options.changed(),
        signature=request.signature,
        workload=request.workload,
        warnings=list(request.warnings),
    )
    entries.restore(stored, compilation, options.artifacts, optional=ALL_ARTIFACTS)
    compilation.seconds = {"cache": time.perf_counter() - start}
    if on_event:
        for step in compilation.steps:
            on_event(PassFinished(step))
    if request.output:
        folder = RecordFolder(request.output)
        folder.save(compilation)
        folder.close()
    return compilation


def _keep(name: str, keyed: Keyed, traced: TracedModule, began: int, environment: Mapping[str, str]) -> None:
    """Remember what the file led to, if all that the trace read is known and was left alone meanwhile.

    `environment` is that of this process as it `began`: the process that traced has variables of its own.
    """
    inputs = traced.inputs
    if inputs is None:
        return
    files = {*inputs.files, *keyed.sources}
    variables = {variable: environment.get(variable) for variable in inputs.variables}
    snapshot = direct.take(sorted(files), inputs.absent, inputs.folders, inputs.names, variables, since_ns=began)
    if snapshot is None:
        return
    entry = DirectEntry(name, keyed.key, keyed.module, traced.name, traced.signature, list(traced.warnings), snapshot)
    try:
        Store.of(Settings.from_environment()).put(name, direct.encode(entry))
    except CacheError:
        return  # the record has a warning of it already
    except UnicodeEncodeError:
        return  # a name of something that was read is no text
