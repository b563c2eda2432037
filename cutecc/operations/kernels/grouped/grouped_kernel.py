# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportIncompatibleMethodOverride=false
"""What kernels of grouped products have in common, whatever GEMM they are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.gemm_kernel import GemmKernel
from cutecc.operations.kernels.grouped.finish_kernel import GroupedFinish
from cutecc.operations.kernels.grouped.groups import Groups, Problem, Span
from cutecc.operations.kernels.grouped.operands import GroupedEpilogue


class Bounds(NamedTuple):
    """What the epilogue of a group's tile knows of the group."""

    m: Any
    """Where the group ends."""
    n: Any
    k: Any
    begin: Any
    """Where it begins, along each."""
    slots: Any
    """Of the parts of its reductions; `None` without them."""


class GroupedKernel(GemmKernel):
    """A kernel object that stands before that of a family among the bases of a class."""

    def __init__(self, grouped: GroupedDescription):
        super().__init__(grouped.gemm)
        self.grouped, self.groups = grouped, Groups(grouped)
        self.epilogue = GroupedEpilogue(grouped)
        self.__name__ = grouped.kernel_name

    @cute.jit
    def __call__(self, problem, sizes, a, b, operands, scales, schedule, workspace, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        self.kernel.set_name_prefix(self.__name__, remove_cutlass_symbol=True, keep_mangled_name=False)
        problem = Problem(*problem, sizes, schedule, workspace, scales)
        self.launch(problem, a, b, operands, workspace, None, multiprocessors, stream)
        if cutlass.const_expr(self.description.epilogue.has_reductions):
            GroupedFinish(self.grouped, self.groups).launch(problem, operands, stream)

    def bounds_of(self, problem: Problem, group, span: Span) -> Bounds:
        """A group, as the epilogue is told of it."""
        slots = None
        if cutlass.const_expr(self.description.epilogue.has_reductions):
            slots = self.epilogue.slots.of_group(problem, group, span)
        return Bounds(*span.end, span.begin, slots)
