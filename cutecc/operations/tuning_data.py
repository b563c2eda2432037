"""Random data on a GPU for timing products, and the timing: all contestants on the same data, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import Array, read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.benchmarking.running import sets_needed
from cutecc.errors import Error
from cutecc.harness.elements import elements_of
from cutecc.operations.gemm import Gemm
from cutecc.operations.gemm_variant import GemmVariant
from cutecc.operations.operand import Operand
from cutecc.operations.tile_model import Problem
from cutecc.operations.views import DeviceMatrix, MatrixArray
from cutecc.runtime.timing import Samples, measure
from cutecc.runtime.workspace import Workspace

_SEED = 2024
_MOST_BYTES = 1 << 31
"""Random bytes of one array: a longer one repeats them."""

Launch = Callable[[Any, dict[str, Any], Any, int], object]
"""Puts a product with these arguments, a workspace and a stream on the device."""


def time_products(
    operations: Sequence[Gemm], problem: Problem, gpu: Workspace, launch: Launch | None = None
) -> list[Samples | Error]:
    """The times of each product on the problem, or why it cannot be launched. `launch` is for tests."""
    sizes = problem.m, problem.n, problem.k, problem.batches
    make = partial(_arguments, cast(GemmVariant, operations[0].variants[0]), problem)
    return time_in_turn(operations, gpu, make, lambda op: op.workspace_bytes(problem=sizes), launch or launched)


def time_in_turn(
    operations: Sequence[Any],
    gpu: Workspace,
    make: Callable[[Workspace, np.random.Generator], dict[str, tuple[Any, int]]],
    workspace_bytes: Callable[[Any], int],
    launch: Launch,
) -> list[Samples | Error]:
    """The times of each operation, or why it cannot be launched.

    All work on the same random normal data, of which there are as many sets as exceed twice the L2 cache; calls take
    turns with them. `make` makes the arguments of a set, each with its bytes. Data and workspaces are freed at the end.
    """
    generator = np.random.default_rng(_SEED)
    failures: dict[int, Error] = {}
    calls: dict[str, list[Callable[[], object]]] = {}
    with gpu.scope():
        first = make(gpu, generator)
        count = sets_needed(sum(size for _, size in first.values()), gpu.l2_bytes)
        sets = [first, *(make(gpu, generator) for _ in range(count - 1))]
        for index, op in enumerate(operations):
            size = workspace_bytes(op)
            workspace = _workspace(gpu, size) if size else None
            found = [
                partial(launch, op, {name: each for name, (each, _) in arguments.items()}, workspace, gpu.stream)
                for arguments in sets
            ]
            try:
                found[0]()
                gpu.synchronize()
            except Error as error:
                failures[index] = error
                continue
            calls[str(index)] = found
        samples = measure(calls, gpu) if calls else {}
    return [failures[index] if index in failures else samples[str(index)] for index in range(len(operations))]


def launched(op: Any, arguments: dict[str, Any], workspace: Any, stream: int, **settings: Any) -> None:
    """Launch an operation, with what else a call says in `settings`."""
    # The source counts, where there is one.
    numbers: dict[str, Any] = {
        each.name: 1.0
        for each in op.epilogue.inputs
        if each.name not in arguments and (each.name == "beta" or each.default is None)
    }
    if "C" not in arguments:
        numbers.pop("beta", None)
    op.run(**arguments, **numbers, **settings, workspace=workspace, stream=stream)


def _arguments(
    variant: GemmVariant, problem: Problem, gpu: Workspace, generator: np.random.Generator
) -> dict[str, tuple[DeviceMatrix | MatrixArray, int]]:
    """An array for every argument, in mode `array` a table of matrices, with its bytes."""
    m, n, k, batches = problem.m, problem.n, problem.k, problem.batches
    found: dict[str, tuple[DeviceMatrix | MatrixArray, int]] = {}
    for name, operand in variant.operands.items():
        rows, columns = {"A": (m, k), "B": (k, n)}.get(name, (m, n))
        make = partial(random_matrix, operand, rows, columns, gpu=gpu, generator=generator)
        if variant.description.mode == "array":
            matrices = [make(1) for _ in range(batches)]
            found[name] = _table([each for each, _ in matrices], gpu), sum(size for _, size in matrices)
        else:
            found[name] = make(batches)
    for each in variant.description.epilogue.stored:
        if each.name not in found:
            extent = {"row": n, "column": m}.get(each.kind, 1)
            address, size = filled(each.dtype, extent * batches, gpu, generator)
            shape = (batches, extent) if batches > 1 else (extent,)
            found[each.name] = DeviceMatrix(address, shape, extent, each.dtype, ordinal=gpu.ordinal), size
    return found


def random_matrix(
    operand: Operand,
    rows: int,
    columns: int,
    batches: int,
    gpu: Workspace,
    generator: np.random.Generator,
) -> tuple[DeviceMatrix, int]:
    """A matrix, or a batch of several, of random elements, with its bytes."""
    dtype, align = operand.dtype, operand.alignment
    if operand.is_interleaved:
        groups, lines = (columns // 32, rows) if operand.is_along_rows else (rows // 32, columns)
        address, size = filled(dtype, groups * lines * 32 * batches, gpu, generator)
        shape = (batches, groups, lines, 32) if batches > 1 else (groups, lines, 32)
        return DeviceMatrix(address, shape, 32, dtype, ordinal=gpu.ordinal), size
    contiguous, others = (columns, rows) if operand.layout == "row" else (rows, columns)
    leading = -(-contiguous // align) * align
    address, size = filled(dtype, leading * others * batches, gpu, generator)
    shape = (batches, rows, columns) if batches > 1 else (rows, columns)
    return DeviceMatrix(address, shape, leading, dtype, operand.layout, ordinal=gpu.ordinal), size


def _table(matrices: Sequence[DeviceMatrix], gpu: Workspace) -> MatrixArray:
    """Matrices as one argument of mode `array`."""
    addresses = tuple(each.pointer for each in matrices)
    table = np.array(addresses, np.int64)
    address = gpu.allocate(table.nbytes)
    gpu.upload(address, table)
    array = Array("int64", table.shape, (1,), address, "cuda", gpu.ordinal)
    return MatrixArray(array, cast(Array, read_array(matrices[0])), addresses)


def filled(dtype: str, count: int, gpu: Workspace, generator: np.random.Generator) -> tuple[int, int]:
    """The address and the bytes of so many random elements."""
    numeric = find_numeric_type(dtype)
    assert numeric is not None, dtype
    elements = elements_of(numeric)
    width = elements.code.itemsize
    address = gpu.allocate(count * width)
    most = _MOST_BYTES // width
    codes = elements.random(min(count, most), generator)
    for start in range(0, count, most):
        part = codes[: count - start]
        gpu.upload(address + start * width, np.ascontiguousarray(part))
    return address, count * width


def _workspace(gpu: Workspace, size: int) -> DeviceMatrix:
    size = math.ceil(size / 16) * 16
    address = gpu.allocate(size)
    gpu.upload(address, np.zeros(size, np.uint8))
    return DeviceMatrix(address, (size,), size, "u8", ordinal=gpu.ordinal)
