"""The arguments of a product as its user gives them, read and held against a description.

A is M×K, B is K×N, C, D and other full operands are M×N, each with the batch in front if there is one. What is
An interleaved matrix is given as it lies in memory: R rows of C columns as (C/32, R, 32) where 32 columns are together,
as (R/32, C, 32) where 32 rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Complex, Real
from typing import Any, NoReturn, cast

from cutecc.arguments.arrays import Array, read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError, SpecError
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Input
from cutecc.operations.kernels.signature import INTERLEAVED, full_operand
from cutecc.operations.operand import OPERAND_TYPES, Layout, Operand, common_alignment
from cutecc.operations.tile_model import Problem
from cutecc.operations.views import MatrixArray, View
from cutecc.runtime.checks import array_text, kind_text

_ALIGNED = 128
"""Elements: a multiple of every alignment."""


@dataclass(frozen=True)
class Matrix:
    """A matrix, or a batch of them, as rows and columns."""

    name: str
    array: Array
    rows: int
    columns: int
    batches: int
    steps: tuple[int, int, int]
    """Elements from one row, column and matrix to the next."""
    layout: Layout
    several: MatrixArray | None = None

    @property
    def grouped(self) -> bool:
        """Whether 32 rows or columns are kept together."""
        return self.layout.endswith("interleaved32")

    @property
    def text(self) -> str:
        """`A (64, 32)`."""
        batch = f"{self.batches}, " if self.batches > 1 else ""
        return f"{self.name} ({batch}{self.rows}, {self.columns})"


def read(name: str, value: Any) -> Array | MatrixArray:
    """The array that an argument is. Raises `ArgumentError` for what is none."""
    if isinstance(value, MatrixArray | Array):
        return value
    try:
        array = read_array(value)
    except SpecError as error:
        raise ArgumentError(f"argument '{name}': {error.message}", hints=error.hints) from None
    if array is None:
        given = "nothing" if value is None else kind_text(value)
        hints = ["an address needs its layout: DeviceMatrix(pointer, shape, leading, dtype)"] if _is_int(value) else []
        if isinstance(value, list | tuple):
            hints += ['Gemm(…, mode="array") and GroupedGemm(…, packing="list") take lists of matrices']
        raise ArgumentError(f"argument '{name}' has to be an array, and {given} is given", hints=hints)
    return array


def matrix(name: str, given: Array | MatrixArray, operand: Operand) -> Matrix:
    """An argument as a matrix that lies as `operand` says.

    Raises `ArgumentError` for another element type, number of modes or layout.
    """
    several = given if isinstance(given, MatrixArray) else None
    array = several.like if several else cast(Array, given)
    _check_element(name, array, operand)
    inner = 3 if operand.is_interleaved else 2
    rank = len(array.shape)
    if rank not in ((inner,) if several else (inner, inner + 1)):
        _refuse(name, array, operand, f"it has {rank} mode{'' if rank == 1 else 's'}, not {_ranks(name, operand)}")
    batched = rank > inner
    batches = len(several.addresses) if several else array.shape[0] if batched else 1
    batch_step = array.stride[0] if batched else 0
    shape, stride = array.shape[-inner:], array.stride[-inner:]
    if operand.is_interleaved:
        _check_interleaved(name, array, operand)
        extent, others = shape[0] * INTERLEAVED, shape[1]
        rows, columns = (others, extent) if operand.is_along_rows else (extent, others)
        return Matrix(name, array, rows, columns, batches, (0, 0, batch_step), operand.layout, several)
    _check_contiguous(name, array, operand)
    return Matrix(name, array, shape[0], shape[1], batches, (stride[0], stride[1], batch_step), operand.layout, several)


def _check_element(name: str, array: Array, operand: Operand) -> None:
    dtype = find_numeric_type(array.dtype)
    if dtype is not None and dtype.name == operand.dtype:
        return
    hints: list[str] = []
    if dtype is not None and dtype.width == 8 and operand.bits == 8:
        hints = [f"bytes that hold {operand.dtype} numbers can be viewed as such: x.view(torch.float8_e4m3fn)"]
    elif dtype is not None and name.partition("[")[0] == "D" and dtype.name in OPERAND_TYPES:
        hints = [f'the operation with d="{dtype.name}" writes such']
    _refuse(name, array, operand, f"its elements are {dtype or array.dtype}, not {operand.dtype}", hints)


def _check_interleaved(name: str, array: Array, operand: Operand) -> None:
    shape, stride = array.shape[-3:], array.stride[-3:]
    compact = (INTERLEAVED * shape[1], INTERLEAVED, 1)
    wrong = [mode for mode in range(3) if shape[mode] > 1 and stride[mode] != compact[mode]]
    if shape[2] != INTERLEAVED or (wrong and 0 not in shape):
        _refuse(
            name,
            array,
            operand,
            f"{operand.layout} is {_ranks(name, operand)} without gaps",
            [
                "of a matrix x: x.reshape(rows, columns // 32, 32).transpose(0, 1).contiguous()"
                if operand.is_along_rows
                else "of a matrix x: x.reshape(rows // 32, 32, columns).transpose(1, 2).contiguous()"
            ],
        )


def _check_contiguous(name: str, array: Array, operand: Operand) -> None:
    if any(size > 1 and step < 0 for size, step in zip(array.shape, array.stride, strict=True)):
        _refuse(name, array, operand, f"it is in reverse order: {_steps(array)}", [f"pass {name}.copy()"])
    shape, stride = array.shape[-2:], array.stride[-2:]
    contiguous = 1 if operand.layout == "row" else 0
    if shape[contiguous] > 1 and stride[contiguous] != 1 and 0 not in shape:
        other = {"row": "column", "column": "row"}[operand.layout]
        hints = [f"describe it as {operand.dtype}:{other}, or choose by the arguments: op.for_arguments(A, B, …)"]
        what = "rows" if operand.layout == "row" else "columns"
        _refuse(name, array, operand, f"its {what} are not contiguous: {_steps(array)}", hints)


def agree(a: Matrix, b: Matrix, others: Sequence[Matrix]) -> Problem:
    """The sizes that the matrices have together. Raises `ArgumentError`, which names all shapes."""
    found = Problem(a.rows, b.columns, a.columns, max(each.batches for each in (a, b, *others)))
    problems: list[str] = []
    if max(found.m, found.n, found.k, found.batches) >= 1 << 31:
        problems.append("no size may be 2^31 or more")
    if a.columns != b.rows:
        problems.append(f"K is {a.columns} in A and {b.rows} in B")
    for each in others:
        if (each.rows, each.columns) != (found.m, found.n):
            problems.append(f"{each.name} is not M×N = {found.m}×{found.n}")
    if uneven := [each.name for each in (a, b, *others) if each.batches != found.batches]:
        problems.append(f"a batch of {found.batches}, and {', '.join(uneven)} of another number")
    if problems:
        shapes = ", ".join(each.text for each in (a, b, *others))
        hints = ["A is (M, K), B is (K, N), C and D are (M, N), with the batch in front if there is one"]
        if uneven and not any(each.several for each in (a, b, *others)):
            hints.append("a matrix that all products share: B.expand(L, -1, -1)")
        raise ArgumentError(f"the shapes do not fit: {shapes}: {'; '.join(problems)}", hints=hints)
    return found


def check_written(name: str, array: Array) -> None:
    """Raise `ArgumentError` for an array that cannot be an output: read-only, or with elements that share memory."""
    if array.readonly:
        raise ArgumentError(f"'{name}' is written, and its array is read-only", hints=[f"pass a copy: {name}.copy()"])
    reach = 0
    for step, size in sorted(zip(map(abs, array.stride), array.shape, strict=True)):
        if size > 1 and step <= reach and 0 not in array.shape:
            raise ArgumentError(
                f"'{name}' is written, and elements of it share memory: {array_text(array)}, {_steps(array)}",
                hints=[f"pass memory of its own: {name}.contiguous()"],
            )
        reach += (size - 1) * step


def check_alignment(each: Matrix, operand: Operand, *, extents: bool) -> None:
    """Raise `ArgumentError` unless addresses and distances are the multiples that the description promises.

    With `extents`, contiguous ones are too.
    """
    if not each.rows or not each.columns:
        return
    align, name, array = operand.alignment, each.name, each.array
    contiguous = each.columns if operand.layout == "row" else each.rows
    hint = f"describe it with a smaller alignment, {operand.dtype}:{operand.layout}:1 for any"
    if contiguous % align == 0:  # else a copy is no better
        hint += ", or copy it: .contiguous()"
    for address in each.several.addresses if each.several else (array.address,):
        if address % operand.alignment_bytes:
            reason = f"its address {address:#x} is not a multiple of {operand.alignment_bytes} bytes"
            _refuse(name, array, operand, reason, [hint])
    if each.grouped:
        return
    row, column, batch = each.steps
    leading, count = (row, each.rows) if operand.layout == "row" else (column, each.columns)
    for step, number, what in ((leading, count, "leading dimension"), (batch, each.batches, "distance of matrices")):
        if number > 1 and step % align:
            _refuse(name, array, operand, f"its {what} {step} is not a multiple of {align} elements", [hint])
    if extents and contiguous % align:
        what = "columns" if operand.layout == "row" else "rows"
        _refuse(name, array, operand, f"{contiguous} {what} are not a multiple of {align}", [hint])


def promises_extent(description: GemmDescription, name: str) -> bool:
    """Whether the contiguous extent of a matrix has to be a multiple of its alignment.

    Of A and B not where TMA knows the edges; of the others where they lie as D does, along which kernels work.
    """
    if name in ("A", "B"):
        return description.family != "sm90"
    return operands_of(description)[name].layout == description.d.layout


def operands_of(description: GemmDescription) -> dict[str, Operand]:
    """Every matrix by its name: A, B, and the full operands of the epilogue."""
    found = {"A": description.a, "B": description.b}
    for each in description.epilogue.operands:
        if (operand := full_operand(description, each)) is not None:
            found[each.name] = operand
    return found


def argument_view(each: Matrix, *, turned: bool) -> Any:
    """What a kernel takes for a matrix: (rows, columns, batch), with `turned` (columns, rows, batch)."""
    array, (row, column, batch) = each.array, each.steps
    if not each.rows or not each.columns:  # with distances that mean nothing, but have to be aligned
        row, column, batch = (_ALIGNED, 1, 0) if each.layout == "row" else (1, _ALIGNED, 0)
    sizes, steps = (each.rows, each.columns), (row, column)
    if turned:
        sizes, steps = sizes[::-1], steps[::-1]
    if each.several is not None:
        return View(each.several.table, "i64", (each.batches,), (1,)), leading_dimension(each)
    if each.grouped:
        has_grouped_columns = (each.layout == "column_interleaved32") != turned
        lines, extent = sizes if has_grouped_columns else sizes[::-1]
        groups = extent // INTERLEAVED
        whole = batch or INTERLEAVED * lines * max(1, groups)
        together = [(INTERLEAVED, 1), (groups, INTERLEAVED * lines)]
        modes = [(lines, INTERLEAVED), *together] if has_grouped_columns else [*together, (lines, INTERLEAVED)]
        shape, strides = zip(*modes, (each.batches, whole), strict=True)
        return View(array, array.dtype, shape, strides)
    return View(array, array.dtype, (*sizes, each.batches), (*steps, batch))


def described(name: str, value: Any, *, extents: bool = True) -> Operand:
    """The operand that an argument is: its type, its layout, and as many aligned elements as it allows.

    With `extents`, its contiguous extent is a multiple of them too. Raises `ArgumentError` for what is no matrix.
    """
    if isinstance(value, list | tuple) and value:
        each = [described(f"{name}[{index}]", one, extents=extents) for index, one in enumerate(cast("Any", value))]
        return replace(each[0], alignment=min(one.alignment for one in each))
    given = read(name, value)
    array = given.like if isinstance(given, MatrixArray) else given
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise ArgumentError(f"argument '{name}': cutecc has no element type {array.dtype}")
    if len(array.shape) not in (2, 3):
        raise ArgumentError(f"argument '{name}': {array_text(array)} is no matrix, nor a batch of them")
    mode = _contiguous_mode(name, array)
    numbers = _aligned_numbers(array, mode, extents=extents)
    addresses = given.addresses if isinstance(given, MatrixArray) else (array.address,)
    if 0 in array.shape:
        numbers, addresses = [], ()  # nothing is read there
    elif array.library == "numpy":
        addresses = ()  # its copy on the GPU has an address of its own
    operand = Operand(dtype.name, "row" if mode == 1 else "column")
    return replace(operand, alignment=common_alignment(operand.dtype, numbers, addresses))


def _aligned_numbers(array: Array, mode: int, *, extents: bool) -> list[int]:
    """What has to be a multiple of the elements that are read at once along the contiguous `mode` of a matrix."""
    sizes, steps = array.shape[-2:], array.stride[-2:]
    numbers = [sizes[mode]] if extents else []
    numbers += [steps[1 - mode]] if sizes[1 - mode] > 1 else []
    numbers += [array.stride[0]] if len(array.shape) == 3 and array.shape[0] > 1 else []
    return numbers


def _contiguous_mode(name: str, array: Array) -> int:
    """Which of a matrix's two modes is contiguous, of both the last. Raises `ArgumentError` when none is."""
    sizes, steps = array.shape[-2:], array.stride[-2:]
    contiguous = [mode for mode in (1, 0) if steps[mode] == 1 and sizes[mode] > 1]
    contiguous += [mode for mode in (1, 0) if sizes[mode] <= 1]
    if not contiguous:
        raise ArgumentError(
            f"argument '{name}': {array_text(array)}: neither its rows nor its columns are contiguous",
            hints=[f"pass {name}.contiguous()"],
        )
    return contiguous[0]


def numbers_of(epilogue: Epilogue, given: Mapping[str, Any]) -> dict[str, float]:
    """The value of each scalar that a launch passes as a number. Raises `ArgumentError` for one that is missing."""
    found: dict[str, float] = {}
    for each in epilogue.numbers:
        value = given.get(each.name)
        found[each.name] = _number(each, each.default if value is None else value)
    return found


def lives_on_gpu(number: Any) -> bool:
    """Whether a number is in the memory of a GPU, which reading it would wait for."""
    return bool(getattr(number, "is_cuda", False)) or type(number).__module__.split(".")[0] == "cupy"


def _number(operand: Input, value: Any) -> float:
    if value is None:
        raise ArgumentError(f"the epilogue needs '{operand.name}', a number of type {operand.dtype}")
    try:
        if isinstance(value, str | bytes) or _is_complex(value) or lives_on_gpu(value):
            raise TypeError
        number = int(value) if operand.dtype.startswith(("i", "u")) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ArgumentError(
            f"argument '{operand.name}' has to be a number of type {operand.dtype}, not {kind_text(value)}",
            hints=["a scalar in device memory is described as one: Scalar(…, in_memory=True)"],
        ) from None
    return number


def leading_dimension(each: Matrix) -> int:
    """Of a matrix in an array of them: the distance of its rows, or of its columns where these are contiguous."""
    row, column, _ = each.steps
    step, count = (row, each.rows) if each.layout == "row" else (column, each.columns)
    # A single row or column: no second one is ever reached, but the distance has to be aligned.
    return step if count > 1 else -(-max(each.rows, each.columns) // _ALIGNED) * _ALIGNED


def _ranks(name: str, operand: Operand) -> str:
    if operand.is_interleaved:
        rows, columns = {"A": "MK", "B": "KN"}.get(name, "MN")
        grouped, others = (columns, rows) if operand.is_along_rows else (rows, columns)
        return f"({grouped}/32, {others}, 32), or with a batch in front"
    return "2, or 3 with a batch in front"


def _steps(array: Array) -> str:
    return f"strides ({', '.join(map(str, array.stride))})"


def _refuse(name: str, array: Array, operand: Operand, reason: str, hints: list[str] | None = None) -> NoReturn:
    raise ArgumentError(
        f"argument '{name}': {array_text(array)}, but the operation takes {operand}: {reason}", hints=hints or []
    )


def _is_complex(value: Any) -> bool:
    return isinstance(value, Complex) and not isinstance(value, Real)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
