"""Products of the operations' kernels on the CPU emulator, with poison where they must not read or have to write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import cutecc
from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.emulator.device import Emulation, Emulator
from cutecc.emulator.memory.allocations import Allocation, tensor_allocation
from cutecc.emulator.options import EmulatorOptions
from cutecc.harness.elements import elements_of
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Output
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels import signature, workspace
from cutecc.operations.kernels.build import build
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription

INTERLEAVED = signature.INTERLEAVED
MULTIPROCESSORS = 132
"""Of the GPU that kernels are told of."""


def describe(
    instruction: str,
    tile: str,
    a: str,
    b: str,
    d: str,
    *,
    target: str = "sm_80",
    swizzle: Any = "identity1",
    mode: Any = "gemm",
) -> GemmDescription:
    """The GEMM that stores its sums as they are, from the texts of its parts."""
    multiply, result = MathInstruction.parse(instruction), Operand.parse(d, "d")
    conversion = "clamp" if result.dtype[0] in "iu" else "round"
    stored = Output("D", "full", result.dtype, "accum", "none", conversion, result.layout, result.alignment)
    compute = multiply.accumulator if multiply.accumulator in ("f64", "i32") else "f32"
    epilogue = Epilogue((), (), (stored,), accumulator=multiply.accumulator, compute=compute)
    parts = TileDescription.parse(tile), Operand.parse(a, "a"), Operand.parse(b, "b"), result, None
    return GemmDescription(target, multiply, *parts, epilogue, swizzle, mode)


@dataclass
class _Device:
    type: str = "cpu"


class Matrix:
    """L matrices of one operand in memory, poison in the gaps between rows; numpy need not know its type."""

    device = _Device()

    def __init__(self, operand: Operand, rows: int, columns: int, batches: int, *, rows_contiguous: bool):
        dtype = find_numeric_type(operand.dtype)
        assert dtype is not None
        self.elements, self.operand = elements_of(dtype), operand
        self.dtype = dtype.name
        self.rows_contiguous = rows_contiguous
        if operand.is_interleaved and rows_contiguous:
            memory = self._poisoned(batches, columns // INTERLEAVED, rows, INTERLEAVED)
            self.codes = memory.transpose(2, 3, 1, 0)
        elif operand.is_interleaved:
            memory = self._poisoned(batches, rows // INTERLEAVED, columns, INTERLEAVED)
            self.codes = memory.transpose(3, 1, 2, 0)
        else:
            lines, length = (rows, columns) if rows_contiguous else (columns, rows)
            gap = operand.alignment if operand.alignment > 1 else 3
            memory = self._poisoned(batches, lines, -(-length // operand.alignment) * operand.alignment + gap)
            memory = memory[:, :, :length]
            self.codes = memory.transpose(1, 2, 0) if rows_contiguous else memory.transpose(2, 1, 0)

    def _poisoned(self, *shape: int) -> Any:
        """An array of poison, aligned as an allocation of CUDA is."""
        size = int(np.prod(shape)) * self.elements.code.itemsize
        memory = np.full(size + 256, self.elements.poison, np.uint8)
        start = -memory.ctypes.data % 256
        return memory[start : start + size].view(self.elements.code).reshape(shape)

    def randomize(self, generator: np.random.Generator) -> Matrix:
        """Random elements."""
        self.codes[...] = self.elements.random(self.codes.size, generator).reshape(self.codes.shape)
        return self

    @property
    def values(self) -> Any:
        """(rows, columns, L) as f64."""
        values = self.elements.decode(self.codes).astype(np.float64)
        if self.codes.ndim == 3:
            return values
        if self.rows_contiguous:
            rows, _, groups, batches = values.shape
            return values.transpose(0, 2, 1, 3).reshape(rows, groups * INTERLEAVED, batches)
        _, groups, columns, batches = values.shape
        return values.transpose(1, 0, 2, 3).reshape(groups * INTERLEAVED, columns, batches)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def stride(self) -> tuple[int, ...]:
        """In elements, as torch has it."""
        return tuple(step // self.codes.itemsize for step in self.codes.strides)

    def data_ptr(self) -> int:
        return self.codes.ctypes.data

    def argument(self, as_array: bool) -> Any:
        """What a kernel takes: itself, or the addresses of its matrices and their leading dimension."""
        if not as_array:
            return self
        addresses = [self.data_ptr() + batch * self.codes.strides[-1] for batch in range(self.shape[-1])]
        return np.array(addresses, np.int64), max(self.stride()[:-1])

    def layouts(self) -> Iterator[Array]:
        """Each matrix of the batch."""
        for batch in range(self.shape[-1]):
            address = self.data_ptr() + batch * self.codes.strides[-1]
            yield Array(self.dtype, self.shape[:-1], self.stride()[:-1], address)


class _Emulator(Emulator):
    """Knows the matrices behind arrays of addresses."""

    matrices: tuple[Matrix, ...] = ()
    vectors: tuple[Array, ...] = ()

    def _arrays(self, bound: Any) -> Iterator[Allocation]:
        yield from super()._arrays(bound)
        for vector in self.vectors:
            yield tensor_allocation(vector, vector.dtype)
        for matrix in self.matrices:
            for layout in matrix.layouts():
                yield tensor_allocation(layout, matrix.dtype)


@dataclass
class Product:
    """A product that was computed."""

    result: Any
    """(M, N, L) as f64."""
    expected: Any
    """The same by numpy, in f64."""
    magnitude: Any
    """The products of absolute values: what errors are measured by."""
    emulation: Emulation

    @property
    def error(self) -> float:
        """The largest error, relative to `magnitude`; NaN where D was not written."""
        return float((abs(self.result - self.expected) / np.maximum(self.magnitude, 1e-30)).max())

    @property
    def conflicts(self) -> list[tuple[str, int, int]]:
        """(instruction, wavefronts, fewest) of accesses to shared memory with bank conflicts, but for `cp.async`."""
        counters = self.emulation.counters
        assert counters is not None
        return [
            (each.form, each.counts.shared_wavefronts, each.counts.shared_ideal_wavefronts)
            for each in counters.instructions
            if each.counts.shared_wavefronts > each.counts.shared_ideal_wavefronts and "cp.async" not in each.form
        ]


def compile_kernel(description: GemmDescription, **options: Any) -> cutecc.Kernel:
    """The kernel of a description."""
    kernel, specs = build(description.to_json()), signature.specs(description)
    compiled = cutecc.compile(kernel, *specs.values(), target=description.target, **options)
    assert isinstance(compiled, cutecc.Kernel)
    return compiled


def multiply(
    description: GemmDescription,
    m: int,
    n: int,
    k: int,
    *,
    batches: int = 1,
    slices: int | None = None,
    seed: int = 0,
    check: Any = True,
    launches: int = 1,
    kernel: cutecc.Kernel | None = None,
) -> Product:
    """Compute a product of random matrices, `launches` times in the same workspace; D is that of the last one."""
    generator = np.random.default_rng(seed)
    a = Matrix(description.a, m, k, batches, rows_contiguous=description.a.is_along_rows).randomize(generator)
    b = Matrix(description.b, n, k, batches, rows_contiguous=not description.b.is_along_rows).randomize(generator)
    d = Matrix(description.d, m, n, batches, rows_contiguous=True)
    as_array = description.mode == "array"
    space = _workspace(description, m, n, k, batches, slices)
    arguments = [each.argument(as_array) for each in (a, b)]
    kernel = kernel or compile_kernel(description)
    emulator = _Emulator(kernel.compilation, kernel.launcher.binder)
    emulator.matrices = (a, b, d) if as_array else ()
    count = MULTIPROCESSORS if signature.is_persistent(description) else None
    values = ((m, n, k, batches), *arguments, (d.argument(as_array),), space, slices, count, 0)
    options = EmulatorOptions(check=check, counters=True)
    emulation = emulator.emulate(values, {}, options)
    for _ in range(launches - 1):
        emulation = emulator.emulate(values, {}, options)
    left, right = a.values, b.values
    expected = np.einsum("mkl,nkl->mnl", left, right)
    if description.d.dtype == "i8":
        expected = np.clip(expected, -128, 127)
    return Product(d.values, expected, np.einsum("mkl,nkl->mnl", abs(left), abs(right)), emulation)


def _workspace(description: GemmDescription, m: int, n: int, k: int, batches: int, slices: int | None) -> Any:
    if not workspace.needs_workspace(description):
        return None
    regions = workspace.regions(description, m, n, k, batches, slices or 1)
    size = workspace.workspace_bytes(description, m, n, k, batches, slices or 1)
    memory = np.full(size + 256, 0xAB, np.uint8)
    start = -memory.ctypes.data % 256
    memory = memory[start : start + size]
    for each in regions:
        if each.is_zeroed:
            memory[each.offset : each.offset + each.bytes] = 0
    return memory
