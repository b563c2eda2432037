# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The wgrad on Hopper: K are pixels of outputs, of which TMA gathers what each tap of a tile's columns meets."""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution.digits import added, digits_of
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.sm90_kernel import Sm90Convolution
from cutecc.operations.kernels.convolution.windows import all_taps, window
from cutecc.operations.kernels.sm90_stages import copy_tile


class Sm90Wgrad(Sm90Convolution):
    """B is gathered, pixel after pixel; A are the same pixels of outputs."""

    def loads(self, problem, name: str, tensor, rows: int, sharers: int):
        if name == "b":
            layout = self.staged(name, (rows, self.tile[2], self.stages))
            return layout, self.gathered.atom(tensor, self.geometry(problem)), None
        m, _, k, groups = problem[:4]
        layout = cute.make_layout((m, k, groups), stride=(1, tensor.stride[0], cutlass.Int64(m)))
        return super().loads(problem, name, cute.make_tensor(tensor.iterator, layout), rows, sharers)

    def sources(self, load_a, load_b):
        block_m, block_n = self.place()
        tile_m, _, tile_k = self.tile
        tma_b, _, staged = load_b
        of_a = self.partitioned(load_a, (tile_m, tile_k), block_n, sharers=self.cluster[1])
        to_b = self.gathered.staged(staged, self.stages)[None, block_m, None, None]
        mask_a, mask_b = self.receivers(block_m, block_n)
        return (*of_a, mask_a), (tma_b, to_b, mask_b)

    @cute.jit
    def fetch(self, task, problem, sources, full, empty, stage, phase):
        (m, n, batch, _, first, steps) = task
        (tma_a, from_a, to_a, mask_a), (tma_b, to_b, mask_b) = sources
        block_m, _ = self.place()
        geometry = self.geometry(problem)
        reach = window(self.convolution, geometry)
        across = self.boxes_across(geometry, n, problem)
        step = digits_of(cutlass.Int32(self.tile[2]), reach.extent)
        digits = digits_of(first * self.tile[2] + block_m * self.boxes.pixels, reach.extent)
        for number in range(first, first + steps):
            arrived = self.expect(full, empty, stage, phase)
            copy_tile(tma_a, from_a[None, m, number, batch], to_a[None, stage], arrived, mask_a)
            pixel = [lower + at * apart for lower, at, apart in zip(reach.lower, digits[:-1], reach.step, strict=True)]
            for i, (channel, offsets) in enumerate(across):
                box = self.gathered.box(batch * (geometry.channels // problem[3]) + channel, pixel, digits[-1], offsets)
                copy_tile(tma_b, box, to_b[None, i, stage], arrived, mask_b)
            stage, phase = self.following(stage, phase)
            digits = added(digits, step, reach.extent)
        return stage, phase

    def boxes_across(self, geometry: Geometry, n, problem) -> list[tuple[Any, list[Any]]]:
        """The first channel and the offsets of the tap of each box of B of a tile; behind the last one, those of it."""
        boxes, taps = self.boxes, all_taps(self.convolution, geometry)
        of_tap = geometry.channels // problem[3] // boxes.channels
        last, found = of_tap * taps.count - 1, []
        for i in range(boxes.across):
            box, *tap = digits_of(cutlass.min(n * boxes.across + i, last), (of_tap, *taps.counts[:-1]))
            found.append((box * boxes.channels, taps.offsets(tap)))
        return found
