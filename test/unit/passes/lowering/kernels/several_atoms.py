"""Copies and products of more values than the atom has: a copy without a width, calls of several atoms.

`Several(kind)` is what is launched: y = x, in the way of a kind; of a product, y = x * x + x.
"""

# cutecc: entry = "Several('copy')"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[256, 32] align=16"
# cutecc: args.y = "f32[256, 32] align=16"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS, ROW, VALUES = 256, 32, 8


class Several:
    """Every thread has a row, by pieces of 8 elements."""

    def __init__(self, kind: str):
        self.kind = kind

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        kind = self.kind
        thread, _, _ = cute.arch.thread_idx()
        source = cute.logical_divide(x[thread, None], cute.make_layout(VALUES))
        target = cute.logical_divide(y[thread, None], cute.make_layout(VALUES))
        some = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
        pair = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64)
        held = cute.make_rmem_tensor_like(source)
        every = cute.make_rmem_tensor((VALUES,), cutlass.Boolean)
        for i in cutlass.range_constexpr(VALUES):
            every[i] = thread >= 0
        if cutlass.const_expr(kind == "whole rows in shared memory"):
            staged = cutlass.utils.SmemAllocator().allocate_tensor(
                cutlass.Float32, cute.make_layout((THREADS, ROW), stride=(ROW, 1)), 16
            )
            cute.copy(some, x[thread, None], staged[thread, None])
            cute.copy(some, staged[thread, None], y[thread, None])
        for piece in cutlass.range_constexpr(0 if kind.startswith("whole rows") else cute.size(source, mode=[1])):
            part, kept, to = source[None, piece], held[None, piece], target[None, piece]
            if cutlass.const_expr(kind == "copy"):
                cute.copy(some, part, kept)
                cute.copy(some, kept, to)
            elif cutlass.const_expr(kind == "call"):
                cute.copy_atom_call(some, part, kept)
                cute.copy_atom_call(some, kept, to)
            elif cutlass.const_expr(kind == "call of pairs"):
                cute.copy_atom_call(pair, part, kept)
                cute.copy_atom_call(pair, kept, to)
            elif cutlass.const_expr(kind == "predicated call"):
                cute.copy_atom_call(some, part, kept, pred=every)
                cute.copy_atom_call(some, kept, to, pred=every)
            elif cutlass.const_expr(kind == "shared memory"):
                staged = cutlass.utils.SmemAllocator().allocate_tensor(
                    cutlass.Float32, cute.make_layout((THREADS, VALUES), stride=(VALUES, 1)), 16
                )
                cute.copy(some, part, staged[thread, None])
                cute.copy(some, staged[thread, None], to)
            else:
                fma = cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(cutlass.Float32))
                cute.copy(some, part, kept)
                sums = cute.make_rmem_tensor_like(kept)
                cute.copy(some, kept, sums)
                if cutlass.const_expr(kind == "gemm"):
                    cute.gemm(fma, sums, kept, kept, sums)
                else:
                    cute.mma_atom_call(fma, sums, kept, kept, sums)
                cute.copy(some, sums, to)

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def copied(x):
    """The expected `y` of a copy."""
    return x


def product(x):
    """The expected `y` of a product: rounded once."""
    return (x.astype("float64") * x + x).astype("float32")
