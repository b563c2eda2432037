# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""An epilogue fused into a kernel: from a thread's sums to what is stored, whichever way the thread has them.

A thread holds rows × columns of D. They are taken in pieces of a row, group after group of columns, so that what
belongs to a column is loaded once and few values are alive at a time. Operands of the next pieces are on their way
while one is computed. Every access is as wide as alignments allow, and guarded at the edges of D.

The lanes of a warp lie 8 × 4 over its part of D, or as `lanes` says: lanes that differ in their lowest bits hold other
columns of the same rows, the others other rows. A reduction adds up what a thread has, then what the warp has, and
leaves it as the warp's part in the workspace; `reduction_kernel.Finish` puts the parts together, in the same order in
every run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import cutlass
from cutlass import cute

from cutecc.frontend.written_place import called_from
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.values import ACCUM, Input, Output
from cutecc.operations.kernels.access import Access
from cutecc.operations.kernels.epilogue_arithmetic import converted, run, to_compute
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.problem import matrix
from cutecc.operations.kernels.regions import region
from cutecc.operations.kernels.signature import divisors, full_operand
from cutecc.operations.kernels.warp_reduction import LANES, WarpReduction
from cutecc.operations.kernels.workspace import epilogue_cut, parts_name
from cutecc.operations.operand import type_bits

GROUP = 16
"""Columns of a piece."""
AHEAD = 64
"""Bytes of full operands that are on their way while a piece is computed, or else those of the next piece."""
EARLY = 128
"""Bytes of vectors that a thread loads before it has its sums, at most: the main loop spares that many registers."""


class FusedEpilogue:
    """The epilogue of a description; `apply` is called once for each tile, by every thread that holds sums."""

    def __init__(self, description: GemmDescription):
        self.description, self.epilogue = description, description.epilogue
        self.cut = epilogue_cut(description)
        self.compute = numeric(self.epilogue.compute)
        self.lanes = LANES
        self.n_divisor = divisors(description)["N"]
        self.steps = {
            kind: [step for step in self.epilogue.steps if step.kind == kind]
            for kind in ("scalar", "column", "row", "full")
        }

    def load_early(self, coordinates: cute.Tensor, problem, batch, operands, rows=None) -> dict[str, cute.Tensor]:
        """Issue the loads of vectors along D's rows and columns, for `apply`: a thread's part of each, by name.

        While its sums are computed, a thread has the time; afterwards it would wait.
        """
        access, left = Access(coordinates, *problem[:2], rows), EARLY
        found: dict[str, cute.Tensor] = {}
        for operand, argument in zip(self.epilogue.operands, operands, strict=True):
            if isinstance(operand, Input) and operand.kind in ("row", "column"):
                places = access.patch.columns if operand.kind == "row" else access.patch.rows
                left -= len(places) * type_bits(operand.dtype) // 8
                if left < 0:
                    break
                vector = self.of_batch(operand, argument, problem, batch)
                if operand.kind == "row":
                    loaded = access.load(vector, self.alignment(operand), places, access.any_row)
                else:
                    loaded = cute.make_rmem_tensor((len(places),), vector.element_type)
                    for i, row in enumerate(places):
                        loaded[i] = access.load(vector, 1, access.patch.columns[:1], row)[0]
                found[operand.name] = loaded
        return found

    def apply(
        self,
        sums: cute.Tensor,
        coordinates: cute.Tensor,
        problem,
        batch,
        operands,
        *,
        workspace=None,
        slices=None,
        tile=None,
        warp=None,
        early=None,
        takers=None,
        rows=None,
    ) -> None:
        """Load what the epilogue reads, compute, and store or reduce what it gives.

        `sums` is a thread's register tensor, `coordinates` their (m, n) in D, partitioned alike from an identity
        tensor; `operands` are the kernel's. An epilogue with reductions also needs the kernel's `workspace` and
        `slices`, the (m, n) index of the `tile`, and that of the `warp` within it. `early` has the vectors that are
        loaded already, and `takers`, by the names of outputs, who takes them in place of memory: their `take` gets
        elements that are computed and rounded, and their indices in the tensor of sums; each comes once. `rows` are
        those of `Access`.
        """
        access = Access(coordinates, *problem[:2], rows)
        pieces = _Pieces(self, sums, access, problem, batch, operands, early or {}, takers or {})
        pieces.run()
        for output, reduction in pieces.reductions.items():
            reduction.store(self.part(self.epilogue.operand(output), problem, batch, workspace, slices, tile, warp))

    def of_batch(self, operand: Input | Output, argument, problem, batch) -> Any:
        """A full operand, or a vector as the broadcast that it is, as a matrix (M, N); a scalar as a number."""
        m, n = problem[0], problem[1]
        if full := full_operand(self.description, operand):
            return matrix(argument, full, m, n, batch, rows_contiguous=full.is_along_rows)
        if isinstance(operand, Output):
            return None  # a reduction, of which the workspace gets a part
        if operand.kind == "scalar":
            return argument[batch] if operand.in_memory else argument
        stride = (0, 1) if operand.kind == "row" else (1, 0)
        return cute.make_tensor(argument[None, batch].iterator, cute.make_layout((m, n), stride=stride))

    def alignment(self, operand: Input | Output) -> int:
        """Elements that addresses along a row are multiples of."""
        full = full_operand(self.description, operand)
        if full is None:
            return min(operand.alignment, self.n_divisor)
        return full.alignment if full.is_along_rows else 1

    def part(self, output: Output, problem, batch, workspace, slices, tile, warp) -> cute.Tensor:
        """Where the warp leaves its part of a reduction: a vector in global memory."""
        m, n, _, batches = problem[:4]
        along_m, along_n = (tile[mode] * self.cut.warps[mode] + warp[mode] for mode in (0, 1))
        both = along_m * self.cut.parts("column", m, n) + along_n
        part, extent = {"row": (along_m, n), "column": (along_n, m)}.get(output.kind, (both, 1))
        parts = region(self.description, workspace, problem, slices, parts_name(output.name), self.compute)
        offset = (cutlass.Int64(part) * batches + batch) * extent
        return cute.make_tensor(parts.iterator + offset, cute.make_layout((extent,)))


class _Pieces:
    """One thread's part of one tile."""

    def __init__(self, fused: FusedEpilogue, sums, access: Access, problem, batch, operands, early, takers):
        self.fused, self.epilogue = fused, fused.epilogue
        self.sums, self.access, self.patch = sums, access, access.patch
        self.early, self.takers = early, takers
        self.operands = {
            operand.name: fused.of_batch(operand, argument, problem, batch)
            for operand, argument in zip(self.epilogue.operands, operands, strict=True)
            if operand.name not in early and operand.name not in takers
        }
        self.groups = self.patch.groups(GROUP)
        self.reductions = {
            output.name: WarpReduction(output, self.epilogue, access, fused.lanes)
            for output in self.epilogue.outputs
            if output.reduction != "none"
        }

    def run(self) -> None:
        """Compute and store every piece."""
        uniform = self._uniform()
        of_rows = {row: uniform | self._column_values(uniform, row) for row in self.patch.rows}
        pieces = [(columns, row) for columns in self.groups for row in self.patch.rows]
        at_once = self._pieces_ahead() + 1
        coming: deque[dict[str, cute.Tensor]] = deque()
        of_columns = {}
        for number, (columns, row) in enumerate(pieces):
            for following in pieces[number + len(coming) : number + at_once]:
                coming.append(self._loaded(*following))
            loaded = coming.popleft()
            if row == self.patch.rows[0]:
                of_columns = uniform | self._values(loaded, "row")
                run(self.epilogue, self.fused.steps["row"], of_columns)
            values = of_columns | of_rows[row] | self._values(loaded, "full")
            sums = _elements(self.sums, self._indices(columns, row))
            values[ACCUM] = to_compute(sums.load(), self.epilogue)
            run(self.epilogue, self.fused.steps["full"], values)
            for output in self.epilogue.outputs:
                if output.reduction == "none":
                    self._store(output, values[output.value], columns, row)
                else:
                    self.reductions[output.name].take(values[output.value], columns, row)

    def _pieces_ahead(self) -> int:
        """How many pieces are loaded before they are needed; without full operands, what the next columns need."""
        read = [each for each in self.epilogue.inputs if each.kind == "full"]
        of_piece = len(self.groups[0]) * sum(type_bits(each.dtype) for each in read) // 8
        return max(AHEAD // of_piece, 1) if of_piece else len(self.patch.rows)

    def _uniform(self) -> dict[str, cute.TensorSSA]:
        """Scalars, and what follows from them alone."""
        values = {}
        for operand in self.epilogue.inputs:
            if operand.kind == "scalar":
                number = self.operands[operand.name].to(self.fused.compute)
                values[operand.name] = cute.full((1,), number, self.fused.compute)
        run(self.epilogue, self.fused.steps["scalar"], values)
        return values

    def _column_values(self, uniform, row) -> dict[str, cute.TensorSSA]:
        """What is the same in all columns of a row."""
        values = dict(uniform)
        for operand in self.epilogue.inputs:
            if operand.kind == "column":
                if operand.name in self.early:
                    loaded = _elements(self.early[operand.name], [self.patch.rows.index(row)])
                else:
                    loaded = self.access.load(self.operands[operand.name], 1, self.patch.columns[:1], row)
                values[operand.name] = to_compute(loaded.load(), self.epilogue)
        run(self.epilogue, self.fused.steps["column"], values)
        return values

    def _loaded(self, columns, row) -> dict[str, cute.Tensor]:
        """The inputs that a piece needs, their loads issued; those along a row with the first row of the columns."""
        found = {}
        for operand in self.epilogue.inputs:
            if operand.kind == "full" or (operand.kind == "row" and row == self.patch.rows[0]):
                if operand.name in self.early:
                    indices = [self.patch.columns.index(column) for column in columns]
                    found[operand.name] = _elements(self.early[operand.name], indices)
                else:
                    tensor, place = self.operands[operand.name], self.access.any_row if operand.kind == "row" else row
                    found[operand.name] = self.access.load(tensor, self.fused.alignment(operand), columns, place)
        return found

    def _values(self, loaded: dict[str, cute.Tensor], kind: str) -> dict[str, cute.TensorSSA]:
        names = [operand.name for operand in self.epilogue.inputs if operand.kind == kind]
        return {name: to_compute(loaded[name].load(), self.epilogue) for name in names}

    def _indices(self, columns, row) -> list[int]:
        """Of a piece's elements in the tensor of sums."""
        return [self.patch.index[row, column] for column in columns]

    def _store(self, output: Output, value: cute.TensorSSA, columns, row) -> None:
        piece = cute.make_rmem_tensor((len(columns),), numeric(output.dtype))
        rounded = partial(converted, value, output.dtype, output.conversion)
        piece.store(called_from(output.place, self.epilogue.name, rounded))
        if output.name in self.takers:
            self.takers[output.name].take(piece, self._indices(columns, row))
        else:
            self.access.store(piece, self.operands[output.name], self.fused.alignment(output), columns, row)


def _elements(tensor: cute.Tensor, indices: Sequence[int]) -> cute.Tensor:
    """Some elements of a register tensor."""
    part = cute.make_rmem_tensor((len(indices),), tensor.element_type)
    for i, index in enumerate(indices):
        part[i] = tensor[index]
    return part
