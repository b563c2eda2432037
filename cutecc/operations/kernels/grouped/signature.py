"""What a kernel of grouped products takes: the argument specs of the kernel of a description. Needs no DSL.

Every kernel has the same parameters:

| parameter | argument |
|---|---|
| `problem` | M, N and K, each `i32`: of the extent that varies the sum over all groups; of a `list` zeros |
| `sizes` | where each group ends: the sum of the extent that varies up to and with it; of a `list` (M, N, K) of each |
| `a`, `b` | as below |
| `operands` | those of the epilogue in its order, as below |
| `scales` | those of blocks of A and of B, or `none` |
| `schedule` | where `schedule.has_table`, the tiles before each group, and of all (`tiles_before`); else `none` |
| `workspace` | bytes as `workspace.py` divides them, or `none` |
| `multiprocessors` | how many the GPU has |
| `stream` | a CUDA stream |

`sizes`, `schedule` and the arrays of a `list` have one element a group, `schedule` one more. G is the number of groups.

| | `rows` | `columns` | `depth` | `list` |
|---|---|---|---|---|
| `a` | (ΣM, K) | (M, K, G) | (M, ΣK) | addresses, leading dimensions |
| `b`, the transpose of B as the user sees it | (N, K, G) | (ΣN, K) | (N, ΣK) | addresses, leading dimensions |
| a full operand | (ΣM, N) | (M, ΣN) | (M, N, G) | addresses, leading dimensions |
| a `row` operand | (N, G) | (ΣN) | (N, G) | addresses |
| a `column` operand | (ΣM) | (M, G) | (M, G) | addresses |
| a scalar in memory | (G) | (G) | (G) | (G) |
| scales of A, one for 128 of K | (ΣM, K / 128) | | (M, ΣK / 128) | addresses, steps along M and K |
| scales of B, one for 128×128, or 128 of K | (N / 128, K / 128, G) | | (N, ΣK / 128) | addresses, steps along N and K |

Addresses, and leading dimensions and steps, in elements, are `i64`. The contiguous mode of a tensor has the static
stride 1, that of scales any. A scalar that is not in memory is one number for all groups.
"""

from __future__ import annotations

from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription, Packing
from cutecc.operations.kernels.grouped.schedule import has_table
from cutecc.operations.kernels.grouped.workspace import DESCRIPTOR_BYTES, needs_workspace
from cutecc.operations.kernels.signature import divisors, full_operand, mode_spec
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand, most_aligned, type_bits

PARAMETERS = (
    *("problem", "sizes", "a", "b", "operands", "scales", "schedule", "workspace", "multiprocessors", "stream"),
)
_SCALES: dict[Packing, str] = {
    "rows": "(f32[?M, ?]:(?{i64}, ?{i64}), f32[?, ?, ?G]:(?{i64}, ?{i64}, ?{i64}))",
    "depth": "(f32[?M, ?]:(?{i64}, ?{i64}), f32[?N, ?]:(?{i64}, ?{i64}))",
    "list": "((i64[?G], i64[?G, 2]), (i64[?G], i64[?G, 2]))",
}
_VARYING = {"rows": "M", "columns": "N", "depth": "K"}


def specs(description: GroupedDescription) -> dict[str, str]:
    """The argument spec of each parameter, in their order: what `cutecc.compile` takes, and `Job.args`.

    They are those of the kernel: where D is column-major, of the transposed products.
    """
    description = description.compiled()
    gemm, is_list = description.gemm, description.packing == "list"
    operands = [_operand(description, each) for each in gemm.epilogue.operands]
    return {
        "problem": "(i32, i32, i32)",
        "sizes": "i32[?G, 3]" if is_list else "i32[?G]",
        "a": _matrix(description, gemm.a, "M", "K", gemm.a.layout == "row"),
        "b": _matrix(description, gemm.b, "N", "K", gemm.b.layout == "column"),
        "operands": f"({', '.join(operands)},)",
        "scales": _SCALES[description.packing] if description.scales != "none" else "none",
        "schedule": "i32[?]" if has_table(description) else "none",
        "workspace": f"u8[?] align={DESCRIPTOR_BYTES}" if needs_workspace(description) else "none",
        "multiprocessors": "i32",
        "stream": "stream",
    }


def varying(description: GroupedDescription) -> str:
    """Which extent the sizes of a packed description are of: `M`, `N` or `K`."""
    return _VARYING[description.packing]


def ends_divisor(description: GroupedDescription) -> int:
    """What every group of a packed description begins at a multiple of, along the extent that varies.

    Copies of an operand that is contiguous along it are as wide as its alignment, and TMA begins at 16 bytes. A block
    with one scale is of one group.
    """
    description = description.compiled()
    gemm = description.gemm
    if description.packing == "list":
        return 1
    if description.packing == "depth" and description.scales != "none":
        return SCALE_BLOCK
    contiguous = {"a": "M" if gemm.a.layout == "column" else "K", "b": "N" if gemm.b.layout == "row" else "K"}
    along = [getattr(gemm, name) for name, extent in contiguous.items() if extent == varying(description)]
    return max((min(each.alignment, most_aligned(each.dtype)) for each in along), default=1)


def extent_divisors(description: GroupedDescription) -> dict[str, int]:
    """What M, N and K have to be multiples of, the sum of what varies."""
    gemm = description.gemm
    found = divisors(gemm)
    if description.packing == "columns":
        # Groups begin anywhere in a row of D, which is stored accordingly.
        found["N"] = gemm.b.alignment if gemm.family != "sm90" and gemm.b.layout == "row" else 1
    if description.packing == "depth" and description.scales != "none":
        # Of the last group too, which nobody reads back: what is behind whole blocks would be left out.
        found["K"] = max(found["K"], SCALE_BLOCK)
    return found


def is_packed(description: GroupedDescription, extents: str) -> bool:
    """Whether matrices of these extents, such as `MK`, lie in one tensor of two modes, groups next to each other."""
    return description.packing != "list" and varying(description) in extents


def _matrix(description: GroupedDescription, operand: Operand, rows: str, columns: str, rows_contiguous: bool) -> str:
    """The matrices of all groups: of each, rows by columns, of which one is contiguous."""
    if description.packing == "list":
        return "(i64[?G], i64[?G])"
    promised = extent_divisors(description)
    modes = [mode_spec(name, promised[name]) for name in (rows, columns)]
    stride = mode_spec("", operand.alignment, bits=64)
    strides = [stride, "1"] if rows_contiguous else ["1", stride]
    if not is_packed(description, rows + columns):
        modes, strides = [*modes, "?G"], [*strides, stride]
    align = min(operand.alignment_bytes, WIDEST_ALIGNMENT)
    return f"{operand.dtype}[{', '.join(modes)}]:({', '.join(strides)}) align={align}"


def _operand(description: GroupedDescription, operand: Input | Output) -> str:
    if full := full_operand(description.gemm, operand):
        return _matrix(description, full, "M", "N", full.layout == "row")
    if operand.kind == "scalar":
        in_memory = isinstance(operand, Output) or operand.in_memory
        return f"{operand.dtype}[?G]:(?{{i64}})" if in_memory else operand.dtype
    if description.packing == "list":
        return "i64[?G]"
    extent = "N" if operand.kind == "row" else "M"
    size = mode_spec(extent, extent_divisors(description)[extent])
    align = min(operand.alignment * type_bits(operand.dtype) // 8, WIDEST_ALIGNMENT)
    if is_packed(description, extent):
        return f"{operand.dtype}[{size}]:(1) align={align}"
    return f"{operand.dtype}[{size}, ?G]:(1, {mode_spec('', operand.alignment, bits=64)}) align={align}"
