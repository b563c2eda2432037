# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The strided dgrad on Hopper: the pixels of D in phases, of which each is a dgrad of stride 1 with taps of its own.

Which taps a phase meets, `phases.py` says. What they gather moves by one output from one pixel of the phase to the
next, which is what TMA does.

A phase is part of a tile's batch. Its rows are all that the largest phase has; of those beyond the image, D has none.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import cutlass

from cutecc.operations.kernels.convolution.digits import digits_of, quotient
from cutecc.operations.kernels.convolution.phases import meeting_taps
from cutecc.operations.kernels.convolution.sm90_kernel import Sm90TapConvolution
from cutecc.operations.kernels.convolution.windows import TapAxis, Taps, window
from cutecc.operations.kernels.outgoing_rows import OutgoingRows


class Sm90StridedDgrad(Sm90TapConvolution):
    """Its batches are phases, and in each the groups."""

    def tiled(self, problem):
        geometry = self.geometry(problem)
        rows = geometry.images * prod(window(self.convolution, geometry).extent)
        return rows, problem[1], problem[2], problem[3] * prod(geometry.stride)

    def group(self, problem, batch):
        return quotient(batch, problem[3])[1] if self.convolution.groups == "many" else 0

    def left(self, problem, batch) -> tuple[Any, ...]:
        """Of a batch's phase, what pixels leave when divided by the stride; the fastest mode first."""
        phase = quotient(batch, problem[3])[0] if self.convolution.groups == "many" else batch
        return digits_of(phase, tuple(reversed(self.geometry(problem).stride[1:])))

    def taps(self, problem, batch) -> Taps:
        geometry = self.geometry(problem)
        filter, padding, stride, dilation = (
            tuple(reversed(each)) for each in (geometry.filter, geometry.padding, geometry.stride, geometry.dilation)
        )
        axes = []
        lower = window(self.convolution, geometry).lower
        modes = zip(filter, padding, stride, dilation, self.left(problem, batch), lower, strict=True)
        for count, before, step, apart, left, least in modes:
            reach = left + before
            first, period = meeting_taps(reach, apart, step)
            found = quotient(cutlass.max(count - first, 0) + period - 1, period)[0]
            shift = -quotient(period * apart, step)[0]
            axes.append(TapAxis(found, first, period, (reach - first * apart) // step - least, shift))
        return Taps(tuple(axes), filter, self.convolution.mode == "convolution")

    def rows_of_phase(self, problem, batch) -> Callable[[Any], tuple[Any, Any]]:
        """Of a row of a batch the row of D, and whether there is it."""
        geometry = self.geometry(problem)
        extent, left = window(self.convolution, geometry).extent, self.left(problem, batch)

        def row(index):
            *places, image = digits_of(index, extent)
            at, is_inside = image, image < geometry.images
            sizes = zip(reversed(places), reversed(left), geometry.stride, geometry.image, strict=True)
            for place, first, step, size in sizes:
                pixel = place * step + first
                at, is_inside = at * size + pixel, is_inside & (pixel < size)
            return at, is_inside

        return row

    def load_early(self, coordinates, problem, batch, operands):
        group, rows = self.group(problem, batch), self.rows_of_phase(problem, batch)
        return self.epilogue.load_early(coordinates, problem, group, operands, rows)

    def apply(self, sums, coordinates, problem, batch, outgoing, workspace, slices, tile, warp):
        operands, early, *_ = outgoing
        group, rows, takers = self.group(problem, batch), self.rows_of_phase(problem, batch), {}
        if self.result is not None:
            argument = operands[self.product.epilogue.operands.index(self.result)]
            matrix = self.epilogue.of_batch(self.result, argument, problem, group)
            boxes = self.outgoing_boxes(outgoing, group, OutgoingRows)
            takers[self.result.name] = boxes.to_rows(matrix, rows, problem[1])
        self.epilogue.apply(
            *(sums, coordinates, problem, group, operands),
            **{"workspace": workspace, "slices": slices, "tile": tile, "warp": warp},
            **{"early": early, "takers": takers, "rows": rows},
        )
