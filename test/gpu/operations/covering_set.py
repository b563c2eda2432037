"""The operations that are tested on a GPU: each type, layout, alignment, mode, swizzle, epilogue and kind of tile.

Not all combinations: what shares its code is varied on one family, with tiles small enough that ragged edges, strips of
swizzles and several steps of K occur at sizes of a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from cutecc.operations import Column, Full, Gemm, Row, Scalar, TileDescription
from cutecc.operations.epilogue.functions import gelu, max, min, sum
from cutecc.operations.epilogue.named import NAMES

TARGET = "sm_90a"
LAYOUTS = tuple((a, b, d) for a, b, d in product(("row", "column"), repeat=3))
"""Of A, B and D."""


@dataclass(frozen=True)
class Multiplier:
    """What multiplies: types in memory, the instruction, and a small tile."""

    a: str
    instruction: str
    tile: str
    b: str = ""
    d: str = ""
    """By default the accumulator's usual result."""
    epilogue: str = "linear_combination"

    @property
    def unit(self) -> str:
        """`simt`, `tensor_op` or `wgmma`."""
        return self.instruction.partition(":")[0]

    @property
    def types(self) -> tuple[str, str, str]:
        """Of A, B and D in memory."""
        return self.a, self.b or self.a, self.d or self.a

    def parts(self, layouts: tuple[str, str, str] = ("row", "column", "row"), **others: Any) -> dict[str, Any]:
        """The parts of a `Gemm`, the usual ones replaced by `others`."""
        operands = {name: f"{dtype}:{layout}" for name, dtype, layout in zip("abd", self.types, layouts, strict=True)}
        usual = {"instruction": self.instruction, "tile": self.tile, "target": TARGET}
        usual |= {"epilogue": self.epilogue, "swizzle": "identity1"}
        parts = {**operands, **usual, **others}
        if self.unit == "wgmma" and ":column" in parts["d"]:  # computed transposed
            parts["tile"] = TileDescription.parse(parts["tile"]).transposed()
        return parts


def _tensor(types: str, k: int, tile_k: int, arithmetic: str = "", shape: str = "16x8") -> tuple[str, str]:
    words = [f"tensor_op:{shape}x{k}", types, *([arithmetic] if arithmetic else [])]
    return ":".join(words), f"64x64x{tile_k}:stages=3:warps=2x2x1"


def _wgmma(types: str, k: int, schedule: str = "cooperative") -> tuple[str, str]:
    return f"wgmma:64x64x{k}:{types}", f"128x64x{4 * k}:stages=3:warps=2x1x1:cluster=1x1:schedule={schedule}"


_SIMT = "64x64x8:stages=3:warps=2x2x1"
E4M3, E5M2 = "f8E4M3FN", "f8E5M2"
MULTIPLIERS: Mapping[str, Multiplier] = {
    "simt_f64": Multiplier("f64", "simt:1x1x1:f64:f64:f64", _SIMT),
    "simt_f32": Multiplier("f32", "simt:1x1x1:f32:f32:f32", _SIMT),
    "mma_f64": Multiplier("f64", *_tensor("f64:f64:f64", 4, 16, shape="8x8")),
    "mma_tf32": Multiplier("f32", *_tensor("tf32:tf32:f32", 8, 32)),
    "mma_3xtf32": Multiplier("f32", *_tensor("tf32:tf32:f32", 8, 32, "multiply_add_fast_f32")),
    "mma_f32_as_f16": Multiplier("f32", *_tensor("f32:f32:f32", 16, 32, "multiply_add_fast_f16")),
    "mma_f32_as_f16_k8": Multiplier("f32", *_tensor("f32:f32:f32", 8, 32, "multiply_add_fast_f16")),
    "mma_f32_as_bf16": Multiplier("f32", *_tensor("f32:f32:f32", 16, 32, "multiply_add_fast_bf16")),
    "mma_f16": Multiplier("f16", *_tensor("f16:f16:f32", 16, 32)),
    "mma_f16_into_f16": Multiplier("f16", *_tensor("f16:f16:f16", 16, 32)),
    "mma_f16_k8": Multiplier("f16", *_tensor("f16:f16:f32", 8, 32)),
    "mma_bf16": Multiplier("bf16", *_tensor("bf16:bf16:f32", 16, 32)),
    "mma_i8": Multiplier("i8", *_tensor("i8:i8:i32", 32, 64, "multiply_add_saturate"), d="i32"),
    "mma_e4m3": Multiplier(E4M3, *_tensor(f"{E4M3}:{E4M3}:f32", 32, 64), d="f16"),
    "mma_e5m2": Multiplier(E5M2, *_tensor(f"{E5M2}:{E5M2}:f32", 32, 64), d="f16"),
    "wgmma_f16": Multiplier("f16", *_wgmma("f16:f16:f32", 16)),
    "wgmma_f16_into_f16": Multiplier("f16", *_wgmma("f16:f16:f16", 16, "pingpong")),
    "wgmma_bf16": Multiplier("bf16", *_wgmma("bf16:bf16:f32", 16, "pingpong")),
    "wgmma_tf32": Multiplier("f32", *_wgmma("tf32:tf32:f32", 8)),
    "wgmma_i8": Multiplier("i8", *(_wgmma("i8:i8:i32:multiply_add_saturate", 32)), d="i32"),
    "wgmma_e4m3": Multiplier(E4M3, *_wgmma(f"{E4M3}:{E4M3}:f32", 32), d="f16"),
    "wgmma_e5m2": Multiplier(E5M2, *_wgmma(f"{E5M2}:{E5M2}:f32", 32, "pingpong"), d="bf16"),
    "wgmma_e4m3_e5m2": Multiplier(E4M3, *_wgmma(f"{E4M3}:{E5M2}:f32", 32), b=E5M2, d="f16"),
    "wgmma_e5m2_e4m3": Multiplier(E5M2, *_wgmma(f"{E5M2}:{E4M3}:f32", 32), b=E4M3, d="f32"),
}


@dataclass(frozen=True)
class Case:
    """An operation to be tested."""

    name: str
    """Also of its file."""
    parts: Mapping[str, Any]
    """Of `Gemm`."""
    batches: int = 1
    is_representative: bool = False
    """Whether shapes of all kinds are tried, and the sanitizers look at it."""
    slope: float = 1.5
    """How much steeper than its argument the epilogue is at most: that of hardswish, the steepest that is named."""
    small: bool = False
    """Whether integers are so small that most results are in the range of 8 bits."""

    def describe(self) -> Gemm:
        """The operation, not compiled."""
        return Gemm(**self.parts)


def bias_gelu(accum: Any, bias: Any) -> Any:
    D = gelu(accum + bias)
    return D


def scaled_rows(accum: Any, C: Any, alpha: Any, beta: Any, scale: Any, shift: Any) -> Any:
    """A column, a scalar in memory, an auxiliary store and a source."""
    sums = alpha * accum
    D = scale * sums + shift + beta * C
    return D, sums


def row_sums(accum: Any, bias: Any) -> Any:
    D = max(accum + bias, 0.0)
    total = sum(D, axis=1)
    return D, total


def column_extremes(accum: Any, aux: Any) -> Any:
    D = accum * aux
    high = max(accum, axis=0)
    low = min(accum, axis=0)
    return D, high, low


def whole_matrix(accum: Any, alpha: Any) -> Any:
    D = alpha * accum
    total = sum(D)
    high = max(D)
    low = min(D)
    return D, total, high, low


def row_maxima(accum: Any) -> Any:
    D = accum
    high = max(accum, axis=1)
    total = sum(accum, axis=0)
    return D, high, total


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Mapping[str, Any]]] = {
    "bias_gelu": (bias_gelu, {"bias": Row("f16")}),
    "scaled_rows": (
        scaled_rows,
        {"scale": Column("f32"), "shift": Scalar("f32", in_memory=True), "sums": Full("f32")},
    ),
    "row_sums": (row_sums, {"bias": Row("f32"), "total": Column("f32")}),
    "column_extremes": (
        column_extremes,
        {"aux": Full("f16", "column", 1), "high": Row("f32"), "low": Row("f16", 1)},
    ),
    "whole_matrix": (
        whole_matrix,
        {each: Scalar("f32", in_memory=True) for each in ("total", "high", "low")},
    ),
    "row_maxima": (row_maxima, {"high": Column("f32"), "total": Row("f32")}),
}
"""Plain functions, and what their operands are besides C and D."""
_STEEPEST = 6.0
"""Of functions that multiply by a random normal number."""


def _fused(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    function, operands = FUNCTIONS[name]
    source = {"c": parts["d"]} if name == "scaled_rows" else {}
    return parts | source | {"epilogue": function, "operands": operands}


def _types_and_layouts() -> Iterator[Case]:
    for name, each in MULTIPLIERS.items():
        along_k = each.unit == "wgmma" and each.a not in ("f16", "bf16")
        only_usual = along_k or "_into_" in name or name.endswith("_k8")
        for layouts in LAYOUTS:
            if only_usual and layouts[:2] != ("row", "column"):
                continue
            letters = "".join("t" if layout == "row" else "n" for layout in layouts)
            yield Case(f"{name}_{letters}", each.parts(layouts), is_representative=letters == "tnt")


def _interleaved() -> Iterator[Case]:
    each = MULTIPLIERS["mma_i8"]
    yield Case("mma_i8_interleaved", each.parts(("interleaved32", "interleaved32", "row")))
    words = ("row_interleaved32", "column_interleaved32")
    for layouts in product(words, repeat=3):
        letters = "".join(layout[0] for layout in layouts)
        parts = each.parts(layouts, d=f"i8:{layouts[2]}", epilogue="linear_combination_clamp")
        yield Case(f"mma_i8_interleaved_{letters}", parts, small=True)


def _old_targets() -> Iterator[Case]:
    """Machine code that the driver makes of PTX."""
    for name in ("mma_f64", "mma_f16"):
        yield Case(f"{name}_sm_80", MULTIPLIERS[name].parts(target="sm_80"))


def _alignments() -> Iterator[Case]:
    for name, alignments in (
        ("mma_f16", (4, 2, 1)),
        ("mma_bf16", (1,)),
        ("mma_i8", (8, 4, 1)),
        ("mma_tf32", (2, 1)),
        ("mma_f64", (1,)),
        ("mma_e4m3", (2,)),
        ("simt_f32", (2, 1)),
        ("simt_f64", (1,)),
    ):
        each = MULTIPLIERS[name]
        widest = {"i32": 4, "f32": 4, "f64": 2}.get(each.types[2], 8)
        for alignment, layouts in product(alignments, (("row", "column", "row"), ("column", "row", "row"))):
            if layouts[0] == "column" and alignment == 2:
                continue
            a, b, d = (f"{dtype}:{layout}" for dtype, layout in zip(each.types, layouts, strict=True))
            letters = "tn" if layouts[0] == "row" else "nt"
            parts = each.parts() | {
                "a": f"{a}:{alignment}",
                "b": f"{b}:{alignment}",
                "d": f"{d}:{alignment if alignment < widest else widest}",
            }
            representative = alignment == 1 and letters == "tn"
            yield Case(f"{name}_aligned_{alignment}_{letters}", parts, is_representative=representative)
    f16, wgmma = MULTIPLIERS["mma_f16"], MULTIPLIERS["wgmma_f16"]
    yield Case("mma_f16_aligned_8_2_1", f16.parts() | {"b": "f16:column:2", "d": "f16:row:1"})
    yield Case("mma_f16_aligned_1_8_4", f16.parts() | {"a": "f16:row:1", "d": "f16:row:4"})
    for alignment in (4, 1):
        parts = wgmma.parts() | {"d": f"f16:row:{alignment}", "c": "f16:row:1"}
        yield Case(f"wgmma_f16_result_aligned_{alignment}", parts, is_representative=alignment == 1)
    for name, dtype, alignments, layouts in (
        ("wgmma_f16", "f16", (1, 1, 1), ("row", "column", "row")),
        ("wgmma_f16", "f16", (4, 8, 8), ("row", "column", "row")),
        ("wgmma_f16", "f16", (8, 2, 1), ("column", "row", "row")),
        ("wgmma_bf16", "bf16", (1, 1, 1), ("column", "column", "column")),
        ("wgmma_e4m3", E4M3, (1, 4, 1), ("row", "column", "row")),
        ("wgmma_tf32", "f32", (1, 1, 1), ("row", "column", "row")),
    ):
        # TMA reads copies of what it cannot read itself.
        each, words = MULTIPLIERS[name], "_".join(map(str, alignments))
        texts = [f"{dtype}:{layout}:{aligned}" for layout, aligned in zip(layouts[:2], alignments, strict=False)]
        result = f"{each.types[2]}:{layouts[2]}:{alignments[2]}"
        parts = each.parts(layouts, a=texts[0], b=texts[1], d=result)
        yield Case(f"{name}_aligned_{words}", parts, is_representative=alignments == (1, 1, 1))
    for mode, batches in (("batched", 3), ("split_k_serial", 1), ("split_k_parallel", 1)):
        parts = wgmma.parts(mode=mode) | {"a": "f16:row:1", "b": "f16:column:1"}
        yield Case(f"wgmma_f16_aligned_1_{mode}", parts, batches)
    yield Case("wgmma_f16_source_in_columns", wgmma.parts(c="f16:column:1"))
    yield Case("mma_f16_source_in_columns", f16.parts(c="f32:column:2"))


def _modes() -> Iterator[Case]:
    for name in ("simt_f32", "mma_f16", "mma_f64", "wgmma_f16", "wgmma_e4m3"):
        each = MULTIPLIERS[name]
        for mode in ("batched", "array", "split_k_serial", "split_k_parallel"):
            if each.unit == "wgmma" and mode == "array":
                continue
            has_source = name in ("mma_f16", "wgmma_f16")
            parts = each.parts(mode=mode) | ({"c": f"{each.types[2]}:row"} if has_source else {})
            batches = 3 if mode in ("batched", "array") else 1
            yield Case(f"{name}_{mode}", parts, batches, is_representative=has_source)
    turned = ("column", "row", "column")
    for mode, batches in (("batched", 2), ("array", 2), ("split_k_serial", 1), ("split_k_parallel", 1)):
        yield Case(f"mma_bf16_turned_{mode}", MULTIPLIERS["mma_bf16"].parts(turned, mode=mode), batches)
    pingpong = MULTIPLIERS["wgmma_bf16"]
    yield Case("wgmma_bf16_split_k_parallel", pingpong.parts(mode="split_k_parallel"))
    yield Case("wgmma_bf16_batched", pingpong.parts(mode="batched", d="bf16:column"), 3)


def _swizzles() -> Iterator[Case]:
    for name in ("mma_f16", "wgmma_f16"):
        each = MULTIPLIERS[name]
        for swizzle in ("identity2", "identity4", "identity8", "horizontal"):
            yield Case(f"{name}_{swizzle}", each.parts(swizzle=swizzle))
        yield Case(f"{name}_batched_identity4", each.parts(swizzle="identity4", mode="batched"), 3)
    for name in ("simt_f32", "mma_f16", "wgmma_f16"):
        yield Case(f"{name}_swizzle_batched", MULTIPLIERS[name].parts(swizzle="batched", mode="batched"), 3)
    clusters = "128x64x64:stages=3:warps=2x1x1:cluster=2x1:schedule=pingpong"
    yield Case("wgmma_f16_cluster_identity4", MULTIPLIERS["wgmma_f16"].parts(swizzle="identity4", tile=clusters))
    yield Case("simt_f32_identity4", MULTIPLIERS["simt_f32"].parts(swizzle="identity4"))


def _named_epilogues() -> Iterator[Case]:
    floats = [each for each in NAMES if not each.endswith("fast_clamp")]
    for epilogue in floats:
        source: dict[str, Any] = {} if epilogue == "identity" else {"c": "f16:row"}
        yield Case(f"wgmma_f16_{epilogue}", MULTIPLIERS["wgmma_f16"].parts(epilogue=epilogue, **source))
        if epilogue != "linear_combination":
            yield Case(f"mma_bf16_{epilogue}", MULTIPLIERS["mma_bf16"].parts(epilogue=epilogue))
    for epilogue in ("gelu", "tanh", "leaky_relu"):
        yield Case(f"simt_f32_{epilogue}", MULTIPLIERS["simt_f32"].parts(epilogue=epilogue, c="f32:row"))
    for epilogue in ("gelu", "sigmoid", "silu"):
        yield Case(f"mma_f64_{epilogue}", MULTIPLIERS["mma_f64"].parts(epilogue=epilogue))
    for name, dtype in product(("mma_i8", "wgmma_i8"), ("i8", "u8")):
        for how in ("clamp", "fast_clamp"):
            if how == "fast_clamp" or dtype == "i8":
                parts = MULTIPLIERS[name].parts(d=f"{dtype}:row", epilogue=f"linear_combination_{how}")
                source = {"c": "i8:row"} if how == "fast_clamp" and dtype == "i8" else {}
                yield Case(f"{name}_{dtype}_{how}", parts | source, small=True)


def _fused_functions() -> Iterator[Case]:
    for name, function in product(("simt_f32", "mma_f16", "wgmma_f16"), FUNCTIONS):
        parts = _fused(function, MULTIPLIERS[name].parts())
        yield Case(f"{name}_{function}", parts, slope=_STEEPEST, is_representative=name != "simt_f32")
    for name, function in product(("mma_f16", "wgmma_f16"), ("row_sums", "column_extremes", "whole_matrix")):
        each = MULTIPLIERS[name]
        parts = _fused(function, each.parts(mode="batched"))
        yield Case(f"{name}_{function}_batched", parts, 3, slope=_STEEPEST)
        mode = "split_k_parallel" if function == "column_extremes" else "split_k_serial"
        yield Case(f"{name}_{function}_{mode}", _fused(function, each.parts(mode=mode)), slope=_STEEPEST)
    for function in ("scaled_rows", "row_sums", "column_extremes"):
        turned = MULTIPLIERS["wgmma_f16"].parts(("row", "column", "column"))
        yield Case(f"wgmma_f16_turned_{function}", _fused(function, turned), slope=_STEEPEST)


def _tiles() -> Iterator[Case]:
    f16, wgmma, simt = (MULTIPLIERS[name] for name in ("mma_f16", "wgmma_f16", "simt_f32"))
    for tile in (
        "16x16x32:stages=2:warps=1x1x1",
        "128x128x32:stages=4:warps=2x2x1",
        "128x64x64:stages=5:warps=4x1x1",
        "32x64x64:stages=3:warps=1x2x2",
        "64x256x32:stages=3:warps=1x4x1",
    ):
        yield Case(f"mma_f16_{_word(tile)}", f16.parts(tile=tile))
    for tile in (
        "64x64x64:stages=2:warps=1x1x1:cluster=1x1:schedule=cooperative",
        "128x128x64:stages=4:warps=2x1x1:cluster=2x1:schedule=cooperative",
        "256x128x64:stages=3:warps=2x1x1:cluster=1x2:schedule=cooperative",
        "128x256x64:stages=3:warps=2x1x1:cluster=2x1:schedule=cooperative",
        "64x128x64:stages=4:warps=2x1x1:cluster=1x2:schedule=pingpong",
        "128x128x64:stages=4:warps=2x1x1:cluster=2x2:schedule=pingpong",
        "64x192x64:stages=3:warps=2x1x1:cluster=1x1:schedule=pingpong",
        "128x24x64:stages=4:warps=2x1x1:cluster=1x1:schedule=cooperative",
        "128x8x64:stages=4:warps=2x1x1:cluster=4x2:schedule=cooperative",
        "64x64x64:stages=4:warps=2x1x1:cluster=1x4:schedule=pingpong",
    ):
        n = tile.split("x")[1]
        parts = wgmma.parts(tile=tile, instruction=f"wgmma:64x{n}x16:f16:f16:f32")
        yield Case(f"wgmma_f16_{_word(tile)}", parts)
    for tile in ("32x16x8:stages=2:warps=1x1x1", "128x128x16:stages=4:warps=4x2x1"):
        yield Case(f"simt_f32_{_word(tile)}", simt.parts(tile=tile))
    f64 = "128x64x16:stages=3:warps=4x2x1"
    yield Case(f"mma_f64_{_word(f64)}", MULTIPLIERS["mma_f64"].parts(tile=f64))


def _few_rows() -> Iterator[Case]:
    """Rows that are columns of wgmma."""

    def swapped(name: str, tile: str, **others: Any) -> dict[str, Any]:
        extents, _, rest = tile.partition(":")
        return _of_wgmma(name, extents, f"{rest}:swapped", **others)

    one, two = "warps=1x1x1:cluster=1x1:schedule=cooperative", "warps=1x2x1:cluster=1x2:schedule=cooperative"
    turns = "warps=1x2x1:cluster=1x1:schedule=pingpong"
    yield Case("wgmma_f16_few_rows", swapped("wgmma_f16", f"16x128:{two}", c="f16:row"), is_representative=True)
    yield Case("wgmma_bf16_few_rows", swapped("wgmma_bf16", f"24x64:{turns}"))
    yield Case("wgmma_e4m3_few_rows", swapped("wgmma_e4m3", f"32x64:{one}"))
    yield Case("wgmma_tf32_few_rows", swapped("wgmma_tf32", f"8x64:{turns}", c="f32:column:1"))
    yield Case("wgmma_i8_few_rows", swapped("wgmma_i8", f"64x128:{two}"))
    yield Case("wgmma_f16_few_columns", swapped("wgmma_f16", f"16x64:{one}", d="f16:column"))
    for mode, tile in (("serial", f"40x64:{one}"), ("parallel", f"40x128:{two}"), ("cluster", f"40x128:{two}")):
        parts = swapped("wgmma_f16", tile, mode=f"split_k_{mode}")
        yield Case(f"wgmma_f16_few_rows_split_k_{mode}", parts)
    for function in ("scaled_rows", "row_sums", "column_extremes"):
        parts = _fused(function, swapped("wgmma_f16", f"16x64:{turns}"))
        yield Case(f"wgmma_f16_few_rows_{function}", parts, slope=_STEEPEST)


def _slices_in_clusters() -> Iterator[Case]:
    def split(name: str, cluster: str, **others: Any) -> dict[str, Any]:
        rest = f"warps=1x1x1:cluster={cluster}:schedule=cooperative"
        return _of_wgmma(name, "64x32", rest, mode="split_k_cluster", **others)

    for name, cluster in (("wgmma_f16", "2x1"), ("wgmma_e4m3", "4x1"), ("wgmma_tf32", "4x2"), ("wgmma_i8", "2x1")):
        yield Case(f"{name}_split_k_cluster", split(name, cluster), is_representative=name == "wgmma_f16")
    fused = _fused("whole_matrix", split("wgmma_f16", "4x1"))
    yield Case("wgmma_f16_whole_matrix_split_k_cluster", fused, slope=_STEEPEST)


def _of_wgmma(name: str, extents: str, rest: str, **others: Any) -> dict[str, Any]:
    """The parts of a product with a tile of these M and N, as deep as 128 bytes, of three stages."""
    each = MULTIPLIERS[name]
    k = 4 * int(each.instruction.split(":")[1].split("x")[2])
    return each.parts(**{"tile": f"{extents}x{k}:stages=3:{rest}", **others})


def _word(tile: str) -> str:
    """A tile as a part of a file's name."""
    for old, new in ((":", "_"), ("stages=", "s"), ("warps=", "w"), ("cluster=", "c"), ("schedule=", "")):
        tile = tile.replace(old, new)
    return tile


def _results() -> Iterator[Case]:
    for name, dtype, c in (
        ("mma_f16", "f32", "f16"),
        ("mma_f16", "bf16", ""),
        ("wgmma_f16", "f32", "f32"),
        ("wgmma_bf16", "f32", ""),
        ("wgmma_f16", E4M3, ""),
        ("mma_bf16", E5M2, ""),
        ("mma_tf32", "f16", ""),
        ("wgmma_tf32", "bf16", ""),
        ("wgmma_e4m3", E4M3, "bf16"),
        ("wgmma_e4m3", "f32", ""),
        ("mma_i8", "f32", ""),
        ("mma_i8", "f16", ""),
        ("mma_f64", "f32", ""),
    ):
        source: dict[str, Any] = {"c": f"{c}:row"} if c else {}
        yield Case(f"{name}_to_{dtype}", MULTIPLIERS[name].parts(d=f"{dtype}:row", **source), small=True)


@cache
def cases() -> Mapping[str, Case]:
    """All of them, by name."""
    groups = (
        *(_types_and_layouts, _interleaved, _old_targets, _alignments, _modes, _swizzles),
        *(_named_epilogues, _fused_functions, _tiles, _few_rows, _slices_in_clusters, _results),
    )
    found: dict[str, Case] = {}
    for group in groups:
        for case in group():
            assert case.name not in found, case.name
            found[case.name] = case
    return found
