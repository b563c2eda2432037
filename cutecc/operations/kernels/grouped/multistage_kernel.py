# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportIncompatibleMethodOverride=false
"""The multistage GEMMs over groups, in CuTe: blocks stay, and take one tile after the other.

Sizes may be on the device only, so a grid of a block for each tile would have to be as large as it can ever get.
"""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.gemm_kernel import MultistageKernel
from cutecc.operations.kernels.grouped import multistage
from cutecc.operations.kernels.grouped.grouped_kernel import Bounds, GroupedKernel
from cutecc.operations.kernels.grouped.groups import Position, Problem
from cutecc.operations.kernels.grouped.operands import matrix
from cutecc.operations.kernels.grouped.signature import is_packed
from cutecc.operations.kernels.simt_kernel import SimtGemm
from cutecc.operations.kernels.sm80_kernel import Sm80Gemm
from cutecc.operations.kernels.workspace import ceil_div
from cutecc.operations.operand import WIDEST_ALIGNMENT


class GroupedMultistage(GroupedKernel, MultistageKernel):
    """What the families share."""

    def __init__(self, grouped: GroupedDescription):
        super().__init__(grouped)
        self.blocks_per_sm = multistage.blocks_per_sm(grouped)

    def launch(self, problem: Problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """As many blocks as the GPU runs at once, or as there may be work for."""
        blocks = multiprocessors * self.blocks_per_sm
        most = self.groups.most_tasks(problem)
        if cutlass.const_expr(most is not None):
            blocks = cutlass.max(cutlass.min(most, blocks), 1)
        self.kernel(problem, a, b, operands).launch(
            grid=(blocks, 1, 1), block=(self.threads, 1, 1), stream=stream, **self.occupancy
        )

    @cute.kernel
    def kernel(self, problem: Problem, a, b, operands):
        """Every tile that this block computes."""
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()
        stages = self.allocate_stages()
        position = self.groups.begin(block, problem)
        while self.groups.is_left(position, problem):
            self.compute(position, problem, a, b, operands, stages, thread)
            # Until all have read the last stages, none may be filled anew.
            cute.arch.sync_threads()
            position = self.groups.advance(position, blocks, problem)

    @cute.jit
    def compute(self, position: Position, problem: Problem, a, b, operands, stages, thread):
        """One tile of a group's D."""
        group, span = position.group, self.groups.span(problem, position.group)
        m, n, k = (span.size(axis) for axis in range(3))
        tile = self.groups.rasterization.tile_of(
            position.index - position.first, self.groups.rasterization.tiles((m, n))
        )
        begin_m, begin_n, begin_k = span.begin
        plan_a, plan_b = self.plans
        parts = (
            self.part(a, plan_a, "MK", (begin_m, begin_k), (m, k), group),
            self.part(b, plan_b, "NK", (begin_n, begin_k), (n, k), group),
        )
        fetches = self.fetches(parts, (m, n), k, tile, stages, thread)
        sums = self.multiply(cutlass.Int32(0), ceil_div(k, self.tile[2]), k, fetches, stages, thread)
        bounds = self.bounds_of(problem, group, span)
        self.give(sums, bounds, tile, group, stages[0], operands, problem.workspace, None, None, thread)

    def part(self, argument, plan, extents: str, begin, shape, group) -> cute.Tensor:
        """The matrix of a group: its own, or the part of a packed one that begins at `begin`."""
        found = matrix(self.grouped, argument, plan.operand, extents, *shape, group, plan.is_k_major)
        pointer = found.iterator
        if is_packed(self.grouped, extents):
            aligned = min(plan.operand.alignment_bytes, WIDEST_ALIGNMENT)
            pointer = (pointer + cute.crd2idx(begin, found.layout)).align(aligned)
        return cute.make_tensor(pointer, cute.make_layout(shape, stride=found.stride))

    def places(self, problem: Bounds, tile) -> cute.Tensor:
        places = cute.local_tile(cute.make_identity_tensor(problem[:2]), self.tile[:2], tile)
        return cute.domain_offset(problem.begin[:2], places)


class GroupedSm80(GroupedMultistage, Sm80Gemm):
    """On tensor cores by `mma.sync`; `sm80.py` says how it works."""


class GroupedSimt(GroupedMultistage, SimtGemm):
    """Each thread multiplies for itself; `simt.py` says how it works."""
