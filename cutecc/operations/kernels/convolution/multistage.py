"""Convolutions by the multistage kernels of `tensor_op` and `simt`: what they take, how they work. Needs no DSL.

They are those of GEMM in all but how the tiles of A and B are fetched. A thread copies the same vectors of every tile.
What belongs to a vector's row, its pixel and its place in memory, is computed once; what belongs to its step along K
goes on from step to step: one tap after the other, or with `few_channels`, `fixed_channels` and of `wgrad` element
after element. The `analytic` iterator computes that anew at each step, and multiplies every tap of a strided dgrad.

The `optimized` strided dgrad takes pixels by phases instead, those that leave the same when divided by the stride: see
`phases.py`. Each has tiles of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels import sm80
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.family import Refusal
from cutecc.operations.kernels.workspace import round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits

_OTHER_REGISTERS = 56
"""Of a thread: fragments, addresses in shared memory, and what is the same for all threads."""


@dataclass(frozen=True)
class GatheredPlan(sm80.OperandPlan):
    """How the gathered operand is loaded: threads have few rows and columns, which take registers each."""

    rank: int = 2
    walks_elements: bool = False
    """Whether each column of a thread goes along K by itself, not all of them by one tap after the other."""

    @property
    def copying(self) -> tuple[int, int]:
        contiguous, other = self._run // self.vector, self.extents[1]
        most = gcd(contiguous, self.threads)
        ways = [(each, gcd(other, self.threads // each)) for each in range(1, most + 1) if most % each == 0]
        full = max(along * across for along, across in ways)
        # Neighbouring threads read what lies together: lines of memory, or with elements of several taps 16 bytes.
        least = min(most, max(1, self._together // (self.vector * self.bytes)))
        ways = [way for way in ways if way[0] >= least and way[0] * way[1] == full] or [super().copying]
        return min(ways, key=lambda way: (self.registers(way), -way[0]))

    @property
    def _together(self) -> int:
        if self.is_k_major:
            return WIDEST_ALIGNMENT if self.walks_elements else 64
        return sm80.LINE if self.vector * self.bytes == WIDEST_ALIGNMENT else WIDEST_ALIGNMENT

    def registers(self, copying: tuple[int, int]) -> int:
        """Of a thread for the rows and columns of its vectors: addresses and pixels."""
        along, across = self.extents[0] // self.vector // copying[0], self.extents[1] // copying[1]
        rows, columns = (across, along) if self.is_k_major else (along, across)
        return rows * (2 + self.rank) + columns * (3 + self.rank if self.walks_elements else 0)


def sm80_plans(description: ConvolutionDescription) -> tuple[sm80.OperandPlan, sm80.OperandPlan]:
    """How A and B are loaded by the kernels of tensor cores."""
    a, b = sm80.plans(description.gemm)
    is_wgrad = description.kind == "wgrad"
    walks_elements = is_wgrad or description.iterator in ("few_channels", "fixed_channels")
    gathered = GatheredPlan(**vars(b if is_wgrad else a), rank=description.rank, walks_elements=walks_elements)
    return (a, gathered) if is_wgrad else (gathered, b)


def tiles_by_phase(description: ConvolutionDescription) -> bool:
    """Whether rows are taken by phases."""
    return (description.kind, description.stride, description.iterator) == ("dgrad", "strided", "optimized")


def phase_count(geometry: Geometry) -> Any:
    return prod(geometry.stride)


def tiled_rows(description: ConvolutionDescription, geometry: Geometry) -> Any:
    """Rows that the phases of a strided dgrad are tiled as: each has whole tiles, as many as the largest, the first."""
    tile = description.gemm.tile.threadblock[0]
    extents = zip(geometry.image, geometry.stride, strict=True)
    largest = geometry.images * prod((extent + stride - 1) // stride for extent, stride in extents)
    return round_up(largest, tile) * phase_count(geometry)


def reduces_phases(description: ConvolutionDescription) -> bool:
    """Whether tiles of phases leave parts of reductions over rows; slices of K are added up in tiles of all rows."""
    gemm = description.gemm
    over_rows = any(each.reduction != "none" and each.kind != "column" for each in gemm.epilogue.outputs)
    return tiles_by_phase(description) and gemm.mode == "gemm" and over_rows


def accepts(description: ConvolutionDescription) -> Refusal | None:
    """What the code cannot do, once the rules of convolutions and of the product hold."""
    if description.gemm.family == "sm80" and (refused := _registers(description)) is not None:
        return refused
    if not tiles_by_phase(description):
        return None
    if description.gemm.mode == "split_k_serial":
        return Refusal("slices of a strided dgrad do not take turns: phases have tiles of their own", ("mode",))
    return None


def _registers(description: ConvolutionDescription) -> Refusal | None:
    """Sums, elements on their way to shared memory, and what is kept of rows and columns."""
    gemm = description.gemm
    threads = sm80.block_threads(gemm)
    m, n, _ = gemm.tile.threadblock
    sums = m * n * type_bits(gemm.instruction.accumulator) // 32 // sm80.holding_threads(gemm)
    kept, plans = 0, sm80_plans(description)
    if all(plan.is_asynchronous for plan in plans):
        return None  # of wide vectors there are few
    for plan in plans:
        kept += plan.held * plan.bytes // 4
        if isinstance(plan, GatheredPlan):
            kept += plan.registers(plan.copying)
        else:
            along, across = plan.copying
            rows = plan.tile[0] // (across if plan.is_k_major else along * plan.vector)
            kept += 2 * rows
    most = min(255, 65536 // threads) - _OTHER_REGISTERS
    if sums + kept <= most:
        return None
    reason = f"a thread has {sums} registers of sums and {kept} for what it copies, and room for {most}"
    return Refusal(reason, ("tile.m", "tile.n", "tile.k", "tile.warps", "a.alignment", "b.alignment"))
