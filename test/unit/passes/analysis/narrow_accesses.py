"""Copies, loads and stores that are narrower than they could be, each for one reason, and some that are not."""

# cutecc: entry = "narrow_accesses"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f32[?M=128, ?N{div=4}=256] align=16"
# cutecc: args.b = "f32[?M, ?N{div=4}] align=16"
# cutecc: args.c = "f32[?K=256] align=8"
# cutecc: args.d = "f32[?M, ?L=255] align=16"
# cutecc: args.h = "f16[?M, ?P{div=8}=256] align=16"

import cutlass
from cutlass import cute


def mine(x: cute.Tensor, count: int) -> cute.Tensor:
    """This thread's part of a row."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return cute.coalesce(cute.local_tile(cute.local_tile(x, (1, 32 * count), (block, 0)), (1, count), (0, thread)))


@cute.kernel
def atoms_kernel(a: cute.Tensor, b: cute.Tensor):
    """The atom decides."""
    x, y = mine(a, 4), mine(b, 4)
    values = cute.make_fragment_like(x)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), x, values)
    pairs = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64)
    cute.copy(pairs, values, y)


@cute.kernel
def basic_kernel(a: cute.Tensor, b: cute.Tensor):
    """Copies of single elements, and of a column."""
    thread, _, _ = cute.arch.thread_idx()
    values = cute.make_fragment_like(mine(a, 4))
    cute.basic_copy(mine(a, 4), values)
    column = cute.local_tile(b, (4, 1), (thread, 0))
    cute.basic_copy(values, cute.coalesce(column))


@cute.kernel
def predicates_kernel(h: cute.Tensor):
    """A predicate of each element."""
    thread, _, _ = cute.arch.thread_idx()
    x = mine(h, 8)
    values, inside = cute.make_fragment_like(x), cute.make_rmem_tensor((8,), cutlass.Boolean)
    for i in cutlass.range_constexpr(8):
        inside[i] = thread + i < 20
    values.fill(0)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16), x, values, pred=inside)
    cute.autovec_copy(values, x)


@cute.kernel
def alignment_kernel(c: cute.Tensor, d: cute.Tensor):
    """What is known of alignment decides."""
    thread, _, _ = cute.arch.thread_idx()
    x = cute.local_tile(c, (4,), (thread,))
    values = cute.make_fragment_like(x)
    cute.autovec_copy(x, values)
    for i in cutlass.range_constexpr(4):
        x[i] = values[i] + 1
    y = mine(d, 4)
    cute.autovec_copy(values, y)


@cute.kernel
def order_kernel(a: cute.Tensor, b: cute.Tensor):
    """Loads and stores in turn, then each after the other."""
    x, y = mine(a, 4), mine(b, 4)
    for i in cutlass.range_constexpr(4):
        y[i] = x[i] + 1
    total = x[0] * x[1] * x[2] * x[3]
    for i in cutlass.range_constexpr(4):
        x[i] = total + i


@cute.kernel
def padding_kernel(a: cute.Tensor, b: cute.Tensor):
    """Rows of shared memory that are five elements apart."""
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 4), stride=(5, 1)), 16)
    cute.autovec_copy(mine(a, 4), cute.coalesce(cute.local_tile(tile, (1, 4), (thread, 0))))
    cute.arch.sync_threads()
    b[thread] = tile[31 - thread, 0]


@cute.jit
def narrow_accesses(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor, h: cute.Tensor):
    """Launches them all."""
    for kernel in (atoms_kernel, basic_kernel, order_kernel, padding_kernel):
        kernel(a, b).launch(grid=[64, 1, 1], block=[32, 1, 1])
    predicates_kernel(h).launch(grid=[64, 1, 1], block=[32, 1, 1])
    alignment_kernel(c, d).launch(grid=[1, 1, 1], block=[32, 1, 1])
