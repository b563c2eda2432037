"""What `tools/bench_operations.py` times: shapes and types of `bench_set.toml`. Needs neither the DSL nor a GPU."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from cutecc.operations import Operand
from cutecc.operations.operand import most_aligned
from cutecc.operations.problem_sizes import Problem

SET = Path(__file__).parent / "bench_set.toml"
HALVES = ("f16", "bf16")
NETWORKS = ("writing", "reading", "vision", "recommending")
"""Kinds of products that are layers of networks."""
_RESULTS = {"f8E4M3FN": "bf16", "tf32": "f32", "i8": "i32"}

Kind: TypeAlias = Literal["fprop", "dgrad", "wgrad"]
"""Outputs, gradient of the activations, gradient of the weights: of convolutions and of layers of a mixture."""
KINDS: tuple[Kind, ...] = ("fprop", "dgrad", "wgrad")
Balance: TypeAlias = Literal["balanced", "skewed", "empty"]
BALANCES: tuple[Balance, ...] = ("balanced", "skewed", "empty")


class Contest(msgspec.Struct, frozen=True, tag_field="operation"):
    """Operations of one shape and type, timed against each other and against torch."""

    dtype: str
    """What is multiplied; `tf32` is f32 in memory."""
    kind: str
    """As tables have it."""
    candidates: tuple[str, ...] = ()
    """Names of files, the default choice first."""
    fused: tuple[str, ...] = ()
    """The same with bias and gelu."""

    @property
    def result(self) -> str:
        """The type of D."""
        return _RESULTS.get(self.dtype, self.dtype)

    @property
    def shape(self) -> str:
        """As tables and remarks have it."""
        raise NotImplementedError

    @property
    def flops(self) -> float:
        """Of one call."""
        raise NotImplementedError


class OfLayer(Contest, frozen=True, kw_only=True):
    """A layer of a network, or one of its gradients."""

    pass_: Kind = "fprop"


class Product(Contest, frozen=True, kw_only=True, tag="product"):
    """D = A B, of rows of A, columns of B and rows of D."""

    m: int
    n: int
    k: int
    batches: int = 1

    @property
    def problem(self) -> Problem:
        """Its sizes."""
        return Problem(self.m, self.n, self.k, self.batches)

    @property
    def shape(self) -> str:
        sizes = (self.m, self.n, self.k)
        return "x".join(map(str, (self.batches, *sizes) if self.batches > 1 else sizes))

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        """A, B and D: as aligned as contiguous matrices of these sizes are."""
        return (
            _contiguous(self.dtype, "row", self.k),
            _contiguous(self.dtype, "column", self.k),
            _contiguous(self.result, "row", self.n),
        )

    @property
    def flops(self) -> float:
        return 2.0 * self.batches * self.m * self.n * self.k


class Grouped(OfLayer, frozen=True, kw_only=True, tag="grouped"):
    """A layer of a mixture of experts, or a gradient of it: `n` outputs of `k` inputs for each of the rows."""

    groups: int
    rows: int
    """Of all groups."""
    n: int
    k: int
    balance: Balance
    scales: Literal["none", "blocks"] = "none"

    @property
    def shape(self) -> str:
        return f"{self.groups}:{self.rows}x{self.n}x{self.k}"

    @property
    def flops(self) -> float:
        return 2.0 * self.rows * self.n * self.k

    @property
    def sizes(self) -> list[int]:
        """Rows of each group."""
        weights = {
            "balanced": [1.0] * self.groups,
            "skewed": [1.0 / (rank + 1) for rank in range(self.groups)],
            "empty": [float(rank % 2) for rank in range(self.groups)],
        }[self.balance]
        ends, passed = [0], 0.0
        for weight in weights:
            passed += weight
            ends.append(round(self.rows * passed / sum(weights)))
        return [last - first for first, last in itertools.pairwise(ends)]


class Convolution(OfLayer, frozen=True, kw_only=True, tag="convolution"):
    """A layer of a model, or a gradient of it, channels last."""

    n: int
    h: int
    w: int
    c: int
    k: int
    r: int
    s: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def outputs(self) -> tuple[int, int]:
        """P and Q."""

        def output(size: int, taps: int) -> int:
            return (size + 2 * self.padding - taps) // self.stride + 1

        return output(self.h, self.r), output(self.w, self.s)

    @property
    def shape(self) -> str:
        words = [f"{self.n}x{self.h}x{self.w}x{self.c} {self.k}x{self.r}x{self.s}"]
        words += [f"/{self.stride}"] if self.stride > 1 else []
        words += [f" groups {self.groups}"] if self.groups > 1 else []
        return "".join(words)

    @property
    def flops(self) -> float:
        p, q = self.outputs
        return 2.0 * self.n * p * q * self.k * self.r * self.s * (self.c // self.groups)


AnyContest: TypeAlias = Product | Grouped | Convolution


def names_of(contest: AnyContest) -> tuple[str, ...]:
    """What `--only` may call it."""
    kind = "scaled" if isinstance(contest, Grouped) and contest.scales != "none" else type(contest).__name__.lower()
    return contest.dtype, contest.shape, kind


def contests(text: str | None = None) -> list[AnyContest]:
    """One for each shape and type of the set, without candidates."""
    listed: Mapping[str, Any] = tomllib.loads(text or SET.read_text())
    return [*_products(listed), *_grouped(listed), *_convolutions(listed)]


def _products(listed: Mapping[str, Any]) -> Iterator[Product]:
    for dtype in HALVES:
        for each in listed["gemm"]:
            yield Product(dtype, each["kind"], m=each["m"], n=each["n"], k=each["k"], batches=each.get("batch", 1))
    networks = listed.get("network", [])
    for dtype in dict.fromkeys(name for each in networks for name in each["dtypes"]):
        for each in networks:
            if dtype in each["dtypes"]:
                yield from (Product(dtype, each["kind"], m=m, n=n, k=k) for m, n, k in each["shapes"])
    for dtype in dict.fromkeys(name for each in listed["other"] for name in each["dtypes"]):
        for each in listed["other"]:
            if dtype in each["dtypes"]:
                kind = each.get("kind", "square" if each["m"] == each["n"] == each["k"] else "ragged")
                yield Product(dtype, kind, m=each["m"], n=each["n"], k=each["k"], batches=each.get("batch", 1))


def _grouped(listed: Mapping[str, Any]) -> Iterator[Grouped]:
    for each in listed.get("grouped", []):
        for pass_ in KINDS:
            for balance in BALANCES:
                yield Grouped("bf16", balance, balance=balance, pass_=pass_, **each)
    for each in listed.get("scaled_grouped", []):
        for balance in BALANCES:
            yield Grouped("f8E4M3FN", balance, balance=balance, scales="blocks", **each)


def _convolutions(listed: Mapping[str, Any]) -> Iterator[Convolution]:
    def of_type(dtype: str, pass_: Kind) -> Iterator[Convolution]:
        for each in listed.get("convolution", []):
            for layer in each["layers"]:
                sizes = {"padding": layer["r"] // 2, **layer}
                yield Convolution(dtype, each["model"], pass_=pass_, **sizes)

    for dtype in HALVES:
        for pass_ in KINDS:
            yield from of_type(dtype, pass_)
    for other in listed.get("other_convolution", []):
        for dtype in other["dtypes"]:
            layers = of_type(dtype, "fprop")
            yield from (each for each in layers if each.groups == 1 and each.c % 32 == each.k % 32 == 0)


def aligned(dtype: str, extent: int) -> int:
    """The elements, 16 bytes of them at most, that a contiguous extent is a multiple of."""
    alignment = most_aligned(dtype)
    while extent % alignment:
        alignment //= 2
    return alignment


def _contiguous(dtype: str, layout: Any, extent: int) -> Operand:
    return Operand(dtype, layout, aligned(dtype, extent))
