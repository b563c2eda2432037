# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The gradient of depthwise filters in CuTe; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise_kernel import DepthwiseConvolution
from cutecc.operations.kernels.convolution.depthwise_lines import Lines
from cutecc.operations.kernels.warp_reduction import distances, exchanged
from cutecc.operations.kernels.workspace import ceil_div


class DepthwiseWgrad(DepthwiseConvolution):
    """`wgrad`: each slice has some rectangles of outputs, which the threads along pixels share."""

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """A block for each tile of D and slice of the outputs."""
        geometry, a = a
        cut = depthwise.cut(self.convolution, geometry, cutlass.min)
        tiles = depthwise.tiles(self.convolution, geometry, cut)
        # Of no images there are no tiles in 1-d.
        along = [depthwise.at_least_one(each, cutlass.min) for each in tiles[1:]]
        sizes = along, (cut.runs, cut.seen[1], cut.runs * self.patch[1]), geometry.output[:-2], geometry.output[:-1]
        divisors = tuple(tuple(cute.fast_divmod_create_divisor_v2(size) for size in each) for each in sizes)
        self.kernel(problem, geometry, cut, prod(tiles), divisors, a, b, operands[0], slices).launch(
            grid=self.rasterization.grid(problem, slices),
            block=(self.threads, 1, 1),
            stream=stream,
            **self.occupancy,
        )

    def summed(self, partials: cute.Tensor, stream) -> cute.Tensor:
        """The sums of `TOGETHER` slices each: (M, N, slice)."""
        m, n, slices = partials.shape
        row, _, of_slice = partials.stride
        length = depthwise.FOLDING_THREADS
        count = ceil_div(slices, depthwise.TOGETHER)
        self.fold(partials, of_slice).launch(
            grid=(cutlass.Int32((of_slice + (length - 1)) // length), count, 1), block=(length, 1, 1), stream=stream
        )
        layout = cute.make_layout((m, n, count), stride=(row, 1, of_slice * depthwise.TOGETHER))
        return cute.make_tensor(partials.iterator, layout)

    @cute.kernel
    def fold(self, partials, of_slice):
        """Add up some slices, each thread an element; the first of them has the sum then."""
        thread, _, _ = cute.arch.thread_idx()
        block, group, _ = cute.arch.block_idx()
        place = block * depthwise.FOLDING_THREADS + thread
        if place < of_slice:
            first = group * depthwise.TOGETHER
            own = partials.iterator + (cutlass.Int64(first) * of_slice + place)
            held = cute.make_rmem_tensor(depthwise.TOGETHER, partials.element_type)
            held.fill(0)
            for i in cutlass.range_constexpr(depthwise.TOGETHER):
                if first + i < partials.shape[2]:
                    held[i] = (own + i * of_slice).load()
            found = held[0]
            for i in cutlass.range_constexpr(1, depthwise.TOGETHER):
                found = found + held[i]
            own.store(found)

    @cute.kernel
    def kernel(self, problem, geometry, cut, tiles, divisors, a, b, partials, slices):
        """The sums of a slice of one tile of D."""
        thread, _, _ = cute.arch.thread_idx()
        block = cute.arch.block_idx()
        tile_m, tile_n, _ = self.rasterization.of_block(block, problem)
        size = depthwise.shared_memory_bytes(self.convolution)
        memory = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Uint8, cute.make_layout(size), 16)
        lines = Lines(self, geometry, cut, divisors, a, b, memory, thread, tile_m, tile_n)
        lines.add(tiles, slices, block[2])
        layout = cute.make_layout((self.run * self.vector, self.lanes[1], self.threads // depthwise.WARP))
        left = cute.make_tensor(cute.recast_ptr(memory.iterator, dtype=self.accumulator), layout)
        cute.arch.sync_threads()
        self.leave(left, lines.sums, thread)
        cute.arch.sync_threads()
        self.store(left, partials[None, None, block[2]], thread, tile_m, tile_n)

    @cute.jit
    def leave(self, left: cute.Tensor, sums: cute.Tensor, thread):
        """Add up the sums of the threads of a warp that had other pixels, and leave them in shared memory."""
        count, lane = cute.size(sums), thread % depthwise.WARP
        value = cute.make_tensor(sums.iterator, cute.make_layout(count)).load()
        for distance in distances(self.lanes[1], depthwise.WARP):
            value = value + exchanged(value, distance)
        if lane < self.lanes[1]:
            target = left[None, lane, thread // depthwise.WARP]
            for i in cutlass.range_constexpr(count):
                target[i] = value[i]

    @cute.jit
    def store(self, left, partials, thread, tile_m, tile_n):
        """Add up what warps along K have left, and store it."""
        (m, n, _), (_, along_n, along_k) = self.tile, self.warps
        for index in range(thread, m * n, self.threads):
            channel, tap = index // n, index % n
            place = tap % self.run * self.vector + channel % self.vector
            found = left[place, channel // self.vector, tap // self.run]
            for part in cutlass.range_constexpr(1, along_k):
                found = found + left[place, channel // self.vector, part * along_n + tap // self.run]
            row, column = tile_m * m + channel, tile_n * n + tap
            if (row < partials.shape[0]) & (column < partials.shape[1]):
                partials[row, column] = found
