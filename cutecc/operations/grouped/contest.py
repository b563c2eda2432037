"""Grouped products that compete in `autotune`: tiles, instructions and orders of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.errors import Error, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import operands_of
from cutecc.operations.contest import swizzled
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.grouped.arguments import is_packed
from cutecc.operations.grouped.candidates import by_other_means
from cutecc.operations.grouped.description import GroupedDescription, Packing
from cutecc.operations.grouped.lists import SCALES, scales_shapes
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.grouped.problem import VARYING, GroupedProblem
from cutecc.operations.grouped.validity import refusal
from cutecc.operations.operand import Operand
from cutecc.operations.views import DeviceMatrix

if TYPE_CHECKING:
    from cutecc.runtime.timing import Samples
    from cutecc.runtime.workspace import Workspace

_EXTENTS = {"A": "MK", "B": "KN"}


class GroupedContest:
    """Grouped products as an operation describes them, with other means."""

    def __init__(self, op: GroupedGemm, problem: Any) -> None:
        """Raises `UsageError` for sizes that are not known, or none."""
        self._description = op.description
        found = op.problem if problem is None else GroupedProblem.of(problem, op.description.packing)
        if found is None:
            raise UsageError("autotune needs the sizes of the groups", hints=["problem=(M, N, K, groups)"])
        self.problem = found
        whole = found.whole(op.description.packing)
        self.sizes = whole.m, whole.n, whole.k, whole.batches
        self.asked = self._asked()

    def candidates(self) -> Sequence[GroupedDescription]:
        return by_other_means(self._description, self.problem)

    def beside(self, best: GroupedDescription) -> list[GroupedDescription]:
        others = [replace(best, gemm=each) for each in swizzled(best.gemm)]
        return [each for each in others if refusal(each) is None]

    def operation(self, description: GroupedDescription) -> GroupedGemm:
        return GroupedGemm.made(description, (), None, self.problem)

    def is_valid(self, description: Description) -> bool:
        return isinstance(description, GroupedDescription) and refusal(description) is None

    def time(self, operations: Sequence[GroupedGemm], gpu: Workspace) -> Sequence[Samples | Error]:
        from cutecc.operations.tuning_data import launched, time_in_turn

        tables: dict[tuple[int, int], dict[str, Any]] = {}

        def launch(op: GroupedGemm, arguments: dict[str, Any], workspace: Any, stream: int) -> None:
            if op.description.packing == "list":
                # Tables are of one operation; each set of arguments has its own, for all calls.
                lists: dict[str, Any] = {name: each for name, each in arguments.items() if isinstance(each, list)}
                key = id(op), id(arguments["A"])
                if key not in tables:
                    tables[key] = {**op.matrices(**lists)}
                arguments = arguments | tables[key]
            launched(op, arguments, workspace, stream)

        make = partial(_arguments, operations[0], self.problem)
        return time_in_turn(operations, gpu, make, lambda op: op.workspace_bytes(problem=self.problem), launch)

    def _asked(self) -> str:
        described, gemm = self._description, self._description.gemm
        instruction = gemm.instruction
        words = [gemm.target, "grouped", described.packing, described.schedule, described.scales]
        words += [instruction.a, instruction.b, instruction.accumulator, instruction.arithmetic]
        words += [str(gemm.a), str(gemm.b), "no source" if gemm.c is None else str(gemm.c), str(gemm.d)]
        return " ".join([*words, gemm.epilogue.key])


def _arguments(
    op: GroupedGemm, problem: GroupedProblem, gpu: Workspace, generator: np.random.Generator
) -> dict[str, tuple[Any, int]]:
    """Random arguments, in lists or packed, with their bytes."""
    description = op.description
    random = _Random(description, problem, gpu, generator)
    found: dict[str, tuple[Any, int]] = {
        name: random.matrices(name, each) for name, each in operands_of(description.gemm).items()
    }
    for each in op.epilogue.stored:
        if each.name not in found:
            found[each.name] = random.vectors(each)
    if description.packing != "list":
        axis = VARYING[description.packing]
        ends = [*accumulate(size[axis] for size in problem.sizes)]
        found["offsets"] = (random.integers(ends), 4 * len(ends)) if description.schedule == "device" else (ends, 0)
    if description.scales != "none":
        found |= dict(zip(SCALES, random.scales(), strict=True))
    return found


class _Random:
    """Random arrays on a GPU."""

    def __init__(
        self, description: GroupedDescription, problem: GroupedProblem, gpu: Workspace, generator: np.random.Generator
    ) -> None:
        self._packing: Packing = description.packing
        self._problem = problem
        self._whole, self._gpu, self._generator = problem.whole(description.packing), gpu, generator

    def matrices(self, name: str, operand: Operand) -> tuple[Any, int]:
        extents = _EXTENTS.get(name, "MN")
        if self._packing == "list":
            axes = ["MNK".index(extent) for extent in extents]
            made = [self._matrix(operand, size[axes[0]], size[axes[1]], 1) for size in self._problem.sizes]
            return [each for each, _ in made], sum(size for _, size in made)
        whole = {"M": self._whole.m, "N": self._whole.n, "K": self._whole.k}
        rows, columns = (whole[extent] for extent in extents)
        if "MNK"[VARYING[self._packing]] in extents:
            return self._matrix(operand, rows, columns, 1)
        matrix, size = self._matrix(operand, rows, columns, self._whole.batches)
        # Also of one group.
        return replace(matrix, shape=(self._whole.batches, rows, columns)), size

    def vectors(self, operand: Input | Output) -> tuple[Any, int]:
        groups = self._whole.batches
        if operand.kind == "scalar":
            return self.packed(operand.dtype, (groups,))
        if self._packing == "list":
            lengths = [size[1 if operand.kind == "row" else 0] for size in self._problem.sizes]
            made = [self.packed(operand.dtype, (length,)) for length in lengths]
            return [each for each, _ in made], sum(size for _, size in made)
        extent = self._whole.n if operand.kind == "row" else self._whole.m
        return self.packed(operand.dtype, (extent,) if is_packed(self._packing, operand.kind) else (groups, extent))

    def scales(self) -> Iterator[tuple[Any, int]]:
        """Those of A and of B."""
        if self._packing == "list":
            for shapes in zip(*(scales_shapes("list", *size) for size in self._problem.sizes), strict=True):
                made = [self.packed("f32", shape) for shape in shapes]
                yield [each for each, _ in made], sum(size for _, size in made)
        else:
            of_a, of_b = scales_shapes(self._packing, self._whole.m, self._whole.n, self._whole.k)
            yield self.packed("f32", of_a)
            yield self.packed("f32", of_b if self._packing == "depth" else (self._whole.batches, *of_b))

    def packed(self, dtype: str, shape: tuple[int, ...]) -> tuple[DeviceMatrix, int]:
        """An array without gaps."""
        from cutecc.operations.tuning_data import filled

        address, size = filled(dtype, int(np.prod(shape)), self._gpu, self._generator)
        return DeviceMatrix(address, shape, shape[-1], dtype, ordinal=self._gpu.ordinal), size

    def integers(self, values: Sequence[int]) -> DeviceMatrix:
        data = np.array(values, np.int32)
        address = self._gpu.allocate(data.nbytes)
        self._gpu.upload(address, data)
        return DeviceMatrix(address, data.shape, 1, "i32", ordinal=self._gpu.ordinal)

    def _matrix(self, operand: Operand, rows: int, columns: int, batches: int) -> tuple[DeviceMatrix, int]:
        from cutecc.operations.tuning_data import random_matrix

        return random_matrix(operand, rows, columns, batches, gpu=self._gpu, generator=self._generator)
