# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The matrices and vectors of one group, however they were passed: packed, one behind the other, or as addresses."""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.kernels import problem as matrices
from cutecc.operations.kernels.fused_epilogue import FusedEpilogue
from cutecc.operations.kernels.grouped.groups import Problem, Span
from cutecc.operations.kernels.grouped.parts import Slots
from cutecc.operations.kernels.grouped.signature import is_packed
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.signature import full_operand
from cutecc.operations.kernels.workspace import ceil_div
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand, type_bits


def matrix(
    description: GroupedDescription,
    argument,
    operand: Operand,
    extents: str,
    rows,
    columns,
    group,
    rows_contiguous: bool,
) -> cute.Tensor:
    """The matrix of a group in global memory, of `extents` such as `MK`; where it is packed, those of all groups."""
    if description.packing == "list":
        addresses, leading = argument
        argument = (addresses, leading[group])
    elif is_packed(description, extents):
        return argument
    return matrices.matrix(argument, operand, rows, columns, group, rows_contiguous=rows_contiguous)


def vector(description: GroupedDescription, operand: Input | Output, argument, group) -> cute.Pointer:
    """Where the row or column of a group begins in global memory; where they are packed, that of all groups."""
    if description.packing == "list":
        aligned = min(operand.alignment * type_bits(operand.dtype) // 8, WIDEST_ALIGNMENT)
        return cute.make_ptr(numeric(operand.dtype), argument[group], cute.AddressSpace.gmem, assumed_align=aligned)
    if is_packed(description, "N" if operand.kind == "row" else "M"):
        return argument.iterator
    return argument[None, group].iterator


def scales_of(description: GroupedDescription, problem: Problem, group, span: Span) -> tuple[cute.Tensor, cute.Tensor]:
    """The scales of a group in global memory: of A (M, K / 128), packed rows of all groups, of B (N / 128, K / 128), of
    `depth` (N, K / 128)."""
    of_a, of_b = problem.scales
    if description.packing == "rows":
        return of_a, of_b[None, None, group]
    if description.packing == "depth":
        begin = (0, span.begin[2] // SCALE_BLOCK)
        return cute.domain_offset(begin, of_a), cute.domain_offset(begin, of_b)
    m, n, k = (span.size(axis) for axis in range(3))
    blocks = ceil_div(k, SCALE_BLOCK)
    shapes = (m, blocks), (ceil_div(n, SCALE_BLOCK), blocks)
    found = []
    for (addresses, steps), shape in zip((of_a, of_b), shapes, strict=True):
        pointer = cute.make_ptr(cutlass.Float32, addresses[group], cute.AddressSpace.gmem, assumed_align=4)
        found.append(cute.make_tensor(pointer, cute.make_layout(shape, stride=(steps[group, 0], steps[group, 1]))))
    return found[0], found[1]


class GroupedEpilogue(FusedEpilogue):
    """The epilogue of the products of groups; the batch of an operand is its group."""

    def __init__(self, description: GroupedDescription):
        super().__init__(description.gemm)
        self.grouped, self.slots = description, Slots(description)

    def of_batch(self, operand: Input | Output, argument, problem, batch) -> Any:
        m, n = problem[0], problem[1]
        if full := full_operand(self.description, operand):
            return matrix(self.grouped, argument, full, "MN", m, n, batch, full.layout == "row")
        if isinstance(operand, Output):
            return None  # a reduction, of which the workspace gets a part
        if operand.kind == "scalar":
            return argument[batch] if operand.in_memory else argument
        stride = (0, 1) if operand.kind == "row" else (1, 0)
        return cute.make_tensor(vector(self.grouped, operand, argument, batch), cute.make_layout((m, n), stride=stride))

    def part(self, output: Output, problem, batch, workspace, slices, tile, warp) -> cute.Tensor:
        own, begin = self.slots.parts[output.name], problem.begin
        first = self.slots.place(workspace, problem.slots, tile, output.name)
        match output.kind:
            case "row":
                along, origin = warp[0], begin[1] + tile[1] * own.results
            case "column":
                along, origin = warp[1], begin[0] + tile[0] * own.results
            case _:
                along, origin = warp[0] * self.cut.warps[1] + warp[1], 0
        # A thread counts its rows and columns from the first of D.
        return cute.make_tensor(first + (along * own.results - origin), cute.make_layout((own.results,)))

    def alignment(self, operand: Input | Output) -> int:
        # Packed along N, groups begin anywhere in a row.
        is_anywhere = operand.kind != "column" and is_packed(self.grouped, "N")
        return 1 if is_anywhere else super().alignment(operand)
