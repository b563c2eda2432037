# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""A thread's accesses to matrices in global memory, a piece of a row at a time: wide, and guarded at the edges."""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.patch import Patch, strided


class Access:
    """What a thread reads and writes of M×N matrices that are all partitioned like its elements of D.

    Pieces are named by their columns and row in the thread's patch. A matrix is a tensor (M, N), of which a mode with
    stride 0 is a broadcast, or (M, (32, N / 32)), or ((32, M / 32), N). `alignment` counts elements that addresses
    along a row are multiples of; N is such a multiple too, or a row has room up to the next one.
    """

    def __init__(self, coordinates: cute.Tensor, m, n, rows=None):
        """`coordinates` are the (m, n) of the elements that the thread holds.

        Where rows are not in the order of m, `rows` gives of an m the row of the matrices, and whether there is it.
        """
        self.patch = Patch.of(coordinates)
        self.first_m, self.first_n = coordinates[0]
        self.m, self.n = m, n
        self.given = None if rows is None else {row: rows(self.first_m + row) for row in self.patch.rows}
        self.any_row = self.patch.rows[0]
        """For what is the same in every row: outside of D all others are too, unless rows are given."""
        if self.given is not None:
            self.any_row = None
            self.given[None] = (0, True)

    def row(self, row: int) -> tuple[Any, Any]:
        """Which row of the matrices one of the thread's is, and whether there is it."""
        if self.given is not None:
            return self.given[row]
        return self.first_m + row, self.first_m + row < self.m

    def load(self, tensor: cute.Tensor, alignment: int, columns, row) -> cute.Tensor:
        """The elements of a piece in registers, zeros for those outside."""
        dtype = tensor.element_type
        piece = cute.make_rmem_tensor((len(columns),), dtype)
        # The DSL makes no constants of 8-bit floats.
        (cute.recast_tensor(piece, cutlass.Uint8) if dtype.width == 8 else piece).fill(0)
        for own, places, width in self._vectors(tensor, piece, alignment, columns):
            source = self._in_memory(tensor, width, places, row)
            cute.copy(vector_copy(dtype, width), source, own, pred=self.inside(places[::width], row))
        return piece

    def store(self, piece: cute.Tensor, tensor: cute.Tensor, alignment: int, columns, row) -> None:
        """Write the elements of a piece that lie inside."""
        for own, places, width in self._vectors(tensor, piece, alignment, columns):
            target = self._in_memory(tensor, width, places, row)
            cute.copy(vector_copy(tensor.element_type, width), own, target, pred=self.inside(places[::width], row))

    def inside(self, columns, row) -> cute.Tensor:
        """Whether the elements at `columns` of a row are elements of D: a predicate (1, columns)."""
        inside = cute.make_rmem_tensor((1, len(columns)), cutlass.Boolean)
        _, row_inside = self.row(row)
        for i, column in enumerate(columns):
            inside[0, i] = row_inside & (self.first_n + column < self.n)
        return inside

    def _vectors(self, tensor, piece, alignment: int, columns):
        """(registers, columns, width) of the parts of a piece that one layout describes, in vectors of `width`."""
        width = self.patch.width(tensor.element_type, alignment)
        step = len(columns)
        if isinstance(tensor.shape[1], tuple) or strided(columns[::width]) is None:
            step = width
        for first in range(0, len(columns), step):
            own = cute.make_tensor(piece.iterator + first, cute.make_layout(((width, 1), step // width)))
            yield own, columns[first : first + step], width

    def _in_memory(self, tensor, width: int, columns, row) -> cute.Tensor:
        """The elements at some columns of a row in global memory, ((width, 1), vectors) as `cute.copy` wants them."""
        place = (self.row(row)[0], self.first_n + columns[0])
        pointer = tensor.iterator + cute.crd2idx(place, tensor.layout)
        if width > 1:
            pointer = pointer.align(width * tensor.element_type.width // 8)
        step = 1 if isinstance(tensor.shape[1], tuple) else tensor.stride[1]
        shape, stride = strided(columns[::width])
        vectors = (shape, tuple(each * step for each in stride)) if shape else (1, 0)
        return cute.make_tensor(pointer, cute.make_layout(((width, 1), vectors[0]), stride=((step, 0), vectors[1])))


def vector_copy(dtype: type[cutlass.Numeric], width: int) -> cute.CopyAtom:
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=width * dtype.width)
