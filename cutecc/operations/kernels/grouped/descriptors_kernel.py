# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Makes the TMA descriptors of each group, in a small kernel before the products."""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped.groups import Groups, Problem
from cutecc.operations.kernels.grouped.operands import matrix
from cutecc.operations.kernels.grouped.workspace import DESCRIPTOR_BYTES, described
from cutecc.operations.kernels.workspace import ceil_div

try:
    from cutlass.tensor_utils import TensorMapManager, TensorMapUpdateMode
except ImportError:  # before 4.8
    from cutlass.utils import TensorMapManager, TensorMapUpdateMode

WARP, WARPS = 32, 4
WORDS = DESCRIPTOR_BYTES // 8

_POINTERS = TensorMapManager(TensorMapUpdateMode.SMEM, DESCRIPTOR_BYTES)


def descriptor(description: GroupedDescription, problem: Problem, name: str, group) -> cute.Pointer:
    """Where the descriptor of a group's `a`, `b` or `d` is, as TMA takes it."""
    return _POINTERS.get_tensormap_ptr(_place(description, problem, name, group), cute.AddressSpace.generic)


def _place(description: GroupedDescription, problem: Problem, name: str, group) -> cute.Pointer:
    index = described(description).index(name) * problem.groups + group
    return problem.workspace.iterator + cutlass.Int64(index) * DESCRIPTOR_BYTES


class Descriptors:
    """The kernel that makes what `described` lists; a warp has a group."""

    def __init__(self, description: GroupedDescription, groups: Groups):
        self.description, self.groups, self.names = description, groups, described(description)
        self.__name__ = f"descriptors_{description.kernel_name}"

    def launch(self, problem: Problem, copies, arguments, stream) -> None:
        """Make the descriptors for `copies`, TMA copies whose own descriptors say all but places and sizes.

        `arguments` are the kernel's for A, B and, if it is described, D.
        """
        self.kernel.set_name_prefix(self.__name__, remove_cutlass_symbol=True, keep_mangled_name=False)
        self.kernel(problem, copies, arguments).launch(
            grid=(cutlass.max(ceil_div(problem.groups, WARPS), 1), 1, 1),
            block=(WARP * WARPS, 1, 1),
            stream=stream,
            use_pdl=True,
        )

    @cute.kernel
    def kernel(self, problem: Problem, copies, arguments):
        """The descriptors of a group for each warp."""
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        warp = cute.arch.make_warp_uniform(thread // WARP)
        layout = cute.make_layout((WORDS, len(self.names), WARPS))
        staged = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int64, layout, DESCRIPTOR_BYTES)
        for index in cutlass.range_constexpr(len(self.names)):
            with cute.arch.elect_one():
                cpasync.copy_tensormap(copies[index], staged[None, index, warp].iterator)
        cute.arch.sync_warp()
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()
        group = block * WARPS + warp
        if group < problem.groups:
            for index in cutlass.range_constexpr(len(self.names)):
                name = self.names[index]
                place = staged[None, index, warp].iterator
                cpasync.update_tma_descriptor(copies[index], self.tensor(name, arguments[index], problem, group), place)
                cute.arch.sync_warp()
                target = _POINTERS.get_tensormap_ptr(_place(self.description, problem, name, group))
                cpasync.cp_fence_tma_desc_release(target, place)

    def tensor(self, name: str, argument, problem: Problem, group) -> cute.Tensor:
        """What the descriptor of a group describes."""
        gemm, (m, n, k) = self.description.gemm, self.groups.span(problem, group).end
        operand, extents, contiguous = {
            "a": (gemm.a, (m, k), gemm.a.layout == "row"),
            "b": (gemm.b, (n, k), gemm.b.layout == "column"),
            "d": (gemm.d, (m, n), True),
        }[name]
        names = {"a": "MK", "b": "NK", "d": "MN"}[name]
        found = matrix(self.description, argument, operand, names, *extents, group, contiguous)
        # Packed ones begin where all do: coordinates count from there.
        return cute.make_tensor(found.iterator, cute.make_layout(extents, stride=found.stride))
