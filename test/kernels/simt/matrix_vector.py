"""Matrix times vector, eight rows a thread, 64 columns of them and of the vector in registers.

Exercises a fragment of 512 elements of half a register each.
"""

# cutecc: entry = "matrix_vector"
# cutecc: target = "sm_80"
# cutecc: args.a = "f16[?M{div=1024}=1024, ?K{div=64}=128] align=16"
# cutecc: args.x = "f16[?K] align=16"
# cutecc: args.y = "f32[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-3

import cutlass
from cutlass import cute

ROWS, DEPTH, THREADS = 8, 64, 128


@cute.kernel
def product_kernel(a: cute.Tensor, x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * THREADS + thread
    sums = cute.make_rmem_tensor((ROWS,), cutlass.Float32)
    sums.fill(0.0)
    of_a = cute.make_rmem_tensor(cute.make_layout((ROWS, DEPTH), stride=(DEPTH, 1)), cutlass.Float16)
    of_x = cute.make_rmem_tensor((DEPTH,), cutlass.Float16)
    for k in range(a.shape[1] // DEPTH):
        cute.autovec_copy(cute.local_tile(a, (ROWS, DEPTH), (first, k)), of_a)
        cute.autovec_copy(cute.local_tile(x, (DEPTH,), (k,)), of_x)
        for row in range(ROWS):
            for i in range(DEPTH):
                sums[row] += cutlass.Float32(of_a[row, i]) * cutlass.Float32(of_x[i])
    for row in range(ROWS):
        y[first * ROWS + row] = sums[row]


@cute.jit
def matrix_vector(a: cute.Tensor, x: cute.Tensor, y: cute.Tensor):
    """y = a @ x for an (M, K) tensor, summed in f32."""
    product_kernel(a, x, y).launch(grid=[a.shape[0] // (ROWS * THREADS), 1, 1], block=[THREADS, 1, 1])


def reference(a, x, y):
    """The expected `y`."""
    return a.astype("float32") @ x.astype("float32")
