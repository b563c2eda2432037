"""Lists of matrices, one a group, held against a description and put into tables of their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import (
    Matrix,
    check_alignment,
    check_written,
    leading_dimension,
    matrix,
    operands_of,
    promises_extent,
    read,
)
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription, Packing
from cutecc.operations.grouped.tables import Numbers, in_memory
from cutecc.operations.kernels.grouped.schedule import has_table, tiles_before
from cutecc.operations.operand import type_bits
from cutecc.operations.overlaps import check_lists
from cutecc.runtime.checks import array_text

SIZES, TILES = "sizes of groups", "tiles before groups"
"""Arguments that are no user's, and cannot have the names of theirs: they are no identifiers."""
SCALES = ("scales_a", "scales_b")
"""Arguments of products with scales of blocks."""

Sizes = list[tuple[int, int, int]]


def leading(name: str) -> str:
    """The argument with the leading dimensions of the matrices of `name`."""
    return f"leading of {name}"


@dataclass(frozen=True, eq=False)
class GroupMatrices:
    """The matrices of one argument, in tables that `GroupedGemm.matrices` made of all arguments together.

    It does not keep the matrices alive, and a CUDA graph does not keep it alive.
    """

    name: str
    description: GroupedDescription
    """What they fit."""
    tables: Mapping[str, Numbers]
    """Of all arguments."""


def list_names(description: GroupedDescription) -> tuple[str, ...]:
    """The arguments that are lists."""
    stored = description.gemm.epilogue.stored
    scales = () if description.scales == "none" else SCALES
    return ("A", "B", *(each.name for each in stored if each.kind != "scalar"), *scales)


def tables_of(
    description: GroupedDescription, given: Mapping[str, Any], device: str, *, keep: bool = True
) -> dict[str, Numbers]:
    """The tables of lists that are given by name, for calls on `device`: to `keep` for a launch on a GPU in its memory,
    else in this process's.

    Waits for the copy of the tables alone. Raises `ArgumentError` for matrices that do not fit, `LaunchError`.
    """
    arrays = read_lists(description, given)
    check_written_lists(description, arrays)
    return tables_of_arrays(description, arrays, device, keep=keep)


def tables_of_arrays(
    description: GroupedDescription, arrays: Mapping[str, Sequence[Array]], device: str, *, keep: bool = True
) -> dict[str, Numbers]:
    """As `tables_of`, of lists that have been read and may be written; arrays on another device have been copied."""
    matrices = {
        name: [_matrix(f"{name}[{index}]", each, description, name) for index, each in enumerate(arrays[name])]
        for name in operands_of(description.gemm)
    }
    sizes = _agree(matrices)
    _check(description, arrays, matrices, sizes)
    if device == "cuda":
        _check_not_numpy(arrays)
    ordinal = _ordinal(arrays) if device == "cuda" and keep else None
    like = next((each for each in arrays["A"]), Array("int64", (), (), 0))
    tables = {**_addresses(description, arrays, matrices), **_of_sizes(description, sizes)}
    return in_memory(tables, like, arrays, ordinal)


def _addresses(
    description: GroupedDescription, arrays: Mapping[str, Sequence[Array]], matrices: Mapping[str, Sequence[Matrix]]
) -> dict[str, Any]:
    """Tables of addresses, and of the distances of rows or columns."""
    tables: dict[str, Any] = {
        name: np.array([each.address for each in found], np.int64) for name, found in arrays.items()
    }
    for name, each in matrices.items():
        tables[leading(name)] = np.array([leading_dimension(one) for one in each], np.int64)
    if description.scales != "none":
        # Those of B as of its transpose.
        for name, order in zip(SCALES, (1, -1), strict=True):
            steps = [each.stride[::order] for each in arrays[name]]
            tables[leading(name)] = np.array(steps, np.int64).reshape(-1, 2)
    return tables


def _of_sizes(description: GroupedDescription, sizes: Sizes) -> dict[str, Any]:
    """The table of sizes, as what is compiled has them, and where a kernel takes it that of tiles."""
    seen = [(n, m, k) for m, n, k in sizes] if description.gemm.is_compiled_transposed else sizes
    tables: dict[str, Any] = {SIZES: np.array(seen, np.int32).reshape(-1, 3)}
    if has_table(description):
        tables[TILES] = np.array(tiles_before(description.compiled(), seen), np.int32)
    return tables


def turns_in_all(tables: Mapping[str, Numbers]) -> int:
    """How many turns the groups of lists have, where a kernel takes the tiles before each."""
    return int(tables[TILES].data[-1])


def _check(
    description: GroupedDescription,
    arrays: Mapping[str, Sequence[Array]],
    matrices: Mapping[str, Sequence[Matrix]],
    sizes: Sizes,
) -> None:
    """Raise `ArgumentError` for what is not aligned, or of another size."""
    epilogue, operands = description.gemm.epilogue, operands_of(description.gemm)
    for name, each in matrices.items():
        extents = promises_extent(description.gemm, name)
        for one in each:
            check_alignment(one, operands[name], extents=extents)
    if description.scales != "none":
        for index, size in enumerate(sizes):
            for name, shape in zip(SCALES, scales_shapes(description.packing, *size), strict=True):
                check_scales(f"{name}[{index}]", arrays[name][index], shape)
    for each in epilogue.stored:
        if each.kind in ("row", "column"):
            for index, (array, size) in enumerate(zip(arrays[each.name], sizes, strict=True)):
                _check_vector(f"{each.name}[{index}]", each, array, size[1 if each.kind == "row" else 0])


def scales_shapes(packing: Packing, m: int, n: int, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Those of the scales of A and of B of a group, of `depth` of all."""
    along_k = -(-k // SCALE_BLOCK)
    return (m, along_k), (along_k, n if packing == "depth" else -(-n // SCALE_BLOCK))


def check_scales(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Raise `ArgumentError` for scales of another type or shape than there are blocks."""
    dtype = find_numeric_type(array.dtype)
    if dtype is None or dtype.name != "f32" or array.shape != shape:
        raise ArgumentError(f"argument '{name}': {array_text(array)} is not f32{list(shape)}, one a block")


def check_written_lists(description: GroupedDescription, arrays: Mapping[str, Sequence[Array]]) -> None:
    """Raise `ArgumentError` for a matrix that cannot be written, or shares memory with one that is."""
    outputs = {each.name for each in description.gemm.epilogue.outputs}
    for name in outputs & arrays.keys():
        for index, each in enumerate(arrays[name]):
            check_written(f"{name}[{index}]", each)
    check_lists(
        {name: each for name, each in arrays.items() if name in outputs},
        {name: each for name, each in arrays.items() if name not in outputs},
        frozenset(operands_of(description.gemm)) - {"A", "B"},
    )


def key_of(given: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """What lists that are given by name have alike that need the same tables."""
    found: list[Any] = []
    for name in names:
        value = given.get(name)
        for each in cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ():
            try:
                found.append((each.data_ptr(), each.shape, each.stride(), each.dtype))
            except (AttributeError, TypeError, RuntimeError):
                array = cast(Array, read(name, each))
                found.append((array.address, array.layout, array.library, array.stream))
        found.append(name)
    return tuple(found)


def read_lists(description: GroupedDescription, given: Mapping[str, Any]) -> dict[str, list[Array]]:
    """All lists, read. Raises `ArgumentError` for what is none, and unless they have one number of groups."""
    arrays = {name: _read(name, given.get(name)) for name in list_names(description)}
    if len({len(each) for each in arrays.values()}) > 1:
        counts = ", ".join(f"{len(each)} in {name}" for name, each in arrays.items())
        raise ArgumentError(f"the lists have no common number of groups: {counts}")
    return arrays


def _read(name: str, value: Any) -> list[Array]:
    if not isinstance(value, list | tuple):
        hints = ['packed matrices are described by packing="rows", "columns" or "depth"']
        raise ArgumentError(f"argument '{name}' has to be a list of the matrices of all groups", hints=hints)
    return [cast(Array, read(f"{name}[{index}]", each)) for index, each in enumerate(cast("Sequence[Any]", value))]


def _matrix(name: str, array: Array, description: GroupedDescription, argument: str) -> Matrix:
    if len(array.shape) != 2:
        raise ArgumentError(f"argument '{name}': {array_text(array)} is no matrix")
    return matrix(name, array, operands_of(description.gemm)[argument])


def _agree(matrices: Mapping[str, Sequence[Matrix]]) -> Sizes:
    """The sizes of each group. Raises `ArgumentError`, which names the first group that does not fit."""
    found: Sizes = []
    for index, (a, b) in enumerate(zip(matrices["A"], matrices["B"], strict=True)):
        size = a.rows, b.columns, a.columns
        others = [each[index] for name, each in matrices.items() if name not in ("A", "B")]
        if a.columns != b.rows or any((each.rows, each.columns) != size[:2] for each in others):
            shapes = ", ".join(each.text for each in (a, b, *others))
            raise ArgumentError(
                f"the shapes of group {index} do not fit: {shapes}",
                hints=["A is (M, K), B is (K, N), C and D are (M, N)"],
            )
        found.append(size)
    if any(max(size) >= 1 << 31 for size in found):
        raise ArgumentError("no size may be 2^31 or more")
    return found


def _check_vector(name: str, operand: Input | Output, array: Array, extent: int) -> None:
    dtype = find_numeric_type(array.dtype)
    text = f"argument '{name}': {array_text(array)}"
    if dtype is None or dtype.name != operand.dtype:
        raise ArgumentError(f"{text}: its elements are {dtype or array.dtype}, not {operand.dtype}")
    if array.shape != (extent,) or (extent > 1 and array.stride[0] != 1):
        what = "column" if operand.kind == "row" else "row"
        raise ArgumentError(f"{text}: it holds one value a {what}, one after the other: the shape ({extent},)")
    if array.address % (bytes_ := operand.alignment * type_bits(operand.dtype) // 8):
        raise ArgumentError(f"{text}: it is not aligned to {bytes_} bytes, as the epilogue's operand says")


def _check_not_numpy(arrays: Mapping[str, Sequence[Array]]) -> None:
    """Raise `ArgumentError` for matrices of numpy's, which are copied for one call alone."""
    for name, listed in arrays.items():
        for index, each in enumerate(listed):
            if each.library == "numpy":
                raise ArgumentError(
                    f"argument '{name}[{index}]' is a numpy array, and tables have addresses of a GPU's memory",
                    hints=[
                        "run copies matrices of numpy, when all arguments are numpy's",
                        'device="cpu" runs the operation on the CPU emulator',
                    ],
                )


def are_numpy(given: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether lists are given, of which one begins with an array of numpy's."""
    values = [given.get(name) for name in names]
    if any(isinstance(each, GroupMatrices) for each in values):
        return False
    return any(isinstance(each[0], np.ndarray) for each in values if isinstance(each, list | tuple) and each)


def _ordinal(arrays: Mapping[str, Sequence[Array]]) -> int:
    """The GPU of all matrices. Raises `ArgumentError` when they live elsewhere, or on several."""
    first: tuple[str, Array] | None = None
    for name, listed in arrays.items():
        for index, each in enumerate(listed):
            if each.device != "cuda":
                raise ArgumentError(
                    f"argument '{name}[{index}]' lives on {each.place}: move it with .cuda()",
                    hints=['device="cpu" runs the operation on the CPU emulator'],
                )
            if first is not None and each.ordinal != first[1].ordinal:
                raise ArgumentError(
                    f"argument '{name}[{index}]' lives on {each.place}, and {first[0]} on {first[1].place}: "
                    "all arguments of a call live on one device"
                )
            first = first or (f"{name}[{index}]", each)
    return (first[1].ordinal if first else None) or 0
