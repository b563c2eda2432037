# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""What the kernels of all families have in common: how a launch goes, and how a block ends."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.fused_epilogue import FusedEpilogue
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.rasterization import Rasterization
from cutecc.operations.kernels.reduction_kernel import Finish, Summation
from cutecc.operations.kernels.regions import region
from cutecc.operations.kernels.split_k import Turns, partial_sums
from cutecc.operations.kernels.workspace import PARTIALS, TURNS, product


class GemmKernel:
    """A kernel object: a family derives from it and says in `launch` how its own kernel is launched.

    `product` is what its blocks compute: the description itself, but of parallel split K one whole product for each
    slice, whose index is then the batch of the one operand. `epilogue` belongs to it.
    """

    def __init__(self, description: GemmDescription):
        self.description, self.product = description, product(description)
        self.epilogue = FusedEpilogue(self.product)
        self.rasterization = Rasterization(description.swizzle, description.tile.threadblock[:2])
        self.accumulator = numeric(description.instruction.accumulator)
        self.__name__ = description.kernel_name

    def counted(self, problem, a):
        """The problem with as many rows as tiles are made of, which parts of reductions are counted by."""
        return problem

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """Launch the family's kernel; `operands` are those of `product`."""
        raise NotImplementedError

    @cute.jit
    def __call__(self, problem, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        self.launch_all(problem, a, b, operands, workspace, slices, multiprocessors, stream)

    def launch_all(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """Launch the family's kernel, and those that come after it."""
        # The name belongs to the class, whose kernels are traced one by one.
        self.kernel.set_name_prefix(self.__name__, remove_cutlass_symbol=True, keep_mangled_name=False)
        if self.description.mode == "split_k_parallel":
            partials = partial_sums(self.description, workspace, problem, slices)
            self.launch(problem, a, b, (partials,), workspace, slices, multiprocessors, stream)
            partials = self.summed(partials, stream)
            Summation(self.description).launch(problem, partials, operands, workspace, slices, stream)
        else:
            self.launch(problem, a, b, operands, workspace, slices, multiprocessors, stream)
        if self.description.epilogue.has_reductions:
            Finish(self.description).launch(self.counted(problem, a), operands, workspace, slices, stream)

    def summed(self, partials: cute.Tensor, stream) -> cute.Tensor:
        """The slices of parallel split K that are to be added up: (M, N, slice). A family may add up some before."""
        return partials

    @cute.jit
    def conclude(
        self, sums, coordinates, problem, tile, batch, operands, workspace, slices, slice_index, thread, warp, threads
    ):
        """What a block does with its sums: the epilogue, or with serial split K its turn, of which the last has it.

        `tile` is the (m, n) index of the tile, `warp` that of the warp within it; `thread` counts the `threads` that
        hold sums.
        """
        if cutlass.const_expr(self.description.mode == "split_k_serial"):
            index = tile[0] + tile[1] * self.rasterization.tiles(problem)[0]
            turns = region(self.description, workspace, problem, slices, TURNS, cutlass.Int32)
            partials = region(self.description, workspace, problem, slices, PARTIALS, self.accumulator)
            Turns(threads).add(sums, turns, partials, index, slice_index, slices, thread)
            if slice_index + 1 == slices:
                self.apply(sums, coordinates, problem, batch, operands, workspace, slices, tile, warp)
        elif cutlass.const_expr(self.description.mode == "split_k_parallel"):
            self.apply(sums, coordinates, problem, slice_index, operands, workspace, slices, tile, warp)
        else:
            self.apply(sums, coordinates, problem, batch, operands, workspace, slices, tile, warp)

    def apply(self, sums, coordinates, problem, batch, operands, workspace, slices, tile, warp):
        """The epilogue of one tile."""
        self.epilogue.apply(
            sums, coordinates, problem, batch, operands, workspace=workspace, slices=slices, tile=tile, warp=warp
        )


class MultistageKernel(GemmKernel):
    """A kernel whose warps all load and multiply; `cp.async` fills a ring of stages in shared memory."""

    def __init__(self, description: GemmDescription):
        super().__init__(description)
        self.tile, self.stages = description.tile.threadblock, description.tile.stages
        self.warps = description.tile.warps
        self.occupancy: dict[str, int] = {}
        """What a launch asks for besides."""

    def allocate(self, allocator, plan) -> cute.Tensor:
        """The stages of an operand in shared memory: (rows, K, stage)."""
        raise NotImplementedError

    def allocate_stages(self) -> tuple[cute.Tensor, ...]:
        """The stages of A and of B."""
        allocator = cutlass.utils.SmemAllocator()
        return tuple(self.allocate(allocator, plan) for plan in self.plans)

    def places(self, problem, tile) -> cute.Tensor:
        """The (m, n) of the elements of a tile of D."""
        return cute.local_tile(cute.make_identity_tensor(problem[:2]), self.tile[:2], tile)

    def wait(self) -> None:
        """Wait until the oldest stage that is being filled is full for all threads."""
        cute.arch.cp_async_wait_group(self.stages - 2)
        cute.arch.sync_threads()

    @cute.jit
    def after(self, stage):
        """The stage that follows in the ring."""
        following = stage + 1
        if following == self.stages:
            following = cutlass.Int32(0)
        return following
