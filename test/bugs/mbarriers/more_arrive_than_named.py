"""All threads release a stage whose mbarrier was initialised for one arrival of each warp."""

# cutecc: entry = "more_arrive_than_named"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[256]"
# cutecc: args.y = "f32[256]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

WIDTH, ROUNDS = 64, 4


@cute.kernel
def hand_on_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    stage = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(WIDTH))
    full = allocator.allocate_array(cutlass.Int64, 1)
    empty = allocator.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(full, WIDTH)
        cute.arch.mbarrier_init(empty, 2 if bug else WIDTH)
    cute.arch.sync_threads()
    for turn in cutlass.range(ROUNDS):
        if thread < WIDTH:
            cute.arch.mbarrier_wait(empty, (turn & 1) ^ 1)
            stage[thread] = x[turn * WIDTH + thread]
            cute.arch.mbarrier_arrive(full)
        else:
            cute.arch.mbarrier_wait(full, turn & 1)
            y[turn * WIDTH + thread - WIDTH] = stage[2 * WIDTH - 1 - thread]
            cute.arch.mbarrier_arrive(empty)  # bug: deadlock, mend: "mbarrier_init names all that arrive in a phase"


@cute.jit
def more_arrive_than_named(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x, each stretch of 64 backwards."""
    hand_on_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[2 * WIDTH, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(ROUNDS, WIDTH)[:, ::-1].reshape(-1)
