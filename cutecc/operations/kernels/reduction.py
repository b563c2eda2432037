"""The kernels that run after a GEMM: one adds up the slices of parallel split K, one finishes reductions. Needs no DSL.

| kernel | block | grid | work |
|---|---|---|---|
| summation | 128 threads | a block for each 32×64 of D | adds up the slices in their order, then runs the epilogue |
| finish of `row`, `column` | 256 threads | 256 results a block, batches along Y | a thread adds up the parts of one |
| finish of `scalar` | 256 threads | a block for each batch | adds up all parts: a thread's own, then a tree |

None of them needs shared memory but the last, 8 numbers. All add in the same order in every run.
"""

from __future__ import annotations

from cutecc.operations.kernels.workspace import SUMMING_CUT

WARP = 32
SUMMATION_THREADS = SUMMING_CUT.warps[0] * SUMMING_CUT.warps[1] * WARP
FINISH_THREADS = 256
