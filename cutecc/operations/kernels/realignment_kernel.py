# pyright: basic
"""The copy of an operand to rows that TMA can read, in CuTe."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import realignment
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.workspace import ceil_div


class Realignment:
    """Copies the operand `a` or `b` of a description."""

    def __init__(self, description: GemmDescription, name: str):
        self.description, self.name = description, name
        self.operand = description.a if name == "a" else description.b
        self.dtype, self.vector = numeric(self.operand.dtype), realignment.vector(self.operand)

    def launch(self, problem, source, place, stream) -> cute.Tensor:
        """Copy `source`, (rows, K, L), to the memory at `place`; returns the copy as a tensor of the same modes."""
        m, n, k, batches = problem
        contiguous, other = realignment.extents(self.description, self.name, m, n, k)
        row = cute.assume(cutlass.Int64(realignment.row_elements(self.operand, contiguous)), divby=self.vector)
        order = [1, 0, 2] if realignment.is_k_major(self.description, self.name) else [0, 1, 2]
        from_ = cute.make_tensor(source.iterator, cute.select(source.layout, mode=order))
        to = cute.make_tensor(place, cute.make_layout((contiguous, other, batches), stride=(1, row, other * row)))
        vectors = ceil_div(contiguous, self.vector)
        self.kernel(from_, to, vectors).launch(
            grid=(ceil_div(vectors * other * batches, realignment.THREADS), 1, 1),
            block=(realignment.THREADS, 1, 1),
            stream=stream,
            use_pdl=True,
        )
        return cute.make_tensor(place, cute.select(to.layout, mode=order))

    @cute.kernel
    def kernel(self, source, target, vectors):
        """A vector of 16 bytes a thread, of `vectors` in each row; what lies behind the row's end is zeros."""
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()
        contiguous, other, batches = source.shape
        index = block * realignment.THREADS + thread
        row = index // vectors
        if row < other * batches:
            first = index % vectors * self.vector
            piece = cute.make_rmem_tensor((self.vector,), self.dtype)
            piece.fill(0)
            for i in cutlass.range_constexpr(self.vector):
                if first + i < contiguous:
                    piece[i] = source[first + i, row % other, row // other]
            whole = cute.make_tensor(
                target.iterator + (row // other) * target.stride[2] + (row % other) * target.stride[1] + first,
                cute.make_layout((self.vector,)),
            )
            cute.autovec_copy(piece, whole)
