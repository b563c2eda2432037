# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The kernels that run after grouped products with reductions, and put the parts of these together.

| reduction | grid of blocks of 256 threads | work |
|---|---|---|
| `row`, `column` | groups along X; along Y 256 results, of a list all | a thread adds up the parts of a result |
| `scalar` | groups | a block adds up all parts: a thread's own, then a tree |

All add in the same order in every run. A group without elements has the reduction of nothing.
"""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.epilogue.values import Output
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped.groups import Groups, Problem
from cutecc.operations.kernels.grouped.operands import vector
from cutecc.operations.kernels.grouped.parts import Slots
from cutecc.operations.kernels.grouped.signature import is_packed
from cutecc.operations.kernels.reduction_kernel import FINISH_THREADS, Finish
from cutecc.operations.kernels.workspace import ceil_div

_MOST_BLOCKS = 64
"""For each group: most groups are much smaller than all of them together."""


class GroupedFinish(Finish):
    """Puts the parts of every reduction of each group together."""

    def __init__(self, grouped: GroupedDescription, groups: Groups):
        super().__init__(grouped.gemm)
        self.grouped, self.groups, self.slots = grouped, groups, Slots(grouped)

    def launch(self, problem: Problem, operands, stream) -> None:
        """One launch for each reduction."""
        for operand, argument in zip(self.epilogue.operands, operands, strict=True):
            if not isinstance(operand, Output) or operand.reduction == "none":
                continue
            blocks = 1
            if operand.kind != "scalar" and self.grouped.packing != "list":
                # Of the largest group. Threads go on behind their block, of which there may be 65,535 along y.
                blocks = ceil_div(problem.n if operand.kind == "row" else problem.m, FINISH_THREADS)
                blocks = cutlass.min(blocks, _MOST_BLOCKS)
            kernel = self.one_of_group if operand.kind == "scalar" else self.each_of_group
            kernel(operand, problem, argument).launch(
                grid=(problem.groups, blocks, 1), block=(FINISH_THREADS, 1, 1), stream=stream
            )

    @cute.kernel
    def each_of_group(self, output: cutlass.Constexpr, problem, argument):
        """One result of a row or column a thread at a time."""
        thread, _, _ = cute.arch.thread_idx()
        group, block, _ = cute.arch.block_idx()
        _, blocks, _ = cute.arch.grid_dim()
        span = self.groups.span(problem, group)
        own = self.slots.of_group(problem, group, span)
        axis = 1 if output.kind == "row" else 0
        warps, results = self.slots.parts[output.name].warps, self.slots.parts[output.name].results
        tiles = ceil_div(span.size(1 - axis), self.cut.tile[1 - axis])
        target = self.target(output, argument, group, span.begin[axis])
        place = block * FINISH_THREADS + thread
        while place < span.size(axis):
            found = self.nothing(output)
            for across in cutlass.range(tiles, unroll=2):
                tile = (across, place // results) if axis == 1 else (place // results, across)
                part = self.slots.place(problem.workspace, own, tile, output.name) + place % results
                for warp in cutlass.range_constexpr(warps):
                    found[0] = self.reduced(output, found[0], part[warp * results])
            target[place] = self.rounded(output, found)
            place += blocks * FINISH_THREADS

    @cute.kernel
    def one_of_group(self, output: cutlass.Constexpr, problem, target):
        """The scalar of a group."""
        thread, _, _ = cute.arch.thread_idx()
        group, _, _ = cute.arch.block_idx()
        span = self.groups.span(problem, group)
        own = self.slots.of_group(problem, group, span)
        along_m, along_n = (ceil_div(span.size(axis), self.cut.tile[axis]) for axis in (0, 1))
        found = self.nothing(output)
        for index in cutlass.range(thread, along_m * along_n, FINISH_THREADS):
            part = self.slots.place(problem.workspace, own, (index % along_m, index // along_m), output.name)
            for warp in cutlass.range_constexpr(self.slots.parts[output.name].warps):
                found[0] = self.reduced(output, found[0], part[warp])
        self.conclude(output, found, target, group, thread)

    def target(self, output: Output, argument, group, begin) -> cute.Pointer:
        """Where the results of a group go."""
        first = vector(self.grouped, output, argument, group)
        return first + begin if is_packed(self.grouped, "N" if output.kind == "row" else "M") else first
