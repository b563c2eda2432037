"""A GEMM compiled in one form: its arguments bound to the kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import (
    Matrix,
    agree,
    argument_view,
    check_alignment,
    check_written,
    matrix,
    numbers_of,
    operands_of,
    promises_extent,
    read,
)
from cutecc.operations.call_sizes import check_reductions, slices_of, workspace_sizes
from cutecc.operations.description import SPLIT_K_MODES, GemmDescription
from cutecc.operations.hazards import Hazard, check_hazards, check_tables
from cutecc.operations.operand import type_bits
from cutecc.operations.tile_model import Problem
from cutecc.operations.variant import Arrays, Bound, Variant
from cutecc.operations.vector_arguments import vector_view
from cutecc.operations.views import MatrixArray, Table


class GemmVariant(Variant[GemmDescription]):
    """One form of a GEMM."""

    def __init__(self, description: GemmDescription) -> None:
        super().__init__(description)
        self.array_names = ("A", "B", *(each.name for each in description.epilogue.stored))
        self.takes_tables = description.mode == "array"
        self.operands = operands_of(description)
        """A, B and the full operands of the epilogue."""
        self.takes_slices = description.mode in SPLIT_K_MODES

    def bind(
        self,
        given: Mapping[str, Any],
        slices: int | None,
        /,
        *,
        copies: Callable[[Arrays], Arrays] | None = None,
    ) -> Bound:
        """As `Variant.bind`; `slices` is into how many parts K is split, `None` for what suits the sizes."""
        epilogue = self.description.epilogue
        arrays: Arrays = {name: read(name, given.get(name)) for name in self.array_names}
        outputs = {each.name for each in epilogue.outputs}
        self._check_mode(arrays)
        _check_outputs(arrays, outputs)
        matrices = self._matrices(arrays)
        full = [name for name in self.array_names if name in matrices and name not in ("A", "B")]
        problem = agree(matrices["A"], matrices["B"], [matrices[name] for name in full])
        self._check_batches(problem)
        turned = self.description.is_compiled_transposed
        vectors = [each for each in epilogue.stored if each.name not in self.operands]
        for each in vectors:  # before anything is copied
            vector_view(each, cast(Array, arrays[each.name]), problem)
        check_reductions(epilogue, problem)
        hazards = self._hazards(arrays, outputs)
        if copies is not None:
            arrays = copies(arrays)
            matrices = self._matrices(arrays)
        self._check_alignments(matrices)
        views: dict[str, Any] = {
            each.name: vector_view(each, cast(Array, arrays[each.name]), problem) for each in vectors
        }
        views.update({name: argument_view(matrices[name], turned=turned) for name in full})
        found = numbers_of(epilogue, given)
        values, sources = self._values(matrices, problem, views | found)
        slices = self.slices(slices, problem)
        if self.takes_slices:
            values["slices"] = slices
        is_empty = 0 in (problem.m, problem.n, problem.batches)
        workspace = self.workspace_sizes(problem, slices)
        return Bound(arrays, values, sources, found, hazards, is_empty, *workspace)

    def _check_mode(self, arrays: Arrays) -> None:
        """Raise `ArgumentError` for one array where the operation takes arrays of matrices."""
        for name, each in arrays.items():
            if isinstance(each, Array) and self.description.mode == "array" and name in self.operands:
                raise ArgumentError(
                    f"argument '{name}' is one array, and the operation is of mode array",
                    hints=["it takes lists of matrices, or what op.matrices made of them"],
                )

    def _check_batches(self, problem: Problem) -> None:
        mode = self.description.mode
        if problem.batches > 1 and mode not in ("batched", "array"):
            raise ArgumentError(
                f"the arguments are a batch of {problem.batches}, and the operation is of mode {mode}",
                hints=['describe it with mode="batched"'],
            )

    def _check_alignments(self, matrices: Mapping[str, Matrix]) -> None:
        """Raise `ArgumentError` for a matrix that vectors of the described size cannot read."""
        for name, each in matrices.items():
            check_alignment(each, self.operands[name], extents=promises_extent(self.description, name))

    def _values(
        self, matrices: Mapping[str, Matrix], problem: Problem, operands: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The kernel's arguments, and which of the user's each part of them is; `operands` are the epilogue's."""
        turned = self.description.is_compiled_transposed
        first, second = ("B", "A") if turned else ("A", "B")
        m, n = (problem.n, problem.m) if turned else (problem.m, problem.n)
        names = [each.name for each in self.description.epilogue.operands]
        values: dict[str, Any] = {
            "problem": (m, n, problem.k, problem.batches),
            # One is (M, K), the other (N, K): A as it is and B turned, whichever is which.
            "a": argument_view(matrices[first], turned=first == "B"),
            "b": argument_view(matrices[second], turned=second == "B"),
            "operands": tuple(operands[name] for name in names),
        }
        sources = {**_flat("a", first, values["a"]), **_flat("b", second, values["b"])}
        for index, name in enumerate(names):
            sources.update(_flat(f"operands[{index}]", name, values["operands"][index]))
        return values, sources

    def slices(self, given: int | None, problem: Problem) -> int:
        """Into how many slices K is split. Raises `ArgumentError` for a number that is none, or too many."""
        hint = 'describe it with mode="split_k_serial" or mode="split_k_parallel"'
        return slices_of(self.description, given, problem, hint)

    def workspace_sizes(self, problem: Problem, slices: int = 1) -> tuple[int, int]:
        """The bytes of workspace that a call on this problem needs, and how many of them have to be zeros."""
        turned = problem.transposed() if self.description.is_compiled_transposed else problem
        return workspace_sizes(self.compiled, turned, slices)

    def alignment_bytes(self, name: str) -> int:
        if (operand := self.operands.get(name)) is not None:
            # In a table of addresses each has been checked.
            return 8 if self.description.mode == "array" else operand.alignment_bytes
        declared = self.description.epilogue.operand(name)
        assert declared is not None, name
        return declared.alignment * type_bits(declared.dtype) // 8

    def _matrices(self, arrays: Arrays) -> dict[str, Matrix]:
        return {
            name: matrix(name, cast(Array | MatrixArray, arrays[name]), operand)
            for name, operand in self.operands.items()
            if name in arrays
        }

    def _hazards(self, arrays: Arrays, outputs: set[str]) -> list[Hazard]:
        self.check_tables(arrays)
        plain = {name: each for name, each in arrays.items() if isinstance(each, Array)}
        full = frozenset(name for name in self.operands if name not in ("A", "B"))
        written = {name: each for name, each in plain.items() if name in outputs}
        inputs = {name: each for name, each in plain.items() if name not in outputs}
        return check_hazards(written, inputs, full)

    def check_tables(self, given: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` where matrices of arrays of them are not aligned, or are the same and must not be."""
        found = {name: each for name in self.array_names if isinstance(each := given.get(name), MatrixArray)}
        for name, each in found.items():
            operand = self.operands.get(name)
            if operand is not None and each.address_bits % operand.alignment_bytes:  # says which
                check_alignment(self._matrices({name: each})[name], operand, extents=False)
        if not found:
            return
        outputs = {each.name for each in self.description.epilogue.outputs}
        check_tables(
            {name: each for name, each in found.items() if name in outputs},
            {name: each for name, each in found.items() if name not in outputs},
            frozenset(found) - {"A", "B"},
        )


def _check_outputs(arrays: Arrays, outputs: set[str]) -> None:
    """Raise `ArgumentError` for an output that cannot be written."""
    for name, each in arrays.items():
        if name in outputs:
            check_written(name, each.like if isinstance(each, Table) else each)


def _flat(parameter: str, name: str, value: Any) -> dict[str, str]:
    """The flat parameters that take an argument's address or number."""
    return {f"{parameter}[0]" if isinstance(value, tuple) else parameter: name}
