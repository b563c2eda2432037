"""What a kernel takes: the argument specs of the kernel that a description asks for. Needs no DSL.

Every kernel has the same parameters:

| parameter | argument |
|---|---|
| `problem` | M, N, K and the number of matrices L, each `i32` |
| `a` | (M, K, L); interleaved (M, 32, K / 32, L) along K, (32, M / 32, K, L) along M |
| `b` | (N, K, L), the transpose of B as the user sees it; interleaved (N, 32, K / 32, L) or (32, N / 32, K, L) |
| `operands` | those of the epilogue in its order, see below |
| `workspace` | bytes as `workspace.py` divides them, or `none` |
| `slices` | into how many parts K is split, or `none` |
| `multiprocessors` | how many the GPU has, of kernels that launch as many blocks; else `none` |
| `stream` | a CUDA stream |

Of the epilogue's operands, a full one is (M, N, L), interleaved as A with N for K; a `row` one is (N, L), one value a
column of D; a `column` one is (M, L); a scalar is (L), or a number. The contiguous mode of a tensor has the static
stride 1. Of mode `array`, `a`, `b` and full operands are pairs: the addresses of L matrices, and their common leading
dimension in elements.
"""

from __future__ import annotations

from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.kernels.workspace import needs_workspace
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand, type_bits

PARAMETERS = ("problem", "a", "b", "operands", "workspace", "slices", "multiprocessors", "stream")
INTERLEAVED = 32
"""Elements that an interleaved layout keeps together."""


def specs(description: GemmDescription) -> dict[str, str]:
    """The argument spec of each parameter, in their order: what `cutecc.compile` takes, and `Job.args`.

    They are those of the kernel: where D is column-major, of the transposed product.
    """
    description = description.compiled()
    sizes = {name: mode_spec(name, divisor) for name, divisor in divisors(description).items()}
    as_array = description.mode == "array"
    operands = [operand_spec(description, each, sizes) for each in description.epilogue.operands]
    is_split = description.mode in ("split_k_serial", "split_k_parallel")
    return {
        "problem": "(i32, i32, i32, i32)",
        "a": _matrix(description.a, sizes["M"], sizes["K"], description.a.is_along_rows, as_array),
        "b": _matrix(description.b, sizes["N"], sizes["K"], not description.b.is_along_rows, as_array),
        "operands": f"({', '.join(operands)},)",
        "workspace": f"u8[?] align={WIDEST_ALIGNMENT}" if needs_workspace(description) else "none",
        "slices": "i32" if is_split else "none",
        "multiprocessors": "i32" if is_persistent(description) else "none",
        "stream": "stream",
    }


def is_persistent(description: GemmDescription) -> bool:
    """Whether a launch has no more blocks than the GPU runs at once, which compute one tile after the other."""
    # Blocks that wait for others' slices must not keep those from being launched: then one task each.
    return description.family == "sm90" and description.mode != "split_k_serial"


def full_operand(description: GemmDescription, operand: Input | Output) -> Operand | None:
    """A full operand of the epilogue as a matrix; `None` for others. C and D are as the description has them."""
    if operand.kind != "full":
        return None
    named = {"C": description.c, "D": description.d}.get(operand.name)
    return named or Operand(operand.dtype, operand.layout, operand.alignment)


def divisors(description: GemmDescription) -> dict[str, int]:
    """What M, N and K have to be multiples of.

    A vector must not cross the edge of a matrix, so contiguous extents are promised to be multiples of the alignment,
    as leading dimensions are. TMA knows the edges itself and needs no promise about A and B.
    """
    found = {"M": 1, "N": 1, "K": 1}

    def promise(size: str, operand: Operand) -> None:
        if not operand.is_interleaved:
            found[size] = max(found[size], operand.alignment)

    if description.family != "sm90":
        promise("K" if description.a.layout == "row" else "M", description.a)
        promise("K" if description.b.layout == "column" else "N", description.b)
    for each in description.epilogue.operands:
        if (operand := full_operand(description, each)) and operand.layout == "row":
            promise("N", operand)
    return found


def mode_spec(name: str, divisor: int, bits: int = 32) -> str:
    facts = (["i64"] if bits == 64 else []) + ([f"div={divisor}"] if divisor > 1 else [])
    return f"?{name}{{{' '.join(facts)}}}" if facts else f"?{name}"


def _matrix(operand: Operand, rows: str, columns: str, rows_contiguous: bool, as_array: bool) -> str:
    """A matrix a batch, its rows along M or N; `columns` are what a row is long."""
    if as_array:
        return "(i64[?L], i64)"
    align = min(operand.alignment_bytes, WIDEST_ALIGNMENT)
    stride = mode_spec("", operand.alignment, bits=64)
    if operand.is_interleaved:
        groups = mode_spec("", INTERLEAVED, bits=64)
        shape, steps = f"{INTERLEAVED}, ?", f"1, {groups}"
        if rows_contiguous:
            shape, steps = f"{rows}, {shape}", f"{INTERLEAVED}, {steps}"
        else:
            shape, steps = f"{shape}, {columns}", f"{steps}, {INTERLEAVED}"
        return f"{operand.dtype}[{shape}, ?L]:({steps}, {groups}) align={align}"
    strides = f"{stride}, 1" if rows_contiguous else f"1, {stride}"
    return f"{operand.dtype}[{rows}, {columns}, ?L]:({strides}, {stride}) align={align}"


def operand_spec(description: GemmDescription, operand: Input | Output, sizes: dict[str, str]) -> str:
    if full := full_operand(description, operand):
        return _matrix(full, sizes["M"], sizes["N"], full.is_along_rows, description.mode == "array")
    if operand.kind == "scalar":
        in_memory = isinstance(operand, Output) or operand.in_memory
        return f"{operand.dtype}[?L]:(?{{i64}})" if in_memory else operand.dtype
    size = sizes["N" if operand.kind == "row" else "M"]
    align = min(operand.alignment * type_bits(operand.dtype) // 8, WIDEST_ALIGNMENT)
    return f"{operand.dtype}[{size}, ?L]:(1, {mode_spec('', operand.alignment, bits=64)}) align={align}"
