# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""How D leaves a Hopper kernel where its rows are at no one distance: boxes are gathered, and stored row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.access import vector_copy
from cutecc.operations.kernels.outgoing_boxes import OutgoingBoxes
from cutecc.operations.operand import WIDEST_ALIGNMENT


class OutgoingRows(OutgoingBoxes):
    """Boxes that threads store in vectors of 16 bytes, neighbours along a row by neighbouring threads."""

    def to_rows(self, matrix: cute.Tensor, rows: Callable[[Any], tuple[Any, Any]], n) -> OutgoingRows:
        """These, to the `rows` of a matrix with `n` columns: of an m, which row it is, and whether there is it."""
        self.matrix, self.rows, self.n = matrix, rows, n
        return self

    @cute.jit
    def send(self, buffer, at):
        width = WIDEST_ALIGNMENT * 8 // self.dtype.width
        across = self.box[1] // width
        rows = sm90.WARPGROUP // across
        vectors = cute.logical_divide(self.staged, (None, width, None))
        vector = self.thread % across
        column = at[1] * self.box[1] + vector * width
        for i in cutlass.range_constexpr(self.box[0] // rows):
            row = i * rows + self.thread // across
            piece = cute.make_rmem_tensor((width,), self.dtype)
            cute.autovec_copy(vectors[row, (None, vector), buffer], piece)
            place, is_inside = self.rows(at[0] * self.box[0] + row)
            inside = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
            inside[0] = is_inside & (column < self.n)
            pointer = self.matrix.iterator + cute.crd2idx((place, column), self.matrix.layout)
            layout = cute.make_layout(((width, 1), 1))
            target = cute.make_tensor(pointer.align(WIDEST_ALIGNMENT), layout)
            cute.copy(vector_copy(self.dtype, width), cute.make_tensor(piece.iterator, layout), target, pred=inside)
