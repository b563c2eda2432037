"""Inclusive scan, ballot-based compaction rank, vote, and integer reduction within each warp.

Exercises `shfl.up`, `vote`, `match`, `redux`, lane masks and population counts.
"""

# cutecc: entry = "warp_ops"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[?N=1000]"
# cutecc: args.scan = "i32[?N]"
# cutecc: args.rank = "i32[?N]"
# cutecc: args.twins = "i32[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["scan", "rank", "twins"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "4 * N * 4"

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def warp_kernel(x: cute.Tensor, scan: cute.Tensor, rank: cute.Tensor, twins: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    i = block * THREADS + thread
    inside = i < cute.size(x)

    # Lanes beyond the end take part in every warp operation, with a neutral value.
    value = cutlass.Int32(0)
    if inside:
        value = x[i] & 255

    running = value
    for step in cutlass.range_constexpr(5):
        below = cute.arch.shuffle_sync_up(running, offset=1 << step, mask_and_clamp=0)
        if lane >= 1 << step:
            running += below

    odd = value % 2 == 1
    odd_lanes = cute.arch.vote_ballot_sync(odd)
    odd_below = cute.arch.popc(odd_lanes & cutlass.Int32(cute.arch.lanemask_lt()))
    if cute.arch.vote_all_sync(odd):
        odd_below = cutlass.Int32(-1)

    largest = cute.arch.warp_redux_sync(value, "max")
    same = cute.arch.popc(cutlass.Int32(cute.arch.match_sync(0xFFFFFFFF, value & 7)))

    if inside:
        scan[i] = running
        rank[i] = odd_below
        twins[i] = same + (largest << 8)


@cute.jit
def warp_ops(x: cute.Tensor, scan: cute.Tensor, rank: cute.Tensor, twins: cute.Tensor):
    """Per-warp results for vectors of N; a warp sees 32 neighbouring elements, reduced to their low byte."""
    warp_kernel(x, scan, rank, twins).launch(grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1])


def reference(x, scan, rank, twins):
    """The expected `scan`, `rank` and `twins`."""
    import numpy as np

    n = x.shape[0]
    v = np.zeros(-(-n // 32) * 32, dtype="int32")
    v[:n] = x & 255
    v = v.reshape(-1, 32)
    odd = v % 2
    below = np.where(odd.all(1)[:, None], -1, odd.cumsum(1) - odd)
    low = v & 7
    same = (low[:, :, None] == low[:, None, :]).sum(2)
    twin = same + (v.max(1)[:, None] << 8)
    return tuple(r.astype("int32").reshape(-1)[:n] for r in (v.cumsum(1), below, twin))
