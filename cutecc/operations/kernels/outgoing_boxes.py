# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""How D leaves a Hopper kernel: box by box through shared memory, each written by TMA while the next is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, warp

from cutecc.operations.kernels import sm90

WARP = 32
OUT_BARRIER = 1
"""Named barriers from this one on: one for each computing warpgroup."""


class OutgoingBoxes:
    """A warpgroup's part of a tile of D, of which each thread gives its elements piece by piece.

    `boxes` are those of D as TMA takes them, with a `batch` unless that is `None`, `first` the (m, n) index of this
    part's first one, `across` how many lie side by side in it. A thread's sums are those of one box after the other,
    row after row of boxes, and in each as `box_mma`, a tiled MMA of a single box, has them.
    """

    def __init__(self, tma, boxes, staged, box_mma: cute.TiledMma, first, across: int, batch, thread, group):
        self.tma, self.staged, self.box_mma = tma, staged, box_mma
        self.first, self.across, self.batch = first, across, batch
        self.thread, self.group = thread, group
        self.box = tuple(cute.size(staged, mode=[mode]) for mode in (0, 1))
        self.dtype = staged.element_type
        if self.dtype.width == 16:
            atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
        else:
            atom = cute.make_copy_atom(CopyUniversalOp(), self.dtype, num_bits_per_copy=2 * self.dtype.width)
        self.gather = cute.make_tiled_copy_C(atom, box_mma)
        self.to_staged = self.gather.get_slice(thread).partition_D(staged)
        self.from_staged, self.to_d = cpasync.tma_partition(
            tma, 0, cute.make_layout(1), cute.group_modes(staged, 0, 2), cute.group_modes(boxes, 0, 2)
        )
        self.options: dict[str, Any] = {}
        """What the copies take besides."""
        self.gathered: dict[int, cute.Tensor] = {}
        self.missing: dict[int, int] = {}
        self.written = 0

    def take(self, piece: cute.Tensor, indices: Sequence[int]) -> None:
        """Write the boxes that are complete with this piece."""
        shape = self.box_mma.partition_shape_C(self.box)
        for i, index in enumerate(indices):
            number, own = divmod(index, cute.size(shape))
            if number not in self.gathered:
                self.gathered[number] = cute.make_rmem_tensor(shape, self.dtype)
                self.missing[number] = cute.size(shape)
            self.gathered[number][own] = piece[i]
            self.missing[number] -= 1
        for number in [number for number, missing in self.missing.items() if not missing]:
            del self.missing[number]
            self.write(self.gathered.pop(number), number, self.written)
            self.written += 1

    @cute.jit
    def write(self, box: cute.Tensor, number: cutlass.Constexpr[int], before: cutlass.Constexpr[int]):
        """Have TMA write a box, through one of the warpgroup's buffers; `before` others of this part went before."""
        buffers = sm90.OUT_BUFFERS
        buffer = self.group * buffers + before % buffers
        if self.thread < WARP:
            cute.arch.cp_async_bulk_wait_group(min(before, buffers - 1), read=True)
        self.sync_warpgroup()
        cute.copy(self.gather, self.gather.retile(box), self.to_staged[None, None, None, buffer])
        # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
        cute.arch.fence_proxy("async.shared", space="cta")
        self.sync_warpgroup()
        at = (self.first[0] + number // self.across, self.first[1] + number % self.across)
        self.send(buffer, at)

    @cute.jit
    def send(self, buffer, at):
        """Have TMA write what is in a buffer to the box `at` (m, n)."""
        if self.thread < WARP:
            place = at if cutlass.const_expr(self.batch is None) else (*at, self.batch)
            cute.copy(self.tma, self.from_staged[None, buffer], self.to_d[None, *place], **self.options)
            cute.arch.cp_async_bulk_commit_group()

    def sync_warpgroup(self) -> None:
        """Wait for all threads of the warpgroup."""
        cute.arch.barrier(barrier_id=OUT_BARRIER + self.group, number_of_threads=sm90.WARPGROUP)
