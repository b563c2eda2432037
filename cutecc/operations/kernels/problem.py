# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The matrices of one batch, however they were passed: strided, interleaved, or as addresses."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand


def matrix(argument, operand: Operand, rows, columns, batch, *, rows_contiguous: bool) -> cute.Tensor:
    """The matrix of `batch` in global memory: (rows, columns).

    Of an interleaved one (rows, (32, columns / 32)) where elements are contiguous along rows, else ((32, rows / 32),
    columns).

    `argument` is what `signature.specs` says of `operand`: a tensor, or the addresses and the leading dimension.
    """
    if isinstance(argument, tuple):
        return _of_address(*argument, operand, rows, columns, batch, rows_contiguous)
    if operand.is_interleaved:
        first = 1 if rows_contiguous else 0
        return cute.group_modes(argument[None, None, None, batch], first, first + 2)
    return argument[None, None, batch]


def _of_address(addresses, leading, operand: Operand, rows, columns, batch, rows_contiguous: bool) -> cute.Tensor:
    aligned = min(operand.alignment_bytes, WIDEST_ALIGNMENT)
    pointer = cute.make_ptr(numeric(operand.dtype), addresses[batch], cute.AddressSpace.gmem, assumed_align=aligned)
    if operand.is_interleaved:
        others, grouped = (rows, columns) if rows_contiguous else (columns, rows)
        together = (INTERLEAVED, grouped // INTERLEAVED)
        steps = (1, cute.assume(cutlass.Int64(others) * INTERLEAVED, divby=INTERLEAVED))
        shape, stride = (others, together), (INTERLEAVED, steps)
        if not rows_contiguous:
            shape, stride = shape[::-1], stride[::-1]
        return cute.make_tensor(pointer, cute.make_layout(shape, stride=stride))
    leading = cute.assume(leading, divby=operand.alignment)
    stride = (leading, 1) if rows_contiguous else (1, leading)
    return cute.make_tensor(pointer, cute.make_layout((rows, columns), stride=stride))
