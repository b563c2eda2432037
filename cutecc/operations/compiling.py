"""From descriptions to kernels: from the persistent cache without the DSL, else compiled, in processes of their own
or, where the DSL is loaded already, here.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cutecc.cache import direct, entries, lookup
from cutecc.cache.direct import DirectEntry, Snapshot
from cutecc.cache.fingerprint import digest_of, own_fingerprint
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store
from cutecc.config import Settings
from cutecc.errors import Error
from cutecc.kernel import Kernel
from cutecc.operations.any_description import Description
from cutecc.operations.kernels import build
from cutecc.record import ArtifactKind, Compilation, Remark
from cutecc.support.flavours import flavour

if TYPE_CHECKING:
    from cutecc.compilation.request import CompileOptions

Progress = Callable[[Description, Kernel | Error], None]

_FORMAT = 1
_ARTIFACTS: tuple[ArtifactKind, ...] = ("ptx", "cubin", "host-program")
"""What a compilation that asks for nothing else keeps."""
_NOTHING_READ = Snapshot({}, [], {}, [], {})
_WHEELS = ("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-core")
_VARIABLES = ("CUTE_", "CUTLASS_")
_FEW = 2
"""Kernels that are compiled sooner here than in new processes, which have to load the DSL: those of one operation."""


def compile_descriptions(
    descriptions: Sequence[Description],
    *,
    options: CompileOptions | None = None,
    workers: int | None = None,
    progress: bool | Progress = False,
) -> list[Kernel | Error]:
    """The kernel of each description, or why there is none, in their order; a description that comes twice is compiled
    once.

    Those that the cache has are read from it: neither the DSL nor MLIR is imported for them. The others are compiled in
    `workers` processes, by default one for each processor; without `workers` one or two in this process, where it has
    the DSL loaded. `options` are CompileOptions; with other than the usual ones, this process's cache of kernels is
    left alone. `progress` draws a bar on standard error, or is told of each.
    """
    unique = {each.compiled().key: each for each in descriptions}
    found: dict[str, Kernel | Error] = {}
    use_cache = options is None and lookup.wanted(None)
    if use_cache:
        for key, each in unique.items():
            if (kernel := _restore(each)) is not None:
                found[key] = kernel
                if callable(progress):
                    progress(each, kernel)
    missing = {key: each for key, each in unique.items() if key not in found}
    if missing:
        found.update(_compile(missing, options, workers, progress, keep=use_cache))
    return [found[each.compiled().key] for each in descriptions]


def _compile(
    missing: dict[str, Description],
    options: CompileOptions | None,
    workers: int | None,
    progress: bool | Progress,
    *,
    keep: bool,
) -> dict[str, Kernel | Error]:
    from cutecc.compilation.request import CompileOptions
    from cutecc.compilation.sweep import Job, compile_many

    options = options or CompileOptions()
    cache = False if keep else None  # kept under the description, and there alone
    if workers is None and len(missing) <= _FEW and "cutlass.cute" in sys.modules:
        found: dict[str, Kernel | Error] = {}
        for key, each in missing.items():
            found[key] = result = _compile_here(each, options, cache)
            if keep and isinstance(result, Kernel):
                _keep(each, result.compilation)
            if callable(progress):
                progress(each, result)
        return found
    by_entry: dict[str, Description] = {}
    listed: list[Job] = []
    for each in missing.values():
        compiled = each.compiled()
        entry = build.entry(compiled)
        by_entry[entry] = each
        listed.append(
            Job(
                build.FILE,
                entry=entry,
                args=build.specs(compiled),
                target=compiled.target,
                options=options,
                cache=cache,
            )
        )

    def tell(job: Job, result: Kernel | Error) -> None:
        assert callable(progress)
        progress(by_entry[job.entry or ""], result)

    results = compile_many(listed, workers=workers, progress=tell if callable(progress) else progress)
    for each, result in zip(missing.values(), results, strict=True):
        if keep and isinstance(result, Kernel):
            _keep(each, result.compilation)
    return dict(zip(missing, results, strict=True))


def _compile_here(description: Description, options: CompileOptions, cache: bool | None) -> Kernel | Error:
    """What compiling in this process gives."""
    from cutecc.driver import compile

    compiled = description.compiled()
    try:
        entry, specs = build.build(compiled.to_json()), build.specs(compiled).values()
        kernel = compile(entry, *specs, target=compiled.target, options=options, cache=cache)
    except Error as error:
        return error
    assert isinstance(kernel, Kernel)
    return kernel


def _restore(description: Description) -> Kernel | None:
    """The kernel that the cache has."""
    start = time.perf_counter()
    compiled = description.compiled()
    key = cache_key(compiled)
    try:
        entry = lookup.load_direct(f"{key}.direct")
        stored = lookup.load(entry.key) if entry else None
    except CacheError:
        return None  # compiled, and told of then
    if entry is None or stored is None or not entries.serves(stored, entry.module, _ARTIFACTS, observe=False):
        return None
    compilation = Compilation(
        name=entry.name,
        target=compiled.target,
        pipeline=stored.record.pipeline,
        versions=stored.record.versions,
        source=build.FILE,
        signature=entry.signature,
        warnings=list(entry.warnings),
    )
    entries.restore(stored, compilation, _ARTIFACTS, optional=_ARTIFACTS)
    compilation.seconds = {"cache": time.perf_counter() - start}
    return Kernel(compilation)


def _keep(description: Description, compilation: Compilation) -> None:
    """Keep a kernel under its description. Nobody fails because of the cache: a warning says what is wrong with it."""
    if compilation.status != "ok" or compilation.signature is None:
        return
    key = cache_key(description.compiled())
    record, led = f"{key}.record", f"{key}.direct"
    entry = DirectEntry(led, key, key, compilation.name, compilation.signature, [], _NOTHING_READ)
    data = entries.encode(compilation, record, key, _ARTIFACTS, own_warnings=0, entry=description.name)
    try:
        store = Store.of(Settings.from_environment())
        store.put(record, data)
        store.put(led, direct.encode(entry))
    except CacheError as error:
        compilation.warnings.append(Remark("warning", error.message))


def cache_key(compiled: Description) -> str:
    """What decides about a kernel: its description, this cutecc, the DSL, and the variables that it reads."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
    return digest_of(
        {
            "format": _FORMAT,
            "description": compiled.to_json(places=False).decode(),
            "cutecc": own_fingerprint(),
            "wheels": {name: _version(name) for name in (*_WHEELS, f"nvidia-cutlass-dsl-libs-{flavour()}")},
            "variables": variables,
        }
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
