"""Reverse each block's elements through static and dynamic shared memory, both asked for in the kernel itself."""

# cutecc: entry = "reverse"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N{div=128}=384] align=16"
# cutecc: args.y = "f32[?N{div=128}] align=16"
# cutecc: args.sizes = "i32[?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y", "sizes"]
# cutecc: tolerance = 0.0

import cutlass
import numpy
from cutlass import cute

THREADS = 128
STRIDE = 2  # elements: the launch asks for twice what the reversed elements take


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, sizes: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    index = block * THREADS + thread
    # Three bytes first: what is behind them is aligned anew.
    odd = cute.make_tensor(cute.arch.alloc_smem(cutlass.Int8, 3), cute.make_layout(3))
    fixed = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, THREADS, 16), cute.make_layout(THREADS))
    given = cute.make_tensor(cute.arch.get_dyn_smem(cutlass.Float32, 16), cute.make_layout(THREADS, stride=STRIDE))
    if thread < 3:
        odd[thread] = cutlass.Int8(thread - 1)
    fixed[thread] = x[index]
    cute.arch.sync_threads()
    given[thread] = fixed[THREADS - 1 - thread]
    cute.arch.sync_threads()
    y[index] = given[thread] * cutlass.Float32(odd[thread % 3])
    sizes[index] = cutlass.Int32(cute.arch.get_dyn_smem_size())


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor, sizes: cute.Tensor):
    reverse_kernel(x, y, sizes).launch(
        grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1], smem=STRIDE * THREADS * 4
    )


def reference(x, y, sizes):
    """The expected `y` and `sizes`."""
    factors = numpy.arange(THREADS) % 3 - 1
    reversed_ = x.reshape(-1, THREADS)[:, ::-1] * factors
    return reversed_.reshape(-1), numpy.full(x.shape, STRIDE * THREADS * 4)
