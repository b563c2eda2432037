"""Timing kernels, and whatever else does the same work, in turn, beside what the device can do."""

from __future__ import annotations

import datetime
import functools
import importlib
import math
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from cutecc.benchmarking.results import Benchmark, CacheState, Measurement, Rates
from cutecc.errors import UsageError
from cutecc.runtime.timing import Call, measure
from cutecc.runtime.workspace import Workspace

MOST_SETS = 64
_COPY_BYTES = 1 << 30
_MATRIX_EDGE = 8192
_RATE_RUNS = 20


def benchmark(
    kernels: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    /,
    *args: Any,
    make_args: Callable[[], Sequence[Any]] | None = None,
    runs: int | None = None,
    cold_l2: bool = False,
    bytes: float | None = None,
    flops: float | None = None,
    device: int = 0,
    **kwargs: Any,
) -> Benchmark:
    """Time kernels, or any functions that put work on a GPU, in turn.

    `kernels` is a compiled kernel, a function, or several by name. All are called with `args` and `kwargs`, or with
    what `make_args` returns, which is then called for several sets of arguments whose memory together exceeds twice the
    L2 cache, 64 sets at most; calls take turns with them. `cold_l2` flushes the cache before every sample instead.
    `runs` is the number of samples for each; by default, as many as fill a second, 20 to 200. `bytes` and `flops` are
    those of one call, for rates. `device` is a CUDA ordinal.

    Functions run with torch's and cupy's current stream set to the benchmark's. Calls shorter than 20 µs are timed as a
    CUDA graph of many. Returns a `Benchmark`. Raises `LaunchError` where there is no GPU, and what a call raises.
    """
    if make_args is not None and (args or kwargs):
        raise UsageError("benchmark() takes arguments or make_args, not both")
    named = _named(kernels)
    with Workspace(device) as workspace, current_stream(workspace):
        sets = [(tuple(make_args()), dict[str, Any]()) if make_args else (args, kwargs)]
        if make_args and not cold_l2:
            needed = sets_needed(_bytes_of(sets[0][0]), workspace.l2_bytes)
            sets += [(tuple(make_args()), {}) for _ in range(needed - 1)]
        size = sum(_bytes_of((*positional, *named_.values())) for positional, named_ in sets)
        cache = cache_state(cold_l2, len(sets), size, workspace.l2_bytes)
        contestants = {
            name: [prepared(kernel, workspace, *positional, **named_) for positional, named_ in sets]
            for name, kernel in named.items()
        }
        rates = measure_rates(workspace, matrix=flops is not None)
        points = run_point(contestants, workspace, rates, cache, runs=runs, bytes=bytes, flops=flops)
        return describe_run(workspace, rates, points)


def prepared(kernel: Callable[..., Any], workspace: Workspace, /, *args: Any, **kwargs: Any) -> Call:
    """A call of `kernel` with these arguments on the workspace's stream, all that can be done before it done."""
    if hasattr(kernel, "prepare"):
        return getattr(kernel, "prepare")(*args, stream=workspace.stream, **kwargs)  # noqa: B009 - for type checkers
    return functools.partial(kernel, *args, **kwargs)


def sets_needed(size: int, l2_bytes: int) -> int:
    """How many sets of arguments of `size` bytes exceed twice the L2 cache when another one is in use; at most 64."""
    return min(MOST_SETS, 1 + math.ceil(2 * l2_bytes / max(1, size)))


def cache_state(cold_l2: bool, sets: int, total: int, l2_bytes: int) -> CacheState:
    """What the L2 cache holds for `sets` sets of arguments of `total` bytes together."""
    if cold_l2:
        return "cold"
    return "rotating" if sets > 1 and total > 2 * l2_bytes else "warm"


def run_point(
    contestants: Mapping[str, Sequence[Call]],
    workspace: Workspace,
    rates: Rates,
    cache: CacheState,
    *,
    sizes: Mapping[str, int] | None = None,
    runs: int | None = None,
    bytes: float | None = None,
    flops: float | None = None,
) -> list[Measurement]:
    """Time the contestants in turn at one point of a sweep. Raises `UsageError` for one that does nothing."""
    samples = measure(contestants, workspace, runs=runs, cold_l2=cache == "cold")
    if idle := [name for name, each in samples.items() if each.median <= 0]:
        raise UsageError(f"{', '.join(idle)}: nothing on cuda:{workspace.ordinal} to time")
    return [Measurement(name, each, rates, cache, dict(sizes or {}), bytes, flops) for name, each in samples.items()]


def describe_run(
    workspace: Workspace, rates: Rates, measurements: list[Measurement], notes: Sequence[str] = ()
) -> Benchmark:
    """The measurements with everything that a reader has to know about the run."""
    found = list(notes)
    if any(not each.samples.captured for each in measurements):
        names = ", ".join(dict.fromkeys(each.name for each in measurements if not each.samples.captured))
        found.append(f"not captured in a CUDA graph, so that times hold what launching takes: {names}")
    if any(each.cache == "warm" for each in measurements):
        found.append("the memory of all calls fits the L2 cache at some sizes: times are of a warm cache (--cold-l2)")
    return Benchmark(
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        device=workspace.name,
        driver=workspace.driver_version,
        versions=_versions(),
        rates=rates,
        measurements=measurements,
        notes=found,
    )


def measure_rates(workspace: Workspace, *, matrix: bool) -> Rates:
    """The device's copy rate and, with `matrix` and where torch has CUDA, its matrix rate."""
    with workspace.scope():
        size = min(_COPY_BYTES, workspace.free_bytes // 4)
        source, destination = workspace.allocate(size), workspace.allocate(size)
        copies: dict[str, list[Call]] = {"copy": [lambda: workspace.copy(destination, source, size)]}
        median = measure(copies, workspace, runs=_RATE_RUNS)["copy"].median
        copy = 2 * size / median / 1e3
    torch = import_torch() if matrix else None
    if torch is None:
        return Rates(copy)
    with workspace.scope(), current_stream(workspace):
        shape = (_MATRIX_EDGE, _MATRIX_EDGE)
        a, b = (torch.randn(shape, device=f"cuda:{workspace.ordinal}", dtype=torch.float16) for _ in range(2))
        c = torch.empty_like(a)
        product: dict[str, list[Call]] = {"product": [lambda: torch.matmul(a, b.T, out=c)]}
        median = measure(product, workspace, runs=_RATE_RUNS)["product"].median
        return Rates(copy, 2 * _MATRIX_EDGE**3 / median / 1e6)


def import_torch() -> Any:
    """Torch, if it is installed with CUDA and sees a GPU; else `None`."""
    try:
        torch: Any = importlib.import_module("torch")
    except (ImportError, OSError):  # missing, or without a library that it needs
        return None
    return torch if torch.cuda.is_available() else None


@contextmanager
def current_stream(workspace: Workspace) -> Generator[None]:
    """Makes the workspace's stream the current one of torch and cupy, of those that are loaded."""
    with ExitStack() as stack:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch is not None and torch.cuda.is_available():
            stack.enter_context(torch.cuda.device(workspace.ordinal))
            stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(workspace.stream)))
        if cupy is not None:
            stack.enter_context(cupy.cuda.ExternalStream(workspace.stream, workspace.ordinal))
        yield


def _named(kernels: Any) -> dict[str, Callable[..., Any]]:
    # A set of kernels for several targets is a mapping too, and one thing to call.
    if not callable(kernels):
        return dict(cast("Mapping[str, Callable[..., Any]]", kernels))
    compilation = getattr(kernels, "compilation", None)
    return {compilation.name if compilation else getattr(kernels, "__name__", type(kernels).__name__): kernels}


def _bytes_of(values: Sequence[Any]) -> int:
    """Bytes of the arrays among `values`, gaps between their elements left out."""
    from cutecc.arguments.arrays import read_array
    from cutecc.arguments.dtypes import find_numeric_type

    total = 0
    for value in values:
        if isinstance(value, tuple | list):
            total += _bytes_of(value)  # pyright: ignore[reportUnknownArgumentType]
        elif array := read_array(value):
            dtype = find_numeric_type(array.dtype)
            total += math.prod(array.shape) * (dtype.width if dtype else 8) // 8
    return total


def _versions() -> dict[str, str]:
    import importlib.metadata
    import platform

    from cutecc import __version__
    from cutecc.support.flavours import flavour

    found = {"cutecc": __version__, "python": platform.python_version()}
    for name in ("cuda-bindings", "torch", "nvidia-cutlass-dsl"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if of := flavour():
        found["flavour"] = of
    return found
