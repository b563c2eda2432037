# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The warp-specialised Hopper convolution in CuTe: the GEMM's kernel, one operand of which TMA gathers (im2col)."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution import sm90
from cutecc.operations.kernels.convolution.digits import added, digits_of
from cutecc.operations.kernels.convolution.gathered import GatheredLoads
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.windows import Taps, all_taps, window
from cutecc.operations.kernels.sm90_kernel import Sm90Gemm
from cutecc.operations.kernels.sm90_stages import copy_tile
from cutecc.operations.kernels.workspace import ceil_div


class Sm90Convolution(Sm90Gemm):
    """What the kernels of all kinds have in common; `sm90.py` says how they work."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(description.gemm)
        self.convolution = description
        self.boxes, self.registers = sm90.gathered_boxes(description), sm90.registers(description)
        self.gathered = GatheredLoads(description, self.boxes)
        self.__name__ = description.kernel_name

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what. The geometry goes along as a size."""
        self.launch_all((*problem, geometry), a, b, operands, workspace, slices, multiprocessors, stream)

    def geometry(self, problem) -> Geometry:
        return Geometry(*problem[4])


class Sm90TapConvolution(Sm90Convolution):
    """`fprop` and `dgrad`: A is gathered, one tap of the filter after the other."""

    def loads(self, problem, name: str, tensor, rows: int, sharers: int):
        if name == "a":
            layout = self.staged(name, (rows, self.tile[2], self.stages))
            return layout, self.gathered.atom(tensor, self.geometry(problem)), None
        return super().loads(problem, name, self.filters(tensor, problem), rows, sharers)

    def filters(self, tensor, problem) -> cute.Tensor:
        """The filters of a group as B has them: (N, K of a tap, tap, group); they end with the group."""
        _, n, _, groups = problem[:4]
        filter, tap, channel = tensor.stride
        if self.convolution.kind == "fprop":
            shape = n, tensor.shape[2], tensor.shape[1], groups
            stride = filter, channel, tap, cutlass.Int64(n) * filter
        else:
            of_group = tensor.shape[0] // groups
            shape = n, of_group, tensor.shape[1], groups
            stride = channel, filter, tap, cutlass.Int64(of_group) * filter
        return cute.make_tensor(tensor.iterator, cute.make_layout(shape, stride=stride))

    def depth(self, problem):
        """The channels of a group that a tap multiplies."""
        geometry = self.geometry(problem)
        whole = geometry.channels if self.convolution.kind == "fprop" else geometry.filters
        return whole if self.convolution.groups == "single" else whole // problem[3]

    def steps(self, problem, batch):
        return ceil_div(self.depth(problem), self.tile[2]) * self.taps(problem, batch).count

    def group(self, problem, batch):
        """The group that tiles of a batch belong to."""
        return batch

    def taps(self, problem, batch) -> Taps:
        """Those that the tiles of a batch multiply."""
        return all_taps(self.convolution, self.geometry(problem))

    def sources(self, load_a, load_b):
        block_m, block_n = self.place()
        _, tile_n, tile_k = self.tile
        tma_a, _, staged = load_a
        of_b = self.partitioned(load_b, (tile_n, tile_k), block_m, sharers=self.cluster[0])
        to_a = self.gathered.staged(staged, self.stages)[None, block_n, 0, None]
        mask_a, mask_b = self.receivers(block_m, block_n)
        return (tma_a, to_a, mask_a), (*of_b, mask_b)

    @cute.jit
    def fetch(self, task, problem, sources, full, empty, stage, phase):
        (m, n, batch, _, first, steps) = task
        (tma_a, to_a, mask_a), (tma_b, from_b, to_b, mask_b) = sources
        _, block_n = self.place()
        pixel, image = self.pixel(problem, m * self.tile[0] + block_n * self.boxes.pixels)
        depth, taps, group = self.depth(problem), self.taps(problem, batch), self.group(problem, batch)
        # All taps of some channels, so that what these meet is still in the L2 cache, and then the next channels.
        digits = digits_of(first, taps.counts)
        for _ in range(steps):
            arrived = self.expect(full, empty, stage, phase)
            channel = group * depth + digits[-1] * self.tile[2]
            box = self.gathered.box(channel, pixel, image, taps.offsets(digits[:-1]))
            tap = taps.number(digits[:-1])
            copy_tile(tma_a, box, to_a[None, stage], arrived, mask_a)
            copy_tile(tma_b, from_b[None, n, digits[-1], tap, group], to_b[None, stage], arrived, mask_b)
            stage, phase = self.following(stage, phase)
            digits = added(digits, (1,) + (0,) * self.convolution.rank, taps.counts)
        return stage, phase

    def pixel(self, problem, row):
        """The pixel and the image where the box of a row of A, and those after it, begins."""
        reach = window(self.convolution, self.geometry(problem))
        *places, image = digits_of(row, reach.extent)
        return [lower + at * step for lower, at, step in zip(reach.lower, places, reach.step, strict=True)], image
