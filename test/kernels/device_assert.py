"""Look up values by index and assert on the device that every index is inside the table.

Exercises `cute.testing.assert_`, which traps when assertions are enabled and vanishes otherwise.
"""

# cutecc: entry = "device_assert"
# cutecc: target = "sm_80"
# cutecc: args.table = "f32[?T=64]"
# cutecc: args.indices = "i32[?N=1000]"
# cutecc: args.out = "f32[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "N * (4 + 4) + T * 4"

from cutlass import cute

THREADS = 128


@cute.kernel
def lookup_kernel(table: cute.Tensor, indices: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(out):
        # The sign bit goes first, so that the remainder cannot be negative.
        index = (indices[i] & 0x7FFFFFFF) % cute.size(table)
        cute.testing.assert_(index < cute.size(table), "index beyond the table")
        out[i] = table[index]


@cute.jit
def device_assert(table: cute.Tensor, indices: cute.Tensor, out: cute.Tensor):
    """out[i] = table[indices[i] modulo its size]."""
    cute.testing.assert_(cute.size(table) > 0, "the table is empty")
    lookup_kernel(table, indices, out).launch(
        grid=[cute.ceil_div(cute.size(out), THREADS), 1, 1], block=[THREADS, 1, 1]
    )


def reference(table, indices, out):
    """The expected `out`."""
    return table[(indices & 0x7FFFFFFF) % table.shape[0]]
