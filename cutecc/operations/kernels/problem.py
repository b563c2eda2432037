# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The matrices of one batch, however they were passed: strided, interleaved, or as addresses."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand


def matrix(argument, operand: Operand, rows, columns, batch, *, rows_contiguous: bool) -> cute.Tensor:
    """The matrix of `batch` in global memory: (rows, columns), of an interleaved one (rows, (32, columns / 32)).

    `argument` is what `signature.specs` says of `operand`: a tensor, or the addresses and the leading dimension.
    """
    if isinstance(argument, tuple):
        return _of_address(*argument, operand, rows, columns, batch, rows_contiguous)
    if operand.layout == "interleaved32":
        return cute.group_modes(argument[None, None, None, batch], 1, 3)
    return argument[None, None, batch]


def _of_address(addresses, leading, operand: Operand, rows, columns, batch, rows_contiguous: bool) -> cute.Tensor:
    aligned = min(operand.alignment_bytes, WIDEST_ALIGNMENT)
    pointer = cute.make_ptr(numeric(operand.dtype), addresses[batch], cute.AddressSpace.gmem, assumed_align=aligned)
    if operand.layout == "interleaved32":
        shape = (rows, (INTERLEAVED, columns // INTERLEAVED))
        group = cute.assume(cutlass.Int64(rows) * INTERLEAVED, divby=INTERLEAVED)
        return cute.make_tensor(pointer, cute.make_layout(shape, stride=(INTERLEAVED, (1, group))))
    leading = cute.assume(leading, divby=operand.alignment)
    stride = (leading, 1) if rows_contiguous else (1, leading)
    return cute.make_tensor(pointer, cute.make_layout((rows, columns), stride=stride))
