"""Times products beside torch's, as `tools/bench_operations.py --run` does. Needs a GPU and torch, and no DSL.

All contestants of a shape are timed in one run, in turn, each as CUDA graphs of some milliseconds, so that no launch
costs anything and all see the same clocks and heat. Inputs are random normal numbers, since zeros need less power, in
as many sets as exceed twice the L2 cache. Outputs are NaN before they are written, and compared with torch's.
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
from operations_plan import Contest, Plan, path_of
from operations_results import PEER, Found, Results, Timed

from cutecc.benchmarking.running import current_stream, sets_needed
from cutecc.errors import Error
from cutecc.operations import Gemm
from cutecc.operations.tile_model import slices as usual_slices
from cutecc.runtime.timing import measure, warm_up
from cutecc.runtime.workspace import Workspace

_GRAPH = 2000.0
"""Microseconds that a graph is to last."""
_MOST_CALLS = 512
_TOLERANCE = {"f16": 1e-2, "bf16": 2e-2, "f8E4M3FN": 2e-2, "tf32": 5e-3, "f64": 1e-12}
"""Of the largest difference to torch's result, relative to its largest element."""
_TYPES: dict[str, tuple[Any, Any]] = {
    "f16": (torch.float16, torch.float16),
    "bf16": (torch.bfloat16, torch.bfloat16),
    "f8E4M3FN": (torch.float8_e4m3fn, torch.bfloat16),
    "tf32": (torch.float32, torch.float32),
    "f64": (torch.float64, torch.float64),
}
"""In memory, of inputs and of results."""


def run_plan(folder: Path, *, rounds: int, only: str, tell: Callable[[Results, Found | str], object]) -> Results:
    """Time every contest of a folder, or those whose type or shape is `only`; `tell` is told what came of each.

    What torch itself cannot do, or a kernel that fails on the device, is a problem of its contest alone.
    """
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    with Workspace() as gpu, current_stream(gpu):
        versions = {"torch": str(torch.__version__), "cuBLAS": _cublas_version()}
        results = Results(datetime.date.today().isoformat(), gpu.name, gpu.driver_version, versions)
        for contest in Plan.read(folder).contests:
            if only and only not in (contest.dtype, contest.shape):
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


def time_contest(contest: Contest, folder: Path, gpu: Workspace, rounds: int) -> Found:
    """Time all contestants of one shape in turn."""
    data = _Data(contest, gpu.l2_bytes)
    calls: dict[tuple[str, bool], Callable[[int], object]] = {(PEER, False): data.peer}
    words: dict[tuple[str, bool], str] = {(PEER, False): ""}
    errors: dict[tuple[str, bool], float] = {(PEER, False): 0.0}
    problems: list[str] = []
    data.peer(0)
    wanted = data.results[0].clone()
    for name, fused in [*((name, False) for name in contest.candidates), *((name, True) for name in contest.fused)]:
        key = (name, fused)
        try:
            op = Gemm.load(path_of(folder, name))
            call = data.call(op, fused=fused)
            data.results[0].fill_(math.nan)
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


def describe(op: Gemm, contest: Contest) -> str:
    """The choices that an operation stands for, shortly."""
    description = op.description
    tile = description.tile
    words = ["×".join(map(str, tile.threadblock))]
    words.append(tile.schedule if description.family == "sm90" else "×".join(map(str, tile.warps)) + " warps")
    words += [f"cluster {tile.cluster[0]}×{tile.cluster[1]}"] if tile.cluster != (1, 1) else []
    words += [description.swizzle] if description.swizzle != "identity1" else []
    if description.mode.startswith("split_k"):
        count = usual_slices(description, contest.problem)
        words.append(f"{description.mode.removeprefix('split_k_')} split-K {count}")
    return ", ".join(words)


class _Data:
    """Inputs and results of a contest, in several sets."""

    def __init__(self, contest: Contest, l2_bytes: int) -> None:
        stored, result = _TYPES[contest.dtype]
        self._contest = contest
        batch = (contest.batches,) if contest.batches > 1 else ()
        a, b, d = (
            (*batch, *sizes) for sizes in ((contest.m, contest.k), (contest.n, contest.k), (contest.m, contest.n))
        )
        size = (math.prod(a) + math.prod(b)) * stored.itemsize + math.prod(d) * result.itemsize
        self.sets = sets_needed(size, l2_bytes)
        """How many sets of arguments."""
        self._a = [_random(a, stored) for _ in range(self.sets)]
        self._b = [_random(b, stored).mT for _ in range(self.sets)]
        self.results = [torch.empty(d, device="cuda", dtype=result) for _ in range(self.sets)]
        """D of each set."""
        self._bias = _random((contest.n,), result)
        self._one = torch.ones((), device="cuda")

    def peer(self, index: int) -> object:
        """What torch computes of a set."""
        a, b, d = self._a[index], self._b[index], self.results[index]
        if self._contest.dtype == "f8E4M3FN":
            scales = {"scale_a": self._one, "scale_b": self._one}
            multiply: Any = getattr(torch, "_scaled_mm")  # noqa: B009 - for type checkers
            return multiply(a, b, **scales, out_dtype=d.dtype, use_fast_accum=True, out=d)
        return torch.bmm(a, b, out=d) if self._contest.batches > 1 else torch.matmul(a, b, out=d)

    def call(self, op: Gemm, *, fused: bool) -> Callable[[int], object]:
        """What runs an operation on a set."""
        each = self._contest
        size = op.workspace_bytes(problem=(each.m, each.n, each.k, each.batches))
        workspace = torch.zeros(size, device="cuda", dtype=torch.uint8) if size else None
        others = {"bias": self._bias} if fused else {}

        def call(index: int) -> None:
            op.run(self._a[index], self._b[index], None, self.results[index], workspace=workspace, **others)

        return call

    def activated(self, product: Any) -> Any:
        """Bias and gelu of torch's product."""
        return torch.nn.functional.gelu(product.float() + self._bias.float())


def _random(shape: Sequence[int], dtype: Any) -> Any:
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    return torch.randn(*shape, device="cuda", dtype=wide).to(dtype)


def _difference(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest element; NaN where something was not written."""
    wide = torch.float64 if found.dtype == torch.float64 else torch.float32
    found, wanted = found.to(wide), wanted.to(wide)
    return float((found - wanted).abs().max() / wanted.abs().max())


def _cublas_version() -> str:
    for name in ("nvidia-cublas", "nvidia-cublas-cu12"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"
