# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The gathered operand of a Hopper convolution: TMA's loads of pixels by channels, for one tap of the filter each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.sm90 import GatheredBoxes
from cutecc.operations.kernels.convolution.windows import window
from cutecc.operations.kernels.sm90_instructions import staged_layout


class GatheredLoads:
    """The loads of one operand of a description."""

    def __init__(self, description: ConvolutionDescription, boxes: GatheredBoxes):
        self.description, self.boxes = description, boxes
        self.operand = description.gemm.b if description.kind == "wgrad" else description.gemm.a

    def atom(self, tensor, geometry: Geometry):
        """The TMA load of a box; `tensor` is (image, …, channel) with pixels between."""
        rank, boxes = self.description.rank, self.boxes
        reach = window(self.description, geometry)
        modes = [*reversed(range(rank + 1)), rank + 1]
        pixels = cute.group_modes(cute.select(tensor.layout, modes), 0, rank + 1)
        operation = (
            cpasync.CopyBulkTensorIm2ColG2SMulticastOp() if boxes.sharers > 1 else cpasync.CopyBulkTensorIm2ColG2SOp()
        )
        none, one = (0,) * rank, (1,) * rank
        sizes = tuple(tensor.shape[mode] for mode in range(rank, 0, -1))
        atom, _ = cpasync.make_im2col_tma_atom(
            operation,
            cute.make_tensor(tensor.iterator, pixels),
            staged_layout(self.operand, (boxes.pixels, boxes.channels), is_k_major=True),
            (boxes.pixels, boxes.channels),
            lower_corner_whd=reach.lower,
            upper_corner_whd=reach.upper(sizes),
            # Only for coordinates that are not used: a box's own are made in `box`.
            lower_padding_whd=none,
            upper_padding_whd=none,
            stride_whd=reach.step,
            lower_srt=none,
            stride_srt=one,
            internal_type=cutlass.TFloat32 if self.description.gemm.instruction.a == "tf32" else None,
        )
        return atom

    def staged(self, staged: cute.Tensor, stages: int) -> cute.Tensor:
        """The boxes in shared memory: (box, sharer, box across, stage)."""
        boxes = self.boxes
        size = boxes.pixels * boxes.channels
        shape = ((size, 1), boxes.sharers, boxes.across, stages)
        stride = ((1, 0), size, size * boxes.sharers, size * boxes.sharers * boxes.across)
        return cute.make_tensor(staged.iterator, cute.make_layout(shape, stride=stride))

    def box(self, channel, pixel: Sequence[Any], image, offsets: Sequence[Any]) -> cute.Tensor:
        """The box that begins at a channel and a pixel, of a tap with these offsets, as TMA takes it."""
        shape = (((self.boxes.channels, self.boxes.pixels), 1),)
        stride = (((cute.E([0]), cute.E([1, 0])), 0),)
        place = (channel, tuple(pixel), image, tuple(map(cutlass.Int32, offsets)))
        return cute.make_tensor(place, cute.make_layout(shape, stride=stride))
