"""Look up rows of a table by indices from memory, of which nobody checks that the table has them."""

# cutecc: entry = "unchecked_lookup"
# cutecc: target = "sm_80"
# cutecc: args.table = "f32[64]"
# cutecc: args.indices = "i32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def lookup_kernel(table: cute.Tensor, indices: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    index = indices[thread] & 127
    if cutlass.const_expr(not bug):
        index = index % cute.size(table)
    y[thread] = table[index]  # bug: out-of-bounds


@cute.jit
def unchecked_lookup(table: cute.Tensor, indices: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = table[indices % 64]."""
    lookup_kernel(table, indices, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(table, indices, y):
    """The expected `y`."""
    return table[indices & 63]
