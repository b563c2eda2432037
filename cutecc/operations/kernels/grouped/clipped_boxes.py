# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""How D leaves a Hopper kernel where groups are packed: boxes that reach into the next group are stored by threads."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.access import vector_copy
from cutecc.operations.kernels.outgoing_boxes import WARP, OutgoingBoxes
from cutecc.operations.operand import WIDEST_ALIGNMENT


class ClippedBoxes(OutgoingBoxes):
    """Boxes of a group of packed rows or columns.

    TMA ends where D does. So of a box in which the group ends, threads read what belongs to the group back from shared
    memory, and store it.
    """

    def clip(self, d: cute.Tensor, begin, end, axis: int) -> ClippedBoxes:
        """Keep to a group of `d`, of those that vary along `axis`: from (m, n) = `begin`, where boxes are counted from.

        It has what comes before `end`.
        """
        self.d, self.begin, self.end, self.axis = d, begin, end, axis
        self.vector = 1 if axis == 1 else WIDEST_ALIGNMENT * 8 // self.dtype.width
        return self

    @cute.jit
    def send(self, buffer, at):
        rows, columns = self.box
        place = (self.begin[0] + at[0] * rows, self.begin[1] + at[1] * columns)
        is_whole = place[self.axis] + self.box[self.axis] <= self.end[self.axis]
        if cutlass.const_expr(self.axis == 1):
            # Along a row groups begin anywhere, and boxes do not.
            is_whole = is_whole & (place[1] % (WIDEST_ALIGNMENT * 8 // self.dtype.width) == 0)
        if is_whole:
            OutgoingBoxes.send(self, buffer, at)
        else:
            self.store(buffer, place)
            if self.thread < WARP:
                # Groups of copies are counted, one for each box.
                cute.arch.cp_async_bulk_commit_group()

    def store(self, buffer, place) -> None:
        """Have all threads store what belongs to the group of a box at the (m, n) `place`."""
        rows, columns = self.box
        along = columns // self.vector
        across = sm90.WARPGROUP // along
        threads = cute.make_ordered_layout((across, along), order=(1, 0))
        copy = cute.make_tiled_copy_tv(
            vector_copy(self.dtype, self.vector), threads, cute.make_layout((1, self.vector))
        )
        own = copy.get_slice(self.thread)
        target = cute.make_tensor(
            self.d.iterator + cute.crd2idx(place, self.d.layout),
            cute.make_layout((rows, columns), stride=self.d.stride),
        )
        target = cute.make_tensor(target.iterator.align(self.vector * self.dtype.width // 8), target.layout)
        staged, target = own.partition_S(self.staged[None, None, buffer]), own.partition_D(target)
        places = own.partition_S(cute.make_identity_tensor(self.box))
        inside = cute.make_rmem_tensor((1, *(cute.size(places, mode=[mode]) for mode in (1, 2))), cutlass.Boolean)
        for i in range(cute.size(inside, mode=[1])):
            for j in range(cute.size(inside, mode=[2])):
                row, column = places[0, i, j]
                inside[0, i, j] = (place[0] + row < self.end[0]) & (place[1] + column < self.end[1])
        held = cute.make_fragment_like(staged)
        cute.autovec_copy(staged, held)
        cute.copy(copy, held, target, pred=inside)
