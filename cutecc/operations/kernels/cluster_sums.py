# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""K split among the blocks of a cluster: their sums are added up in distributed shared memory."""

from __future__ import annotations

from inspect import signature

import cutlass
from cutlass import cute
from cutlass._mlir.dialects import nvvm

_WARP = 32
_TOGETHER = 4
"""Sums that a thread writes side by side: 16 bytes."""
_KNOWS_SCOPES = "scope" in signature(cute.arch.mbarrier_arrive).parameters
_OF_CLUSTER = {"scope": nvvm.MemScopeKind.CLUSTER} if _KNOWS_SCOPES else {}
"""What is handed to another block is released to the cluster. In 4.6, which cannot say so, the fence before does it."""


class ClusterSums:
    """The first block of a cluster adds the sums of all others to its own, in the order of their slices of K.

    A thread of another block leaves its sums where the thread of the same number in the first block finds them. The
    place is used again for the next tile, once the first block has read it.
    """

    def __init__(self, slices: int, threads: int, dtype: type[cutlass.Numeric]):
        self.slices, self.threads, self.dtype = slices, threads, dtype
        """Blocks of the cluster, threads of each that hold sums, and the type of the sums."""

    def allocate(self, allocator, count: int):
        """Shared memory for `count` sums of each thread, and two barriers: all are there, all are read."""
        each = cute.make_layout((_TOGETHER, count // _TOGETHER), stride=(1, _TOGETHER * self.threads))
        layout = cute.append(each, cute.make_layout(self.threads, stride=_TOGETHER))
        layout = cute.append(layout, cute.make_layout(self.slices - 1, stride=count * self.threads))
        places = allocator.allocate_tensor(self.dtype, layout, 16)
        barriers = allocator.allocate_array(cutlass.Int64, 2)
        return places, barriers

    @cute.jit
    def initialize(self, shared, thread):
        """Set up the barriers; the blocks of the cluster are to wait for each other before they use them."""
        _, barriers = shared
        if thread == 0:
            cute.arch.mbarrier_init(barriers, (self.slices - 1) * (self.threads // _WARP))
            cute.arch.mbarrier_init(barriers + 1, self.threads // _WARP)

    @cute.jit
    def add(self, sums, shared, rank, thread, phase):
        """Add up the register tensors `sums` of all blocks, in those of the first one.

        `phase` is the parity of the tile's number among those that the cluster computes.
        """
        places, barriers = shared
        arrived, read = barriers, barriers + 1
        flat = cute.make_tensor(sums.iterator, cute.make_layout((_TOGETHER, cute.size(sums) // _TOGETHER)))
        if rank > 0:
            cute.arch.mbarrier_wait(read, phase ^ 1)  # a fresh barrier counts as just past phase 1
            own = places[None, None, thread, rank - 1]
            target = cute.make_tensor(cute.arch.map_dsmem_ptr(own.iterator, cutlass.Int32(0)), own.layout)
            cute.autovec_copy(flat, target)
            self.tell(arrived, 0, thread)
        else:
            cute.arch.mbarrier_wait(arrived, phase)
            cute.arch.fence_acq_rel_cluster()
            for other in cutlass.range_constexpr(self.slices - 1):
                part = cute.make_rmem_tensor(flat.shape, self.dtype)
                cute.autovec_copy(places[None, None, thread, other], part)
                for i in cutlass.range_constexpr(cute.size(flat)):
                    flat[i] = flat[i] + part[i]
            for other in cutlass.range_constexpr(1, self.slices):
                self.tell(read, other, thread)

    @cute.jit
    def finish(self, shared, rank, phase):
        """Wait until the last sums are read: before that a block must not end, whose barrier is told of it."""
        _, barriers = shared
        if rank > 0:
            cute.arch.mbarrier_wait(barriers + 1, phase ^ 1)

    @cute.jit
    def tell(self, barrier, rank, thread):
        """Arrive at a barrier of another block, once for each warp, after all that its lanes have read and written."""
        cute.arch.sync_warp()
        if thread % _WARP == 0:
            cute.arch.fence_acq_rel_cluster()
            cute.arch.mbarrier_arrive(barrier, rank, **_OF_CLUSTER)
