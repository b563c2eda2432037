"""Grouped products and convolutions that are tested on a GPU: each type, packing, kind, iterator and epilogue once.

Tiles are small, so that ragged edges and several steps of K occur at small sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cutecc.operations import Conv1d, Conv2d, Conv3d, GroupedGemm, Row
from cutecc.operations.epilogue.functions import relu

TARGET = "sm_90a"
E4M3 = "f8E4M3FN"
_WGMMA, _PINGPONG = "128x64x{k}:stages=3:warps=2x1x1", "64x64x{k}:stages=3:warps=2x1x1:schedule=pingpong"
_TENSOR_OP, _SIMT = "64x64x{k}:stages=3:warps=2x2x1", "64x64x8:stages=3:warps=2x2x1"
_TILES = {"wgmma": _WGMMA, "tensor_op": _TENSOR_OP, "simt": _SIMT}


@dataclass(frozen=True)
class LayerCase:
    """An operation to be tested."""

    name: str
    """Also of its file."""
    make: Callable[[], Any]
    """The operation, not compiled."""
    kind: str
    """Of grouped products the packing; `fprop`, `dgrad` or `wgrad`."""
    dtype: str
    """Of A and B in memory; `tf32` is f32 there."""
    epilogue: str = "identity"
    """`identity`, `source` for alpha and beta, or `bias` for a row that is added, and relu."""
    rank: int = 2
    """Spatial extents of a convolution."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its calls keep to: `channels` and `filters` a multiple of which they are, `unity`, `groups`, `turned`."""

    @property
    def is_grouped(self) -> bool:
        """Whether it is a grouped product."""
        return self.kind in ("rows", "columns", "depth", "list")


def bias_relu(accum: Any, bias: Any) -> Any:
    D = relu(accum + bias)
    return D


def _epilogue(name: str, dtype: str) -> dict[str, Any]:
    match name:
        case "bias":
            return {"epilogue": bias_relu, "operands": {"bias": Row(dtype, alignment=1)}}
        case "source":
            return {"epilogue": "linear_combination", "c": dtype}
        case _:
            return {"epilogue": "identity"}


def _tile(unit: str, dtype: str, schedule: str = "") -> str:
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64}.get(dtype, 8)
    depth = (1024 if unit == "wgmma" else 512) // bits
    return (_PINGPONG if schedule == "pingpong" else _TILES[unit]).format(k=depth)


RESULTS = {"tf32": "f32", "i8": "i32", E4M3: "f16"}
"""The type of D; that of A for all others."""


def _grouped() -> Iterator[LayerCase]:
    layouts = {
        "rows": ("row", "column"),
        "columns": ("row", "column"),
        "depth": ("column", "row"),
        "list": ("row", "row"),
    }

    def case(
        unit: str, dtype: str, packing: str, epilogue: str = "identity", aligned: int = 0, **parts: Any
    ) -> LayerCase:
        a, b = (f"{each}:{aligned}" if aligned else each for each in layouts[packing])
        if dtype in (E4M3, "i8", "tf32") and unit == "wgmma" and packing != "depth":
            a, b = "row", "column"
        result = RESULTS.get(dtype, dtype)
        words = ["grouped", unit, dtype, packing, *([epilogue] if epilogue != "identity" else []), *parts.values()]
        words += [f"a{aligned}"] if aligned else []
        tile = _tile(unit, dtype, str(parts.pop("tile_schedule", "")))

        def make() -> GroupedGemm:
            given = {"packing": packing, "unit": unit, "tile": tile, "target": TARGET, **parts}
            d = f"{result}:row:{aligned}" if aligned else result
            return GroupedGemm(f"{dtype}:{a}", f"{dtype}:{b}", d, **_epilogue(epilogue, result), **given)

        return LayerCase("_".join(map(str, words)).lower(), make, packing, dtype, epilogue)

    for packing in layouts:
        yield case("wgmma", "bf16", packing)
        yield case("wgmma", "f16", packing, "source", tile_schedule="pingpong")
        yield case("tensor_op", "f16", packing, "bias" if packing == "rows" else "source")
        yield case("simt", "f32", packing)
    yield case("wgmma", "bf16", "rows", "bias")
    yield case("wgmma", "bf16", "list", schedule="host")
    yield case("wgmma", "bf16", "rows", schedule="host")
    yield from (case("wgmma", dtype, "rows") for dtype in (E4M3, "i8", "tf32"))
    yield from (case("tensor_op", dtype, "list") for dtype in ("f64", "tf32", "i8"))
    yield case("tensor_op", "f16", "rows", aligned=1)
    yield case("simt", "f64", "depth")


def _convolutions() -> Iterator[LayerCase]:
    classes = {1: Conv1d, 2: Conv2d, 3: Conv3d}

    def case(
        unit: str, dtype: str, kind: str, epilogue: str = "identity", rank: int = 2, aligned: int = 8, **parts: Any
    ) -> LayerCase:
        result = RESULTS.get(dtype, dtype)
        words = [f"conv{rank}d", unit, dtype, kind, *([epilogue] if epilogue != "identity" else []), *parts.values()]
        words += [f"a{aligned}"] if aligned != 8 else []
        # TMA gathers the columns of a wgrad in boxes of a whole row of shared memory.
        channels = 64 if unit == "wgmma" and kind == "wgrad" else aligned
        facts: dict[str, Any] = {"channels": channels, "filters": 8, "unity": parts.get("stride") == "unity"}
        facts |= {"groups": parts.get("groups", "single"), "turned": parts.get("mode") == "convolution"}
        facts |= {"exact": parts.get("iterator") == "fixed_channels"}
        tile = _tile(unit, dtype, str(parts.pop("tile_schedule", "")))
        tile += f":cluster={cluster}" if (cluster := parts.pop("cluster", "")) else ""
        wide = 4 if dtype in ("f32", "tf32") else 8
        of_channels, of_filters = f"{dtype}:{aligned}", f"{dtype}:{wide}"
        a, b, d = {
            "fprop": (of_channels, of_channels, 8),
            "dgrad": (of_filters, of_channels, aligned),
            "wgrad": (of_filters, of_channels, aligned),
        }[kind]

        def make() -> Any:
            given = {"unit": unit, "tile": tile, "target": TARGET, **parts}
            widest = d
            if parts.get("groups") == "depthwise":  # which has no tiles of this form
                del given["unit"], given["tile"]
                widest = 1 if kind == "wgrad" else d
            most = min(widest, 128 // {"f64": 64, "f32": 32, "i32": 32}.get(result, 16))
            return classes[rank](kind, a, b, f"{result}:{most}", **_epilogue(epilogue, result), **given)

        return LayerCase("_".join(map(str, words)).lower(), make, kind, dtype, epilogue, rank, facts)

    for kind in ("fprop", "dgrad", "wgrad"):
        yield case("wgmma", "bf16", kind)
        yield case("wgmma", "f16", kind, tile_schedule="pingpong", stride="unity")
        yield case("tensor_op", "f16", kind)
        yield case("tensor_op", "f16", kind, stride="unity")
        yield case("tensor_op", "bf16", kind, iterator="analytic", mode="convolution")
        yield case("tensor_op", "f16", kind, groups="many")
        yield case("simt", "f16", kind, groups="depthwise")
        yield case("wgmma", "f16", kind, cluster="2x1")
        yield case("simt", "f32", kind, aligned=4)
        yield from (case("tensor_op", "f16", kind, rank=rank) for rank in (1, 3))
        yield from (case("wgmma", "f16", kind, rank=rank) for rank in (1, 3))
    yield from (case("wgmma", "f16", kind, "bias") for kind in ("fprop", "dgrad"))
    yield case("wgmma", "f16", "fprop", "source")
    yield case("tensor_op", "f16", "fprop", "source")
    yield from (case("wgmma", "bf16", "wgrad", split_k=how) for how in ("serial", "parallel"))
    yield from (case("tensor_op", "f16", "wgrad", split_k=how) for how in ("serial", "parallel"))
    yield case("tensor_op", "f16", "fprop", aligned=4, iterator="few_channels")
    yield case("tensor_op", "f16", "fprop", aligned=4, iterator="fixed_channels")
    yield case("tensor_op", "f16", "fprop", aligned=1)
    yield from (case("wgmma", dtype, "fprop", aligned=16) for dtype in ("i8", E4M3))
    yield case("wgmma", "tf32", "fprop", aligned=4)
    yield from (case("tensor_op", "tf32", kind, aligned=4) for kind in ("fprop", "dgrad", "wgrad"))
    yield case("tensor_op", "i8", "fprop", aligned=16)


@cache
def layer_cases() -> dict[str, LayerCase]:
    """All of them, by name."""
    found = {each.name: each for each in (*_grouped(), *_convolutions())}
    return found
