"""Grouped products on the CPU emulator: kernels with their epilogues, each group held against numpy's float64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from launching import Result, Vector
from products import Matrix, _Emulator

import cutecc
from cutecc.arguments.arrays import Array
from cutecc.emulator.options import EmulatorOptions
from cutecc.operations.epilogue import reference
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.kernels.grouped import schedule, workspace
from cutecc.operations.kernels.grouped.build import kernel
from cutecc.operations.kernels.grouped.signature import is_packed, specs
from cutecc.operations.kernels.signature import full_operand
from cutecc.operations.operand import Operand

Size = tuple[int, int, int]
"""M, N and K of a group."""
FEW = 3
"""Multiprocessors, so that each has several tiles."""


@cache
def compiled(description: GroupedDescription) -> cutecc.Kernel:
    """The kernel of a description, which keeps everything in registers that it does not put into shared memory."""
    found = cutecc.compile(kernel(description), *specs(description).values(), target=description.target, cache=False)
    assert isinstance(found, cutecc.Kernel)
    assert ".local" not in found.ptx
    return found


class Matrices:
    """One operand of all groups, each rows × columns, of extents such as `MK`."""

    def __init__(
        self, description: GroupedDescription, operand: Operand, extents: str, sizes: Sequence[Size], contiguous: bool
    ):
        """`contiguous` are the rows, else the columns."""
        axes = ["MNK".index(extent) for extent in extents]
        shapes = [(size[axes[0]], size[axes[1]]) for size in sizes]
        if description.packing == "list":
            self.own = [Matrix(operand, *shape, 1, rows_contiguous=contiguous) for shape in shapes]
            self.parts = [each.codes[:, :, 0] for each in self.own]
            leading = np.array([max(each.stride()[:-1]) for each in self.own], np.int64)
            self.argument: Any = (np.array([each.data_ptr() for each in self.own], np.int64), leading)
            self.elements = self.own[0].elements
            return
        self.own = []
        if not is_packed(description, extents):
            whole = Matrix(operand, *shapes[0], len(sizes), rows_contiguous=contiguous)
            self.parts = [whole.codes[:, :, group] for group in range(len(sizes))]
        else:
            axis = next(i for i, extent in enumerate(extents) if is_packed(description, extent))
            total = list(shapes[0])
            total[axis] = sum(shape[axis] for shape in shapes)
            whole = Matrix(operand, total[0], total[1], 1, rows_contiguous=contiguous)
            whole.codes = whole.codes[:, :, 0]
            ends = np.cumsum([shape[axis] for shape in shapes])[:-1]
            self.parts = np.split(whole.codes, ends, axis)
        self.elements, self.argument = whole.elements, whole

    def randomize(self, generator: np.random.Generator) -> Matrices:
        """Random elements."""
        for part in self.parts:
            part[...] = self.elements.random(part.size, generator).reshape(part.shape)
        return self

    @property
    def values(self) -> list[Any]:
        """Of each group, as f64."""
        return [self.elements.decode(part).astype(np.float64) for part in self.parts]


class Vectors:
    """A vector of each group, along `M` or `N`; or a scalar of each, `G`."""

    def __init__(self, description: GroupedDescription, operand: Input | Output, extent: str, sizes: Sequence[Size]):
        lengths = [1 if extent == "G" else size["MNK".index(extent)] for size in sizes]
        self.own: list[Any] = []
        if extent == "G":
            whole = Vector(operand.dtype, len(sizes), 1, 1)
            self.argument: Any = whole.codes[:, 0]
            self.parts = [self.argument[group : group + 1] for group in range(len(sizes))]
        elif description.packing == "list":
            self.own = [Vector(operand.dtype, length, 1, operand.alignment) for length in lengths]
            whole = self.own[0]
            self.parts = [each.codes[:, 0] for each in self.own]
            self.argument = np.array([part.ctypes.data for part in self.parts], np.int64)
        elif is_packed(description, extent):
            whole = Vector(operand.dtype, sum(lengths), 1, operand.alignment)
            self.argument = whole.codes[:, 0]
            self.parts = np.split(self.argument, np.cumsum(lengths)[:-1])
        else:
            whole = Vector(operand.dtype, lengths[0], len(sizes), operand.alignment)
            self.argument = whole.codes
            self.parts = [whole.codes[:, group] for group in range(len(sizes))]
        self.elements = whole.elements

    randomize = Matrices.randomize
    values = Matrices.values


class Scales:
    """Factors of blocks of A and of B, of each group."""

    def __init__(self, description: GroupedDescription, sizes: Sequence[Size], generator: np.random.Generator):
        def blocks(extent: int) -> int:
            return -(-extent // SCALE_BLOCK)

        self.columns = SCALE_BLOCK
        """That have one scale."""
        if description.packing == "list":
            self.a = [generator.uniform(0.5, 2, (blocks(k), m)).astype("f4").T for m, _, k in sizes]
            self.b = [generator.uniform(0.5, 2, (blocks(n), blocks(k))).astype("f4") for _, n, k in sizes]
            self.argument: Any = tuple(
                (
                    np.array([each.ctypes.data for each in found], np.int64),
                    np.array([[step // 4 for step in each.strides] for each in found], np.int64),
                )
                for found in (self.a, self.b)
            )
            return
        m, n, k = sizes[0]
        if description.packing == "depth":
            depths = [depth // SCALE_BLOCK for _, _, depth in sizes]
            self.argument = tuple(generator.uniform(0.5, 2, (sum(depths), each)).astype("f4").T for each in (m, n))
            self.a, self.b = (np.split(each, np.cumsum(depths)[:-1], axis=1) for each in self.argument)
            self.columns = 1
            return
        rows = generator.uniform(0.5, 2, (sum(m for m, _, _ in sizes), blocks(k))).astype("f4")
        # As (groups, N, K) in memory.
        whole = generator.uniform(0.5, 2, (len(sizes), blocks(n), blocks(k))).astype("f4")
        self.argument = (rows, whole.transpose(1, 2, 0))
        self.a, self.b = np.split(rows, np.cumsum([m for m, _, _ in sizes])[:-1]), [*whole]

    def scaled(self, group: int, left: Any, right: Any) -> tuple[Any, Any]:
        """A and the transpose of B, each element with its factor."""
        columns, rows = np.arange(left.shape[1]) // SCALE_BLOCK, np.arange(len(right)) // self.columns
        return left * self.a[group][:, columns], right * self.b[group][rows][:, columns]

    def arrays(self) -> list[Array]:
        """Those of lists, as the memory that they are."""
        listed = isinstance(self.argument[0], tuple)
        return [
            Array("f32", (each.size,), (1,), each.ctypes.data) for each in (*self.a, *self.b) if listed and each.size
        ]


def multiply(
    description: GroupedDescription,
    sizes: Sequence[Size],
    *,
    seed: int = 0,
    multiprocessors: int = FEW,
    order: str = "round-robin",
    ends: Sequence[int] | None = None,
) -> dict[str, list[Result]]:
    """Compute groups of these sizes with every check of the sanitizer; the results of each group, by name.

    Where D is column-major, outputs are those of the transposed product, as the kernel has them. Scalars are 1.5.
    `ends` are other ones than the kernel should be given.
    """
    if description.gemm.is_compiled_transposed:
        description, sizes = description.compiled(), [(n, m, k) for m, n, k in sizes]
    made, generator, gemm = compiled(description), np.random.default_rng(seed), description.gemm
    a = Matrices(description, gemm.a, "MK", sizes, gemm.a.layout == "row").randomize(generator)
    b = Matrices(description, gemm.b, "NK", sizes, gemm.b.layout == "column").randomize(generator)
    memory: dict[str, Matrices | Vectors] = {}
    arguments: list[Any] = []
    values: list[dict[str, Any]] = [{} for _ in sizes]
    for operand in gemm.epilogue.operands:
        if full := full_operand(gemm, operand):
            each: Any = Matrices(description, full, "MN", sizes, full.layout != "column")
        elif isinstance(operand, Input) and operand.kind == "scalar" and not operand.in_memory:
            arguments.append(1.5)
            for of_group in values:
                of_group[operand.name] = 1.5
            continue
        else:
            each = Vectors(description, operand, {"row": "N", "column": "M", "scalar": "G"}[operand.kind], sizes)
        memory[operand.name] = each
        arguments.append(each.argument)
        if isinstance(operand, Input):
            each.randomize(generator)
            for of_group, value in zip(values, each.values, strict=True):
                of_group[operand.name] = value[0] if operand.kind == "scalar" else value[None]
    scales = Scales(description, sizes, generator) if description.scales == "blocks" else None
    emulator = _Emulator(made.compilation, made.launcher.binder)
    everything = [own for each in (a, b, *memory.values()) for own in each.own if own.codes.size]
    emulator.matrices = tuple(each for each in everything if isinstance(each, Matrix))
    vectors = [each for each in everything if isinstance(each, Vector)]
    listed = [Array(each.dtype, (each.codes.size,), (1,), each.codes.ctypes.data) for each in vectors]
    emulator.vectors = (*listed, *(scales.arrays() if scales is not None else []))
    emulation = emulator.emulate(
        (
            _problem(description, sizes),
            _sizes(description, sizes) if ends is None else np.array(ends, np.int32),
            *(a.argument, b.argument, tuple(arguments), scales and scales.argument),
            _table(description, sizes),
            _workspace(description, sizes),
            *(multiprocessors, 0),
        ),
        {},
        EmulatorOptions(check=True, schedule=order, seed=seed),
    )
    assert emulation.findings == [], emulation.findings[0]
    results: dict[str, list[Result]] = {each.name: [] for each in gemm.epilogue.outputs}
    for group, (left, right) in enumerate(zip(a.values, b.values, strict=True)):
        if scales is not None:
            left, right = scales.scaled(group, left, right)
        expected = reference.evaluate(gemm.epilogue, (left @ right.T)[None], values[group])
        for name, found in results.items():
            found.append(Result(memory[name].values[group], expected[name].rounded[0]))
    return results


def error(results: dict[str, list[Result]]) -> float:
    """The largest of all groups; NaN where something was not written."""
    return max((each.error for found in results.values() for each in found), default=0.0)


def _axis(description: GroupedDescription) -> int:
    return next(axis for axis in range(3) if is_packed(description, "MNK"[axis]))


def _problem(description: GroupedDescription, sizes: Sequence[Size]) -> Size:
    if description.packing == "list":
        return 0, 0, 0
    problem = list(sizes[0])
    problem[_axis(description)] = sum(size[_axis(description)] for size in sizes)
    return problem[0], problem[1], problem[2]


def _sizes(description: GroupedDescription, sizes: Sequence[Size]) -> Any:
    if description.packing == "list":
        return np.array(sizes, np.int32)
    return np.cumsum([size[_axis(description)] for size in sizes], dtype=np.int32)


def _table(description: GroupedDescription, sizes: Sequence[Size]) -> Any:
    if not schedule.has_table(description):
        return None
    return np.array(schedule.tiles_before(description, sizes), np.int32)


def _workspace(description: GroupedDescription, sizes: Sequence[Size]) -> Any:
    if not workspace.needs_workspace(description):
        return None
    if description.packing == "list":
        turns = schedule.tiles_before(description, sizes)[-1]
    else:
        problem = _problem(description, sizes)
        turns = schedule.turns_before(description, *problem[:2], len(sizes), problem[_axis(description)])
    size = workspace.workspace_bytes(description, len(sizes), turns)
    memory = np.full(size + workspace.DESCRIPTOR_BYTES, 0xAB, np.uint8)
    start = -memory.ctypes.data % workspace.DESCRIPTOR_BYTES
    return memory[start : start + size]
