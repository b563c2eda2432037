"""Two blocks of four warps that meet at a barrier and at an mbarrier, three times; `room` is for what they record."""

# cutecc: target = "sm_90a"
# cutecc: args.turns = "i32[8]"
# cutecc: args.room = "i64[8192] align=16"

import cutlass
from cutlass import cute


@cute.kernel
def meeting_kernel(turns: cute.Tensor, room: cute.Tensor):
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.mbarrier_init(barrier, 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for turn in range(3):
        if cute.arch.lane_idx() == 0:
            cute.arch.mbarrier_arrive(barrier)
        cute.arch.mbarrier_wait(barrier, turn % 2)
        cute.arch.barrier(barrier_id=2, number_of_threads=128)
    if cute.arch.lane_idx() == 0:
        turns[4 * cute.arch.block_idx()[0] + cute.arch.warp_idx()] = cutlass.Int32(3)


@cute.jit
def meeting(turns: cute.Tensor, room: cute.Tensor):
    meeting_kernel(turns, room).launch(grid=[2, 1, 1], block=[128, 1, 1])
