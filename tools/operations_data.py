"""Arguments and peers of each contest of `tools/bench_operations.py`. Needs a GPU and torch, and no DSL.

Inputs are random normal numbers, since zeros need less power, in as many sets as exceed twice the L2 cache.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from operations_contests import AnyContest, Convolution, Grouped, Product
from operations_results import PEER

from cutecc.benchmarking.running import sets_needed

_TYPES: dict[str, tuple[Any, Any]] = {
    "f16": (torch.float16, torch.float16),
    "bf16": (torch.bfloat16, torch.bfloat16),
    "f8E4M3FN": (torch.float8_e4m3fn, torch.bfloat16),
    "tf32": (torch.float32, torch.float32),
    "f64": (torch.float64, torch.float64),
    "i8": (torch.int8, torch.int32),
}
"""In memory, of inputs and of results."""

_BLOCK = 128
"""Of K, and of N, for each of which there is a scale."""

Call = Callable[[int], object]
"""Computes one of the sets."""


class Data:
    """Inputs and results of a contest, in several sets."""

    sets: int
    results: list[Any]
    """D of each set."""
    peers: dict[str, Call]
    """What torch offers, by name; the first one's result is what all are held against."""

    def wanted(self) -> Any:
        """The result of the first set."""
        found: Any = next(iter(self.peers.values()))(0)
        return (self.results[0] if found is None else found).clone()

    def poison(self) -> None:
        """Make everything in the first result wrong: NaN, or the least integer."""
        found = self.results[0]
        found.fill_(math.nan if found.is_floating_point() else torch.iinfo(found.dtype).min)

    def call(self, op: Any, *, fused: bool) -> Call:
        """What runs an operation on a set."""
        raise NotImplementedError

    def activated(self, product: Any) -> Any:
        """Bias and gelu of torch's product."""
        raise NotImplementedError


def data_of(contest: AnyContest, l2_bytes: int) -> Data:
    """The arguments of a contest."""
    match contest:
        case Product():
            return _ProductData(contest, l2_bytes)
        case Grouped() if contest.scales == "blocks":
            return _ScaledData(contest, l2_bytes)
        case Grouped():
            return _GroupedData(contest, l2_bytes)
        case Convolution():
            return _ConvolutionData(contest, l2_bytes)


class _ProductData(Data):
    def __init__(self, contest: Product, l2_bytes: int) -> None:
        stored, result = _TYPES[contest.dtype]
        self._contest = contest
        batch = (contest.batches,) if contest.batches > 1 else ()
        a, b, d = (
            (*batch, *sizes) for sizes in ((contest.m, contest.k), (contest.n, contest.k), (contest.m, contest.n))
        )
        self.sets = _sets(l2_bytes, (stored, a), (stored, b), (result, d))
        self._a = [_random(a, stored) for _ in range(self.sets)]
        self._b = [_random(b, stored).mT for _ in range(self.sets)]
        self.results = [torch.empty(d, device="cuda", dtype=result) for _ in range(self.sets)]
        self._bias = _random((contest.n,), result)
        self._one = torch.ones((), device="cuda")
        self.peers = {PEER: self._multiply}

    def _multiply(self, index: int) -> None:
        a, b, d = self._a[index], self._b[index], self.results[index]
        if self._contest.dtype == "f8E4M3FN":
            scales = {"scale_a": self._one, "scale_b": self._one}
            multiply: Any = getattr(torch, "_scaled_mm")  # noqa: B009 - for type checkers
            multiply(a, b, **scales, out_dtype=d.dtype, use_fast_accum=True, out=d)
        elif self._contest.batches > 1:
            torch.bmm(a, b, out=d)
        else:
            torch.matmul(a, b, out=d)

    def call(self, op: Any, *, fused: bool) -> Call:
        each = self._contest
        workspace = _zeros(op.workspace_bytes(problem=(each.m, each.n, each.k, each.batches)))
        others = {"bias": self._bias} if fused else {}

        def call(index: int) -> None:
            op.run(self._a[index], self._b[index], None, self.results[index], workspace=workspace, **others)

        return call

    def activated(self, product: Any) -> Any:
        return torch.nn.functional.gelu(product.float() + self._bias.float())


class _GroupedData(Data):
    """Weights lie as (groups, outputs, inputs). Rows of all groups lie one below the other."""

    def __init__(self, contest: Grouped, l2_bytes: int) -> None:
        stored, result = _TYPES[contest.dtype]
        groups, rows, n, k = contest.groups, contest.rows, contest.n, contest.k
        x, weight, y = (rows, k), (groups, n, k), (rows, n)
        shapes = {"fprop": (x, weight, y), "dgrad": (y, weight, x), "wgrad": (y, x, weight)}[contest.pass_]
        self.sets = _sets(l2_bytes, *zip((stored, stored, result), shapes, strict=True))
        made = [[_random(each, stored) for each in shapes[:2]] for _ in range(self.sets)]
        self.results = [torch.empty(shapes[2], device="cuda", dtype=result) for _ in range(self.sets)]
        self._a = [each[0].mT if contest.pass_ == "wgrad" else each[0] for each in made]
        self._b = [each[1].mT if contest.pass_ == "fprop" else each[1] for each in made]
        self._ends = torch.tensor(contest.sizes, device="cuda").cumsum(0).to(torch.int32)
        self._is_wgrad = contest.pass_ == "wgrad"
        self._scales: dict[str, Any] = {}
        self._slices = [slice(end - size, end) for size, end in zip(contest.sizes, self._ends.tolist(), strict=True)]
        multiply: Any = getattr(torch, "_grouped_mm")  # noqa: B009 - for type checkers
        self.peers = {
            f"{PEER}, each group": self._one_by_one,
            f"{PEER}._grouped_mm": lambda index: multiply(self._a[index], self._b[index], offs=self._ends),
        }

    def _one_by_one(self, index: int) -> None:
        a, b, d = self._a[index], self._b[index], self.results[index]
        for group, rows in enumerate(self._slices):
            if self._is_wgrad:
                torch.matmul(a[:, rows], b[rows], out=d[group])
            elif rows.stop > rows.start:
                torch.matmul(a[rows], b[group], out=d[rows])

    def call(self, op: Any, *, fused: bool) -> Call:
        workspace = _zeros(op.workspace_bytes(len(self._ends)))

        def call(index: int) -> None:
            arguments = self._a[index], self._b[index], None, self.results[index]
            op.run(*arguments, offsets=self._ends, workspace=workspace, **self._scales)

        return call


class _ScaledData(_GroupedData):
    """Blocks have the scales of their rows, and of their columns, so that torch computes the same."""

    def __init__(self, contest: Grouped, l2_bytes: int) -> None:
        super().__init__(contest, l2_bytes)
        blocks = [-(-extent // _BLOCK) for extent in (contest.n, contest.k)]
        rows = torch.rand(contest.rows, device="cuda") + 0.5
        columns = torch.rand((contest.groups, blocks[0]), device="cuda") + 0.5
        self._scales = {
            "scales_a": rows[:, None].expand(-1, blocks[1]).contiguous(),
            "scales_b": columns[:, None].expand(-1, blocks[1], -1).contiguous(),
        }
        of_torch = rows, columns.repeat_interleave(_BLOCK, 1)[:, : contest.n].contiguous()
        multiply: Any = getattr(torch, "_scaled_grouped_mm")  # noqa: B009 - for type checkers

        def peer(is_fast: bool) -> Call:
            options: dict[str, Any] = {"out_dtype": self.results[0].dtype, "use_fast_accum": is_fast}
            return lambda index: multiply(self._a[index], self._b[index], *of_torch, offs=self._ends, **options)

        name = f"{PEER}._scaled_grouped_mm"
        self.peers = {name: peer(is_fast=False), f"{name}, use_fast_accum": peer(is_fast=True)}


class _ConvolutionData(Data):
    """Tensors have torch's shapes, and channels last in memory."""

    def __init__(self, contest: Convolution, l2_bytes: int) -> None:
        stored, result = _TYPES[contest.dtype]
        each, (p, q) = contest, contest.outputs
        x, y = (each.n, each.c, each.h, each.w), (each.n, each.k, p, q)
        filters = (each.k, each.c // each.groups, each.r, each.s)
        shapes = {"fprop": (x, filters, y), "dgrad": (y, filters, x), "wgrad": (y, x, filters)}[each.pass_]
        self.sets = _sets(l2_bytes, *zip((stored, stored, result), shapes, strict=True))
        self._a = [_channels_last(_random(shapes[0], stored)) for _ in range(self.sets)]
        self._b = [_channels_last(_random(shapes[1], stored)) for _ in range(self.sets)]
        self.results = [_channels_last(torch.empty(shapes[2], device="cuda", dtype=result)) for _ in range(self.sets)]
        self._contest = contest
        self._geometry = {"stride": each.stride, "padding": each.padding, "groups": each.groups}
        if contest.dtype == "i8":  # which torch convolves on no GPU: what f16 takes, rounded to the same integers
            self._halves = [[each[index].half() for index in range(self.sets)] for each in (self._a, self._b)]
            self.peers = {f"{PEER}, in f16": lambda index: self._outputs(*(each[index] for each in self._halves))}
        else:
            self.peers = {PEER: self._convolve}

    def _convolve(self, index: int) -> Any:
        a, b = self._a[index], self._b[index]
        if self._contest.pass_ == "fprop":
            return self._outputs(a, b)
        is_dgrad = self._contest.pass_ == "dgrad"
        # Only the shape of the one that is to be computed counts.
        x, filters = (self.results[index], b) if is_dgrad else (b, self.results[index])
        stride, padding = ([self._geometry[name]] * 2 for name in ("stride", "padding"))
        found = torch.ops.aten.convolution_backward(
            *(a, x, filters, None, stride, padding, [1, 1], False, [0, 0], self._geometry["groups"]),
            [is_dgrad, not is_dgrad, False],
        )
        return found[0] if is_dgrad else found[1]

    def _outputs(self, x: Any, filters: Any) -> Any:
        return torch.nn.functional.conv2d(x, filters, **self._geometry)

    def call(self, op: Any, *, fused: bool) -> Call:
        workspace = _zeros(op.workspace_bytes(self._a[0], self._b[0], D=self.results[0], **self._geometry))

        def call(index: int) -> None:
            op.run(self._a[index], self._b[index], None, self.results[index], workspace=workspace, **self._geometry)

        return call


def _sets(l2_bytes: int, *tensors: tuple[Any, Sequence[int]]) -> int:
    return sets_needed(sum(dtype.itemsize * math.prod(shape) for dtype, shape in tensors), l2_bytes)


def _random(shape: Sequence[int], dtype: Any) -> Any:
    if dtype == torch.int8:
        return torch.randint(-4, 5, shape, device="cuda", dtype=dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    return torch.randn(*shape, device="cuda", dtype=wide).to(dtype)


def _channels_last(tensor: Any) -> Any:
    return tensor.contiguous(memory_format=torch.channels_last)


def _zeros(size: int) -> Any:
    return torch.zeros(size, device="cuda", dtype=torch.uint8) if size else None
