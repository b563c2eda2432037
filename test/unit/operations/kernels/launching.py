"""Whole operations on the CPU emulator: kernels with their epilogues, held against numpy's float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from products import MULTIPROCESSORS, Matrix, _Emulator, _workspace, compile_kernel

import cutecc
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.emulator.options import EmulatorOptions
from cutecc.harness.elements import elements_of
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue import reference
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.named import named_epilogue
from cutecc.operations.epilogue.values import Output
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels import signature
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription

SMALL = "32x32x8:stages=3:warps=1x1x1"


def simt(
    a: str = "f32:row:1",
    b: str = "f32:row:1",
    d: str = "f32:row:1",
    c: str | None = "f32:row:1",
    *,
    epilogue: Epilogue | str = "linear_combination",
    tile: str = SMALL,
    swizzle: Any = "identity1",
    mode: Any = "gemm",
) -> GemmDescription:
    """A SIMT GEMM from the texts of its parts; a named epilogue gets the C and D that it is for."""
    left, right, result = map(Operand.parse, (a, b, d))
    source = Operand.parse(c) if c else None
    if isinstance(epilogue, str):
        epilogue = named_epilogue(epilogue, d=result, c=source, accumulator=left.dtype)
    instruction = MathInstruction("simt", (1, 1, 1), left.dtype, right.dtype, left.dtype)
    parts = TileDescription.parse(tile), left, right, result, source, epilogue
    return GemmDescription("sm_80", instruction, *parts, swizzle, mode)


class Vector:
    """Values along rows or columns of L matrices, poison in the gaps between the batches."""

    def __init__(self, dtype: str, extent: int, batches: int, alignment: int):
        found = find_numeric_type(dtype)
        assert found is not None
        self.elements, self.dtype = elements_of(found), found.name
        length = -(-extent // alignment) * alignment + alignment
        memory = np.full(batches * length * self.elements.code.itemsize, self.elements.poison, np.uint8)
        self.codes = memory.view(self.elements.code).reshape(batches, length)[:, :extent].T

    def randomize(self, generator: np.random.Generator) -> Vector:
        """Random elements."""
        self.codes[...] = self.elements.random(self.codes.size, generator).reshape(self.codes.shape)
        return self

    @property
    def values(self) -> Any:
        """(extent, L) as f64."""
        return self.elements.decode(self.codes).astype(np.float64)


@dataclass
class Result:
    """An output of a launch, as f64: (L, M, N), (L, N), (L, M) or (L)."""

    found: Any
    expected: Any

    @property
    def error(self) -> float:
        """The largest, relative to the expected value and at least 1; NaN where nothing was written."""
        both_nan = np.isnan(self.found) & np.isnan(self.expected)
        same = both_nan | (self.found == self.expected)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0, abs(self.found - self.expected) / (1 + abs(self.expected)))
        return float(error.max(initial=0))


@cache
def compiled(description: GemmDescription) -> cutecc.Kernel:
    """The kernel of a description, which keeps everything in registers that it does not put into shared memory."""
    kernel = compile_kernel(description, cache=False)
    assert ".local" not in kernel.ptx
    return kernel


def launch(
    description: GemmDescription,
    m: int,
    n: int,
    k: int,
    *,
    batches: int = 1,
    slices: int | None = None,
    numbers: Mapping[str, float] = {},
    operands: Mapping[str, Any] = {},
    seed: int = 0,
    multiprocessors: int = MULTIPROCESSORS,
    schedule: str = "round-robin",
) -> dict[str, Result]:
    """Run the kernel of a description on random operands, with every check of the sanitizer.

    Where D is column-major, outputs are those of the transposed product, as the kernel has them. `numbers` are the
    epilogue's scalars, 1.5 unless given; `operands` are values instead of random ones. `seed` is that of operands and
    of the `schedule`.
    """
    if description.is_compiled_transposed:
        description, m, n = description.transposed(), n, m
    kernel, generator = compiled(description), np.random.default_rng(seed)
    a = Matrix(description.a, m, k, batches, rows_contiguous=description.a.layout == "row").randomize(generator)
    b = Matrix(description.b, n, k, batches, rows_contiguous=description.b.layout == "column").randomize(generator)
    memory, arguments, values = epilogue_operands(description, m, n, batches, generator, numbers, operands)
    as_array = description.mode == "array"
    emulator = _Emulator(kernel.compilation, kernel.launcher.binder)
    if as_array:
        emulator.matrices = (a, b, *(each for each in memory.values() if isinstance(each, Matrix)))
    given = (a.argument(as_array), b.argument(as_array), tuple(arguments))
    space = _workspace(description, m, n, k, batches, slices)
    count = multiprocessors if signature.is_persistent(description) else None
    options = EmulatorOptions(check=True, schedule=schedule, seed=seed)
    emulation = emulator.emulate(((m, n, k, batches), *given, space, slices, count, 0), {}, options)
    assert emulation.findings == []
    return results(description, memory, np.einsum("mkl,nkl->lmn", a.values, b.values), values)


def epilogue_operands(
    description: GemmDescription,
    m: int,
    n: int,
    batches: int,
    generator: np.random.Generator,
    numbers: Mapping[str, float] = {},
    operands: Mapping[str, Any] = {},
) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """Of an epilogue's operands those in memory, the kernel's arguments, and the values of inputs; as `launch` does."""
    memory: dict[str, Any] = {}
    arguments: list[Any] = []
    values: dict[str, Any] = {}
    for operand in description.epilogue.operands:
        is_output = isinstance(operand, Output)
        if full := signature.full_operand(description, operand):
            each = Matrix(full, m, n, batches, rows_contiguous=full.layout != "column")
        elif operand.kind == "scalar" and not is_output and not operand.in_memory:
            values[operand.name] = numbers.get(operand.name, 1.5)
            arguments.append(values[operand.name])
            continue
        else:
            extent = {"row": n, "column": m}.get(operand.kind, 1)
            each = Vector(operand.dtype, extent, batches, operand.alignment)
        memory[operand.name] = each
        if not is_output:
            each.randomize(generator)
            if operand.name in operands:
                each.codes[...] = each.elements.encode(operands[operand.name])
            values[operand.name] = np.moveaxis(each.values, -1, 0) if operand.kind != "scalar" else each.values[0]
        arguments.append(_argument(each, operand.kind, description))
    return memory, arguments, values


def results(
    description: GemmDescription, memory: Mapping[str, Any], sums: Any, values: Mapping[str, Any]
) -> dict[str, Result]:
    """What was found in memory, and what the epilogue makes of sums (L, M, N) and the values of its inputs."""
    expected = reference.evaluate(description.epilogue, sums, values)
    found = {each.name: np.moveaxis(memory[each.name].values, -1, 0) for each in description.epilogue.outputs}
    return {
        each.name: Result(found[each.name].reshape(expected[each.name].rounded.shape), expected[each.name].rounded)
        for each in description.epilogue.outputs
    }


def _argument(each: Matrix | Vector, kind: str, description: GemmDescription) -> Any:
    if isinstance(each, Matrix):
        return each.argument(description.mode == "array")
    return each.codes[0] if kind == "scalar" else each.codes
