"""Add a row vector to every row of a batch of matrices, in a kernel named without `cutlass` where the release can.

NVIDIA/cutlass #3389 (4.5.2) reports that ptxas allocates other registers where the name of a kernel contains `cutlass`,
as every name that the DSL makes did: 168 registers became 80 with 8 KB of spills, and the kernel 31 % slower.
4.6.3 and 4.7.0 have options of `set_name_prefix` that leave the word out, 4.6.0 has none. Up to the PTX the name is all
that differs; ptxas then needs 30 registers instead of 40, and reads the constant bank 3 times instead of 51.
"""

# cutecc: entry = "add_bias"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M=100, ?N=300, ?L=3] order=(1, 0, 2)"
# cutecc: args.bias = "f32[?N]"
# cutecc: args.y = "f32[?M, ?N, ?L] order=(1, 0, 2)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "(2 * M * N * L + N) * 4"

import inspect

import cutlass
from cutlass import cute
from cutlass.utils import PersistentTileSchedulerParams, StaticPersistentTileScheduler

TILE = (16, 64)
BLOCKS = 12
THREADS = 128


@cute.kernel
def bias_kernel(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor, params: PersistentTileSchedulerParams):
    thread, _, _ = cute.arch.thread_idx()
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    while work.is_valid_tile:
        tile_m, tile_n, batch = work.tile_idx
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            element = i * THREADS + thread
            m = tile_m * TILE[0] + element // TILE[1]
            n = tile_n * TILE[1] + element % TILE[1]
            if cute.elem_less((m, n), (x.shape[0], x.shape[1])):
                y[m, n, batch] = x[m, n, batch] + bias[n]
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


if "remove_cutlass_symbol" in inspect.signature(bias_kernel.set_name_prefix).parameters:
    bias_kernel.set_name_prefix("bias", remove_cutlass_symbol=True, keep_mangled_name=False)


@cute.jit
def add_bias(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor):
    """y[m, n, l] = x[m, n, l] + bias[n] for (M, N, L) tensors of contiguous N."""
    rows, columns, batches = x.shape
    tiles = (cute.ceil_div(rows, TILE[0]), cute.ceil_div(columns, TILE[1]), batches)
    params = PersistentTileSchedulerParams(tiles, (1, 1, 1))
    grid = StaticPersistentTileScheduler.get_grid_shape(params, BLOCKS)
    bias_kernel(x, bias, y, params).launch(grid=grid, block=[THREADS, 1, 1])


def reference(x, bias, y):
    """The expected `y`."""
    return x + bias[None, :, None]
