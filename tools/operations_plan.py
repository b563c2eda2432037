"""What `tools/bench_operations.py` times: of each shape and type the default choice, candidates, and fused products.

Shapes are those of `bench_set.toml`. Nothing here needs a GPU; compiling needs the DSL.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from cutecc.errors import Error
from cutecc.operations import Gemm, GemmDescription, Operand, Row
from cutecc.operations.candidates import choose
from cutecc.operations.choosing import epilogue_of
from cutecc.operations.discovery import Request, ranked
from cutecc.operations.epilogue.functions import gelu
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.operand import most_aligned
from cutecc.operations.operation import compile_all
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.swizzle import SWIZZLES
from cutecc.operations.validity import refusal

SET = Path(__file__).parent / "bench_set.toml"
PLAN = "plan.json"
TARGET = "sm_90a"
HALVES = ("f16", "bf16")
"""The types of the shapes called `gemm`."""
FUSED_SIZES = (2048, 4096, 8192)
"""Squares at which bias and gelu are fused."""
_RESULTS = {"f8E4M3FN": "bf16", "tf32": "f32"}
_TOGETHER = 48


@dataclass(frozen=True)
class Contest:
    """Products of one shape and type, timed against each other and against torch."""

    dtype: str
    """What is multiplied; `tf32` is f32 in memory."""
    kind: str
    m: int
    n: int
    k: int
    batches: int = 1
    candidates: tuple[str, ...] = ()
    """Names of files, the default choice first."""
    fused: tuple[str, ...] = ()
    """The same with bias and gelu."""

    @property
    def problem(self) -> Problem:
        """Its sizes."""
        return Problem(self.m, self.n, self.k, self.batches)

    @property
    def shape(self) -> str:
        """As tables and remarks have it."""
        sizes = (self.m, self.n, self.k)
        return "x".join(map(str, (self.batches, *sizes) if self.batches > 1 else sizes))

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        """A, B and D: as aligned as contiguous matrices of these sizes are."""
        return (
            _contiguous(self.dtype, "row", self.k),
            _contiguous(self.dtype, "column", self.k),
            _contiguous(_RESULTS.get(self.dtype, self.dtype), "row", self.n),
        )

    @property
    def flops(self) -> float:
        """Of one product."""
        return 2.0 * self.batches * self.m * self.n * self.k


@dataclass(frozen=True)
class Plan:
    """Everything that is timed; written beside the operations."""

    contests: list[Contest] = field(default_factory=list[Contest])

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan of a folder that `compile_plan` wrote."""
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=cls)


def bias_gelu(accum: Any, bias: Any) -> Any:
    D = gelu(accum + bias)
    return D


def contests(text: str | None = None) -> list[Contest]:
    """One for each shape and type of the set, without candidates."""
    listed: Mapping[str, Any] = tomllib.loads(text or SET.read_text())
    found: list[Contest] = []
    for dtype in HALVES:
        for each in listed["gemm"]:
            found.append(Contest(dtype, each["kind"], each["m"], each["n"], each["k"], each.get("batch", 1)))
    for dtype in dict.fromkeys(name for each in listed["other"] for name in each["dtypes"]):
        for each in listed["other"]:
            if dtype in each["dtypes"]:
                kind = each.get("kind", "square" if each["m"] == each["n"] == each["k"] else "ragged")
                found.append(Contest(dtype, kind, each["m"], each["n"], each["k"], each.get("batch", 1)))
    return found


def candidates_of(contest: Contest, count: int, *, fused: bool = False) -> list[GemmDescription]:
    """The default choice, then `count` by their estimated time, among them those that split K, then other swizzles."""
    a, b, d = contest.operands
    problem = contest.problem
    mode = "batched" if problem.batches > 1 else "gemm"
    accumulator = "f64" if contest.dtype == "f64" else "f32"
    graph = _bias_gelu(d, accumulator) if fused else epilogue_of("identity", {}, None, d, accumulator)
    default = choose(a, b, d, target=TARGET, problem=problem, epilogue=graph)
    request = Request(a, b, d, problem=problem, mode=mode)
    listed = ranked(request, TARGET, graph, problem, split=mode == "gemm")[:count]
    found = [default]
    for each in listed:
        # With the swizzle that suits the sizes.
        same = {"tile": each.tile, "mode": each.mode, "instruction": each.instruction}
        found.append(choose(a, b, d, target=TARGET, problem=problem, epilogue=graph, **same))
    found += [replace(default, swizzle=each) for each in SWIZZLES if each != "batched"]
    unique = {each.key: each for each in found}
    return [each for each in unique.values() if refusal(each) is None]


def compile_plan(folder: Path, *, count: int, only: str = "", workers: int | None = None) -> int:
    """Compile all candidates into `folder`, and write the plan. Returns how many do not compile.

    What was compiled before by the same cutecc comes from the cache.
    """
    folder.mkdir(parents=True, exist_ok=True)
    described: dict[str, GemmDescription] = {}
    planned: list[Contest] = []

    def named(each: GemmDescription) -> str:
        name = f"{each.name}-{each.key[:8]}"
        described[name] = each
        return name

    for contest in contests():
        if only and contest.dtype != only:
            continue
        plain = tuple(named(each) for each in candidates_of(contest, count))
        is_fused = contest.dtype in HALVES and contest.kind == "square" and contest.m in FUSED_SIZES
        fused = tuple(named(each) for each in candidates_of(contest, count, fused=True)) if is_fused else ()
        planned.append(replace(contest, candidates=plain, fused=fused))
    names = [*described]
    failed: set[str] = set()
    for first in range(0, len(names), _TOGETHER):
        operations = {name: Gemm.of(described[name]) for name in names[first : first + _TOGETHER]}
        results = compile_all(list(operations.values()), workers=workers or os.cpu_count())
        for (name, op), result in zip(operations.items(), results, strict=True):
            if isinstance(result, Error):
                failed.add(name)
                print(f"{name}: {result}", file=sys.stderr)
            else:
                op.bundle(path_of(folder, name))
        print(f"{min(first + _TOGETHER, len(names))} of {len(names)} operations", flush=True)
    kept = [
        replace(
            each,
            candidates=_without(each.candidates, failed),
            fused=_without(each.fused, failed),
        )
        for each in planned
    ]
    (folder / PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(Plan(kept))))
    return len(failed)


def _without(names: tuple[str, ...], failed: set[str]) -> tuple[str, ...]:
    """All but those that failed; the default choice stays, so that no other is taken for it."""
    return tuple(name for name in names if name == names[0] or name not in failed)


def path_of(folder: Path, name: str) -> Path:
    """The file of an operation."""
    return folder / f"{name}.operation"


def _bias_gelu(d: Operand, accumulator: str) -> Epilogue:
    return epilogue_of(bias_gelu, {"bias": Row(d.dtype)}, None, d, accumulator)


def _contiguous(dtype: str, layout: Any, extent: int) -> Operand:
    alignment = most_aligned(dtype)
    while extent % alignment:
        alignment //= 2
    return Operand(dtype, layout, alignment)
