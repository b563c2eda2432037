"""A producer commits stages of a pipeline that it has not acquired, and laps its consumer by whole rounds."""

# cutecc: entry = "producer_never_acquires"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[6, 32]"
# cutecc: args.y = "f32[6, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute, pipeline

STAGES = 2


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = cute.arch.lane_idx()
    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 2 * STAGES)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((STAGES, 32), stride=(32, 1)), 128)
    warp_of_threads = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    stages = pipeline.PipelineAsync.create(
        num_stages=STAGES, producer_group=warp_of_threads, consumer_group=warp_of_threads, barrier_storage=barriers
    )
    if warp == 0:
        filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for row in cutlass.range(x.shape[0], unroll=1):
            if cutlass.const_expr(not bug):
                stages.producer_acquire(filling)
            tiles[filling.index, lane] = x[row, lane]  # also: race
            stages.producer_commit(filling)  # mend: "have them wait until the others are done with the phase"
            filling.advance()
    else:
        emptying = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        for row in cutlass.range(x.shape[0], unroll=1):
            stages.consumer_wait(emptying)  # bug: deadlock
            y[row, lane] = tiles[emptying.index, 31 - lane]  # also: race
            stages.consumer_release(emptying)
            emptying.advance()


@cute.jit
def producer_never_acquires(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
