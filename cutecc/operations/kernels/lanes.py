# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""How the threads of a block lie over a tile where each multiplies and adds for itself."""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import MmaUniversalOp

from cutecc.operations.kernels.simt import WARP_LANES


def make_tiled_mma(
    accumulator: type[cutlass.Numeric], warps: tuple[int, int], vector: tuple[int, int]
) -> cute.TiledMma:
    """Threads as warps × lanes along M and N, each with `vector` consecutive elements along M and N at a time.

    The tile is covered as often as it takes, so that lanes next to each other read vectors next to each other.
    """
    (along_m, along_n), (lanes_m, lanes_n) = warps, WARP_LANES
    threads = cute.make_layout(
        ((lanes_m, along_m), (lanes_n, along_n), 1), stride=((lanes_n, 32), (1, 32 * along_m), 0)
    )
    order = [
        cute.make_layout((lanes * count, each), stride=(each, 1))
        for lanes, count, each in zip(WARP_LANES, warps, vector, strict=True)
    ]
    return cute.make_tiled_mma(MmaUniversalOp(accumulator), threads, permutation_mnk=(*order, 1))


def warp_place(thread, warps: tuple[int, int]):
    """The (m, n) of a thread's warp among the warps of its block."""
    warp = cute.arch.make_warp_uniform(thread // 32)
    return warp % warps[0], warp // warps[0]
