# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportIncompatibleMethodOverride=false
"""What kernels of grouped products have in common, whatever GEMM they are made of."""

from __future__ import annotations

from cutlass import cute

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.gemm_kernel import GemmKernel
from cutecc.operations.kernels.grouped.groups import Groups, Problem
from cutecc.operations.kernels.grouped.operands import GroupedEpilogue


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
