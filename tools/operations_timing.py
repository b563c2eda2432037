"""Times products beside torch's, as `tools/bench_operations.py --run` does. Needs a GPU and torch, and no DSL.

All contestants of a shape are timed in one run, in turn, each as CUDA graphs of some milliseconds, so that no launch
costs anything and all see the same clocks and heat. Outputs are NaN before they are written, and compared with torch's.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import datetime
import importlib.metadata
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from operations_contests import AnyContest, Product, names_of
from operations_data import data_of
from operations_plan import Plan, path_of
from operations_results import Found, Results, Timed

from cutecc.benchmarking.running import current_stream
from cutecc.errors import Error
from cutecc.operations import Gemm, load
from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.tile_model import slices as usual_slices
from cutecc.runtime.timing import measure, warm_up
from cutecc.runtime.workspace import Workspace

_GRAPH = 2000.0
"""Microseconds that a graph is to last."""
_MOST_CALLS = 512
_TOLERANCE = {"f16": 1e-2, "bf16": 2e-2, "f8E4M3FN": 2e-2, "tf32": 5e-3, "f64": 1e-12, "i8": 1e-3}
"""Of the largest difference to torch's result, relative to its largest element."""


def run_plan(folder: Path, *, rounds: int, only: str, tell: Callable[[Results, Found | str], object]) -> Results:
    """Time every contest of a folder, or those whose type or shape is `only`; `tell` is told what came of each.

    What torch itself cannot do, or a kernel that fails on the device, is a problem of its contest alone.
    """
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True  # of each convolution, cuDNN measures what is the fastest
    with Workspace() as gpu, current_stream(gpu):
        versions = {"torch": str(torch.__version__), "cuBLAS": _cublas_version(), "cuDNN": _cudnn_version()}
        results = Results(datetime.date.today().isoformat(), gpu.name, gpu.driver_version, versions)
        for contest in Plan.read(folder).contests:
            if only and only not in names_of(contest):
                continue
            try:
                newest: Found | str = time_contest(contest, folder, gpu, rounds)
                results.found.append(newest)
            except RuntimeError as error:
                newest = f"{contest.dtype} {contest.shape}: {error}"
                results.failures.append(newest)
            tell(results, newest)
            torch.cuda.empty_cache()
        return results


def time_contest(contest: AnyContest, folder: Path, gpu: Workspace, rounds: int) -> Found:
    """Time all contestants of one shape in turn."""
    data = data_of(contest, gpu.l2_bytes)
    calls: dict[tuple[str, bool], Callable[[int], object]] = {(name, False): call for name, call in data.peers.items()}
    words = dict.fromkeys(calls, "")
    errors = dict.fromkeys(calls, 0.0)
    problems: list[str] = []
    wanted = data.wanted()
    for name, fused in [*((name, False) for name in contest.candidates), *((name, True) for name in contest.fused)]:
        key = (name, fused)
        try:
            op = load(path_of(folder, name))
            call = data.call(op, fused=fused)
            data.poison()
            call(0)
            torch.cuda.synchronize()
        except Error as error:
            problems.append(f"{name}: {error.message}")
            continue
        errors[key] = _difference(data.results[0], data.activated(wanted) if fused else wanted)
        if not errors[key] <= _TOLERANCE[contest.dtype]:
            problems.append(f"{name}: WRONG, by {errors[key]:.2g} of the largest element")
            continue
        calls[key], words[key] = call, describe(op, contest)
    replays: dict[str, Sequence[Callable[[], object]]] = {}
    counts: dict[str, int] = {}
    keys = {str(index): key for index, key in enumerate(calls)}
    kept: list[Any] = []
    for index, key in keys.items():
        cost = warm_up([lambda key=key: calls[key](0)], gpu)
        rotations = math.ceil(_GRAPH / max(cost, 0.1) / data.sets)
        counts[index] = max(1, min(rotations, _MOST_CALLS // data.sets)) * data.sets
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for number in range(counts[index]):
                calls[key](number % data.sets)
        kept.append(graph)
        replays[index] = [graph.replay]
    samples = measure(replays, gpu, runs=rounds)
    timed: list[Timed] = []
    for index, (name, fused) in keys.items():
        times = tuple(each / counts[index] for each in samples[index].microseconds)
        timed.append(Timed(name, fused, words[name, fused], times, errors[name, fused]))
    return Found(contest, tuple(timed), tuple(problems))


def describe(op: Any, contest: AnyContest) -> str:
    """The choices that an operation stands for, shortly."""
    description = op.description if isinstance(op, Gemm) else op.description.gemm
    tile = description.tile
    words = ["×".join(map(str, tile.threadblock))]
    words.append(tile.schedule if description.family == "sm90" else "×".join(map(str, tile.warps)) + " warps")
    words += ["swapped"] if tile.swapped else []
    if description.mode == "split_k_cluster":
        words.append(f"split-K {math.prod(tile.cluster)} in a cluster")
    elif tile.cluster != (1, 1):
        words.append(f"cluster {tile.cluster[0]}×{tile.cluster[1]}")
    words += [description.swizzle] if description.swizzle != "identity1" else []
    if description.mode in SPLIT_K_MODES:
        count = f" {usual_slices(description, contest.problem)}" if isinstance(contest, Product) else ""
        words.append(f"{description.mode.removeprefix('split_k_')} split-K{count}")
    if not isinstance(op, Gemm) and (iterator := getattr(op.description, "iterator", "optimized")) != "optimized":
        words.append(iterator.replace("_", " "))
    return ", ".join(words)


def _difference(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest element; NaN where something was not written."""
    wide = torch.float64 if found.dtype == torch.float64 else torch.float32
    found, wanted = found.to(wide), wanted.to(wide)
    return float((found - wanted).abs().max() / wanted.abs().max())


def _cudnn_version() -> str:
    number = torch.backends.cudnn.version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _cublas_version() -> str:
    for name in ("nvidia-cublas", "nvidia-cublas-cu12"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"
