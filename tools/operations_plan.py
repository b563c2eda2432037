"""What `tools/bench_operations.py` times: of each shape and type the default choice, candidates, and fused products.

Shapes are those of `bench_set.toml`. Nothing here needs a GPU; compiling needs the DSL.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from operations_contests import HALVES, AnyContest, Convolution, Grouped, Product, aligned, contests, names_of

from cutecc.errors import Error
from cutecc.operations import Conv2d, ConvolutionProblem, Gemm, GemmDescription, GroupedGemm, Operand, Row
from cutecc.operations.candidates import choose
from cutecc.operations.choosing import epilogue_of
from cutecc.operations.discovery import Request, ranked
from cutecc.operations.epilogue.functions import gelu
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.operation import compile_all
from cutecc.operations.swizzle import SWIZZLES
from cutecc.operations.validity import refusal

PLAN = "plan.json"
TARGET = "sm_90a"
FUSED_SIZES = (2048, 4096, 8192)
"""Squares at which bias and gelu are fused."""
_OF_LAYERS = 3
"""Most candidates for a layer, besides the default choice."""
_TOGETHER = 48


@dataclass(frozen=True)
class Plan:
    """Everything that is timed; written beside the operations."""

    contests: list[AnyContest] = field(default_factory=list[AnyContest])

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan of a folder that `compile_plan` wrote."""
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=cls)


def bias_gelu(accum: Any, bias: Any) -> Any:
    D = gelu(accum + bias)
    return D


def candidates_of(contest: Product, count: int, *, fused: bool = False) -> list[GemmDescription]:
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


def operations_of(contest: AnyContest, count: int) -> list[Any]:
    """The default choice, and others, up to `count` of them by their estimated time."""
    match contest:
        case Product():
            return [Gemm.of(each) for each in candidates_of(contest, count)]
        case Grouped():
            return _with_tiles(_grouped(contest), min(count, _OF_LAYERS))
        case Convolution():
            return _with_tiles(_convolution(contest), min(count, _OF_LAYERS))


def _with_tiles(default: Any, count: int) -> list[Any]:
    """An operation, and what it is with other tiles."""
    listed = [default, *map(default.with_tile, default.tile_descriptions()[:count])]
    return [*{each.description.key: each for each in listed}.values()]


def _grouped(contest: Grouped) -> GroupedGemm:
    """The default choice; weights lie as (groups, outputs, inputs)."""
    n, k, rows = contest.n, contest.k, contest.rows
    a, b, sizes = {
        "fprop": ("row", "column", (rows, n, k)),
        "dgrad": ("row", "row", (rows, k, n)),
        "wgrad": ("column", "row", (n, k, rows)),
    }[contest.pass_]
    return GroupedGemm(
        f"{contest.dtype}:{a}",
        f"{contest.dtype}:{b}",
        contest.result,
        packing="depth" if contest.pass_ == "wgrad" else "rows",
        scales=contest.scales,
        epilogue="identity",
        target=TARGET,
        problem=(*sizes, contest.groups),
    )


def _convolution(contest: Convolution) -> Conv2d:
    """The default choice."""
    each = contest
    # Channels of depthwise layers are side by side, one a group, and taps of a filter one after the other.
    is_depthwise = each.groups == each.c == each.k > 1
    of_groups = 1 if is_depthwise else each.groups
    x, y, filters = (
        f"{dtype}:{aligned(dtype, channels)}"
        for dtype, channels in (
            (each.dtype, each.c // of_groups),
            (each.dtype, each.k // of_groups),
            (each.dtype, each.r * each.s if is_depthwise else each.c // of_groups),
        )
    )
    result = {"fprop": each.k, "dgrad": each.c, "wgrad": each.c}[each.pass_] // of_groups
    if is_depthwise and each.pass_ == "wgrad":
        result = each.r * each.s
    return Conv2d(
        each.pass_,
        *{"fprop": (x, filters), "dgrad": (y, filters), "wgrad": (y, x)}[each.pass_],
        f"{each.result}:{aligned(each.result, result)}",
        epilogue="identity",
        target=TARGET,
        problem=ConvolutionProblem(
            *(each.n, (each.h, each.w), each.c, each.k, (each.r, each.s)),
            padding=each.padding,
            stride=each.stride,
            groups=each.groups,
        ),
    )


def compile_plan(folder: Path, *, count: int, only: str = "", workers: int | None = None) -> int:
    """Compile all candidates into `folder`, and write the plan. Returns how many do not compile.

    What was compiled before by the same cutecc comes from the cache.
    """
    folder.mkdir(parents=True, exist_ok=True)
    operations: dict[str, Any] = {}
    planned: list[AnyContest] = []

    def named(each: Any) -> str:
        name = f"{each.description.name}-{each.description.key[:8]}"
        operations[name] = each
        return name

    for contest in contests():
        if only and only not in names_of(contest):
            continue
        plain = tuple(named(each) for each in operations_of(contest, count))
        fused: tuple[str, ...] = ()
        if isinstance(contest, Product) and _is_fused(contest):
            fused = tuple(named(Gemm.of(each)) for each in candidates_of(contest, count, fused=True))
        planned.append(msgspec.structs.replace(contest, candidates=plain, fused=fused))
    names = [*operations]
    failed: set[str] = set()
    for first in range(0, len(names), _TOGETHER):
        some = {name: operations[name] for name in names[first : first + _TOGETHER]}
        results = compile_all(list(some.values()), workers=workers or os.cpu_count())
        for (name, op), result in zip(some.items(), results, strict=True):
            if isinstance(result, Error):
                failed.add(name)
                print(f"{name}: {result}", file=sys.stderr)
            else:
                op.bundle(path_of(folder, name))
        print(f"{min(first + _TOGETHER, len(names))} of {len(names)} operations", flush=True)
    kept = [
        msgspec.structs.replace(
            each,
            candidates=_without(each.candidates, failed),
            fused=_without(each.fused, failed),
        )
        for each in planned
    ]
    (folder / PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(Plan(kept))))
    return len(failed)


def _is_fused(contest: Product) -> bool:
    return contest.kind == "square" and contest.m in FUSED_SIZES and contest.dtype in HALVES


def _without(names: tuple[str, ...], failed: set[str]) -> tuple[str, ...]:
    """All but those that failed; the default choice stays, so that no other is taken for it."""
    return tuple(name for name in names if name == names[0] or name not in failed)


def path_of(folder: Path, name: str) -> Path:
    """The file of an operation."""
    return folder / f"{name}.operation"


def _bias_gelu(d: Operand, accumulator: str) -> Epilogue:
    return epilogue_of(bias_gelu, {"bias": Row(d.dtype)}, None, d, accumulator)
