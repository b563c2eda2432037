# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""The warp-specialised Hopper GEMM over groups, in CuTe."""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped.clipped_boxes import ClippedBoxes
from cutecc.operations.kernels.grouped.descriptors_kernel import Descriptors, descriptor
from cutecc.operations.kernels.grouped.grouped_kernel import GroupedKernel
from cutecc.operations.kernels.grouped.groups import Position, Problem, Span
from cutecc.operations.kernels.grouped.signature import is_packed
from cutecc.operations.kernels.grouped.workspace import described
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.outgoing_boxes import OutgoingBoxes
from cutecc.operations.kernels.sm90_kernel import Sm90Gemm
from cutecc.operations.kernels.sm90_stages import WARP, WARPGROUP, copy_tile
from cutecc.operations.kernels.workspace import ceil_div
from cutecc.operations.operand import Operand


class GroupedTask(NamedTuple):
    """What a block computes of a tile of a group's D; see `sm90_kernel.Task`."""

    m: Any
    n: Any
    batch: Any
    """The group."""
    slice: Any
    first: Any
    steps: Any
    span: Span
    problem: Problem
    """Of all groups."""
    index: Any
    """Of the task, among those of its group."""


class GroupedSm90(GroupedKernel, Sm90Gemm):
    """The kernel of one description; `sm90.py` says how it works."""

    def __init__(self, grouped: GroupedDescription):
        super().__init__(grouped)
        self.described = described(grouped)

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """As many clusters as the GPU holds at once, or as there may be work for."""
        arguments = [a, b]
        target = None
        if cutlass.const_expr(self.result is not None):
            target = operands[self.product.epilogue.operands.index(self.result)]
            arguments.append(target)
        if cutlass.const_expr(self.grouped.packing == "list"):
            a, b = (
                self.template(problem, getattr(self.description, name), contiguous, multiprocessors)
                for name, contiguous in (("a", "row"), ("b", "column"))
            )
            if cutlass.const_expr(target is not None):
                target = self.template(problem, self.result, "row", multiprocessors)
        transfers = self.transfers(problem, a, b, target)
        if cutlass.const_expr(self.described):
            count = len(self.described)
            copies = tuple(copy for copy, _, _ in transfers[:count])
            Descriptors(self.grouped, self.groups).launch(problem, copies, tuple(arguments[:count]), stream)
        clusters = multiprocessors // (self.cluster[0] * self.cluster[1])
        most = self.groups.most_tasks(problem)
        if cutlass.const_expr(most is not None):
            clusters = cutlass.min(most, clusters)
        self.start(problem, transfers, operands, workspace, slices, cutlass.max(clusters, 1), stream)

    def template(self, problem: Problem, operand: Operand, contiguous: str, extent) -> cute.Tensor:
        """A matrix somewhere, as those of a list are: of its descriptor the place and sizes are replaced."""
        pointer = cute.recast_ptr(problem.workspace.iterator, dtype=numeric(operand.dtype))
        leading = cute.assume(cutlass.Int64(extent) * operand.alignment, divby=operand.alignment)
        stride = (leading, 1) if operand.layout == contiguous else (1, leading)
        return cute.make_tensor(pointer, cute.make_layout((extent, extent), stride=stride))

    def tasks(self, problem: Problem, slices):
        return problem

    def begin(self, index, problem: Problem) -> Position:
        return self.groups.begin(index, problem)

    def advance(self, position: Position, by, problem: Problem) -> Position:
        return self.groups.advance(position, by, problem)

    def is_left(self, position: Position, tasks: Problem):
        return self.groups.is_left(position, tasks)

    def steps_of(self, position: Position, ahead, tasks: Problem, problem: Problem, slices):
        if self.groups.axis in (0, 1):
            return ceil_div(problem.k, self.tile[2])
        group = cutlass.min(self.advance(position, ahead, problem).group, problem.groups - 1)
        return ceil_div(self.groups.span(problem, group).size(2), self.tile[2])

    def task(self, position: Position, problem: Problem, slices) -> GroupedTask:
        span = self.groups.span(problem, position.group)
        tiles = self.rasterization.tiles([span.size(axis) for axis in range(3)])
        index = position.index - position.first
        m, n = self.rasterization.tile_of(index, tiles)
        along_m, along_n = self.cluster
        block_m, block_n = self.place()
        steps = ceil_div(span.size(2), self.tile[2])
        zero = cutlass.Int32(0)
        of_block = m * along_m + block_m, n * along_n + block_n
        return GroupedTask(*of_block, position.group, zero, zero, steps, span, problem, index)

    def sources(self, load_a, load_b):
        mask_a, mask_b = self.receivers(*self.place())
        return (load_a, mask_a), (load_b, mask_b)

    @cute.jit
    def fetch(self, task, problem, sources, full, empty, stage, phase):
        """Fetch the tiles of one task; returns the next place in the ring."""
        (load_a, mask_a), (load_b, mask_b) = sources
        block_m, block_n = self.place()
        tile_m, tile_n, tile_k = self.tile
        begin_m, begin_n, begin_k = task.span.begin
        descriptor_a, descriptor_b = (self.descriptor(name, task) for name in ("a", "b"))
        if cutlass.const_expr(self.described):
            self.acquire([descriptor_a, descriptor_b], self.is_first(task, 1))
        load_a = self.shifted(load_a, "MK", (begin_m, begin_k), task.batch)
        load_b = self.shifted(load_b, "NK", (begin_n, begin_k), task.batch)
        tma_a, from_a, to_a = self.partitioned(load_a, (tile_m, tile_k), block_n, sharers=self.cluster[1])
        tma_b, from_b, to_b = self.partitioned(load_b, (tile_n, tile_k), block_m, sharers=self.cluster[0])
        for step in range(task.first, task.first + task.steps):
            arrived = self.expect(full, empty, stage, phase)
            copy_tile(tma_a, from_a[None, task.m, step], to_a[None, stage], arrived, mask_a, descriptor_a)
            copy_tile(tma_b, from_b[None, task.n, step], to_b[None, stage], arrived, mask_b, descriptor_b)
            stage, phase = self.following(stage, phase)
        return stage, phase

    def shifted(self, load, extents: str, begin, group):
        """What TMA loads of a group: the matrix of its own, or a packed one from where the group begins."""
        copy, coordinates, staged = load
        if cute.rank(coordinates) == 3:
            coordinates = coordinates[None, None, group]
        elif is_packed(self.grouped, extents):
            coordinates = cute.domain_offset(begin, coordinates)
        return copy, coordinates, staged

    def descriptor(self, name: str, task: GroupedTask):
        """The group's own descriptor; `None` where there is none."""
        return descriptor(self.grouped, task.problem, name, task.batch) if name in self.described else None

    def is_first(self, task: GroupedTask, every: int):
        """Whether this is the first task of its group for who takes every so many of this block's tasks."""
        _, clusters = self.turn()
        return task.index < clusters * every

    @cute.jit
    def acquire(self, descriptors, is_first):
        """Have TMA read descriptors anew that another kernel has written; once is enough."""
        if is_first:
            for each in descriptors:
                cpasync.fence_tma_desc_acquire(each)

    def bounds(self, problem: Problem, task: GroupedTask, shape, place):
        begin, end = task.span.begin[:2], task.span.end
        tile = cute.local_tile(cute.make_identity_tensor(end[:2]), shape, place)
        return self.bounds_of(task.problem, task.batch, task.span), cute.domain_offset(begin, tile)

    def is_inside(self, task: GroupedTask, problem):
        m, n = (task.span.size(axis) for axis in (0, 1))
        return (task.m * self.tile[0] < m) & (task.n * self.tile[1] < n)

    def outgoing_boxes(self, outgoing, batch) -> OutgoingBoxes:
        operands, _, (tma_d, d, staged_d, box_mma), place, thread, group, task = outgoing
        begin, end = task.span.begin[:2], task.span.end[:2]
        is_ragged = is_packed(self.grouped, "MN")
        if is_ragged:
            d = cute.domain_offset(begin, d)
        boxes = cute.local_tile(d, self.box, (None,) * cute.rank(d))
        across = self.tile[1] // self.box[1]
        first = (place[0] * (self.rows // self.box[0]), place[1] * across)
        parts = (tma_d, boxes, staged_d, box_mma, first, across, batch if cute.rank(d) == 3 else None)
        if is_ragged:
            target = operands[self.product.epilogue.operands.index(self.result)]
            return ClippedBoxes(*parts, thread % WARPGROUP, group).clip(target, begin, end, self.groups.axis)
        found = OutgoingBoxes(*parts, thread % WARPGROUP, group)
        if "d" in self.described:
            found.options = {"tma_desc_ptr": self.descriptor("d", task)}
            # The first warp has TMA write.
            is_first = self.is_first(task, 2 if self.is_pingpong else 1) & (thread % WARPGROUP < WARP)
            self.acquire([self.descriptor("d", task)], is_first)
        return found
