"""Kernels that measure their own barriers: what `tools/bench_timeline.py` compares recorded spans with.

Each warp of a block spins for a multiple of `SKEW` cycles, arrives, and waits. It writes the clock right before and
right behind the wait, read by instructions of its own, into `measured[block, turn, warp, 0 or 1]`, and at its start and
end the clock and nanoseconds into `rates[block, warp, 0 or 1, 0 or 1]`.
"""

# cutecc: target = "sm_90a"
# cutecc: args.measured = "i64[132, 8, 8, 2]"
# cutecc: args.rates = "i64[132, 8, 2, 2]"

import cutlass
from cutlass import cute

WARPS, TURNS, BLOCKS = 8, 8, 132
SKEW = 1500  # cycles: the slowest is 10,500 behind the first


@cute.jit
def spin(cycles: cutlass.Int32):
    """Wait for so many cycles, as the clock has them."""
    start = cute.arch.clock()
    while cute.arch.clock() - start < cycles:
        pass


@cute.jit
def note(measured: cute.Tensor, turn: cutlass.Int32, after: cutlass.Constexpr):
    """Write the clock, one lane for its warp."""
    block, _, _ = cute.arch.block_idx()
    if cute.arch.lane_idx() == 0:
        measured[block, turn, cute.arch.warp_idx(), after] = cutlass.Int64(cute.arch.clock())


@cute.jit
def note_rate(rates: cute.Tensor, after: cutlass.Constexpr):
    """Write the clock and the time, one lane for its warp."""
    block, _, _ = cute.arch.block_idx()
    if cute.arch.lane_idx() == 0:
        rates[block, cute.arch.warp_idx(), after, 0] = cutlass.Int64(cute.arch.clock())
        rates[block, cute.arch.warp_idx(), after, 1] = cutlass.Int64(cute.arch.globaltimer())


class _Measured:
    """A kernel whose warps meet `TURNS` times."""

    cluster = 1

    @cute.jit
    def begin(self, barriers: cute.Pointer):
        pass

    @cute.jit
    def arrive(self, barriers: cute.Pointer):
        pass

    @cute.jit
    def wait(self, barriers: cute.Pointer, turn: cutlass.Int32):
        cute.arch.sync_threads()

    @cute.kernel
    def kernel(self, measured: cute.Tensor, rates: cute.Tensor):
        barriers = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 2)
        self.begin(barriers)
        warp = cute.arch.warp_idx()
        note_rate(rates, 0)
        for turn in range(TURNS):
            # Who is last changes from turn to turn.
            spin(((warp + turn) % WARPS) * SKEW)
            self.arrive(barriers)
            note(measured, turn, 0)
            self.wait(barriers, turn)
            # What a barrier orders is memory: the clock is read behind a load of it.
            cute.arch.sync_warp()
            note(measured, turn, 1)
        note_rate(rates, 1)

    @cute.jit
    def __call__(self, measured: cute.Tensor, rates: cute.Tensor):
        self.kernel(measured, rates).launch(grid=[BLOCKS, 1, 1], block=[32 * WARPS, 1, 1], cluster=[self.cluster, 1, 1])


class Threads(_Measured):
    """By `sync_threads`."""


class Named(_Measured):
    """By a named barrier of half of the warps, each half its own."""

    @cute.jit
    def wait(self, barriers: cute.Pointer, turn: cutlass.Int32):
        cute.arch.barrier(barrier_id=1 + cute.arch.warp_idx() // 4, number_of_threads=128)


class Mbarrier(_Measured):
    """By an mbarrier at which each warp arrives once."""

    @cute.jit
    def begin(self, barriers: cute.Pointer):
        if cute.arch.thread_idx()[0] == 0:
            cute.arch.mbarrier_init(barriers, WARPS)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()

    @cute.jit
    def arrive(self, barriers: cute.Pointer):
        if cute.arch.lane_idx() == 0:
            cute.arch.mbarrier_arrive(barriers)

    @cute.jit
    def wait(self, barriers: cute.Pointer, turn: cutlass.Int32):
        cute.arch.mbarrier_wait(barriers, turn % 2)


class Cluster(_Measured):
    """By the barrier of a cluster of two blocks."""

    cluster = 2

    @cute.jit
    def arrive(self, barriers: cute.Pointer):
        cute.arch.cluster_arrive()

    @cute.jit
    def wait(self, barriers: cute.Pointer, turn: cutlass.Int32):
        cute.arch.cluster_wait()


class Both(Mbarrier):
    """By an mbarrier, then by all threads, which are there at once."""

    @cute.jit
    def wait(self, barriers: cute.Pointer, turn: cutlass.Int32):
        cute.arch.mbarrier_wait(barriers, turn % 2)
        cute.arch.sync_threads()
