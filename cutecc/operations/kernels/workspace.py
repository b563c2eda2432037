"""How a workspace is divided: copies of operands, turns and partial sums of split K, parts of reductions. No DSL.

The arithmetic works on Python's integers, and on the DSL's where a kernel finds its regions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import ACCUM, Kind, Output
from cutecc.operations.kernels.operand_copies import operand_copies
from cutecc.operations.operand import Operand, type_bits

ALIGNMENT = 16
"""Bytes that the offset of every region is a multiple of."""
TURNS, PARTIALS = "turns", "partials"
"""Names of the regions of split K; those of reductions have `parts of ` before the name of the output."""


@dataclass(frozen=True)
class Cut:
    """How D is cut into the tiles that run the epilogue, and each among warps."""

    tile: tuple[int, int]
    warps: tuple[int, int]
    """Along M and N."""

    def tiles(self, m: Any, n: Any) -> tuple[Any, Any]:
        """How many tiles there are along M and N."""
        return ceil_div(m, self.tile[0]), ceil_div(n, self.tile[1])

    def parts(self, kind: Kind, m: Any, n: Any) -> Any:
        """How many partial results there are of each result of a reduction: each warp that has some makes one."""
        along_m, along_n = self.tiles(m, n)
        along_m, along_n = along_m * self.warps[0], along_n * self.warps[1]
        match kind:
            case "row":
                return along_m
            case "column":
                return along_n
            case _:
                return along_m * along_n


SUMMING_CUT = Cut((16, 64), (2, 2))
"""Of the kernel that adds up the slices of parallel split K."""


@dataclass(frozen=True)
class Region:
    """A part of the workspace."""

    name: str
    offset: Any
    """Bytes."""
    bytes: Any
    is_zeroed: bool = False
    """Whether it has to hold zeros before the first launch; every launch leaves zeros."""


def needs_workspace(description: GemmDescription) -> bool:
    """Whether a kernel of this description takes a workspace."""
    splits = description.mode in ("split_k_serial", "split_k_parallel")
    return splits or description.epilogue.has_reductions or bool(operand_copies(description))


def epilogue_cut(description: GemmDescription) -> Cut:
    """How D is cut where the epilogue runs."""
    if description.mode == "split_k_parallel":
        return SUMMING_CUT
    tile = description.tile
    m, n, _ = tile.threadblock
    if description.family != "sm90":
        return Cut((m, n), tile.warps[:2])
    # The four warps of a warpgroup lie along M; with `pingpong` a tile belongs to one warpgroup.
    return Cut((m, n), (4 if tile.schedule == "pingpong" else 4 * tile.warps[0], 1))


def regions(description: GemmDescription, m: Any, n: Any, k: Any, batches: Any, slices: Any) -> list[Region]:
    """The regions for a problem of M×N×K and some batches; `slices` counts for split K only."""
    found: list[Region] = []

    def add(name: str, size: Any, is_zeroed: bool = False) -> None:
        offset = found[-1].offset + found[-1].bytes if found else 0
        found.append(Region(name, offset, round_up(size, ALIGNMENT), is_zeroed))

    cut = epilogue_cut(description)
    if description.mode == "split_k_serial":
        along_m, along_n = cut.tiles(m, n)
        element = type_bits(description.instruction.accumulator) // 8
        add(TURNS, along_m * along_n * 4, is_zeroed=True)
        add(PARTIALS, along_m * along_n * (cut.tile[0] * cut.tile[1] * element))
    elif description.mode == "split_k_parallel":
        element = type_bits(partial_type(description)) // 8
        add(PARTIALS, slices * m * partial_row(description, n) * element)
    for copy in operand_copies(description):
        add(copy_name(copy.name), copy.bytes(m, n, k, batches))
    for output in description.epilogue.outputs:
        if output.reduction != "none":
            extent = {"row": n, "column": m}.get(output.kind, 1)
            parts = cut.parts(output.kind, m, n) * extent * batches
            add(parts_name(output.name), parts * (type_bits(description.epilogue.compute) // 8))
    return found


def workspace_bytes(description: GemmDescription, m: int, n: int, k: int, batches: int = 1, slices: int = 1) -> int:
    """The bytes that a launch on this problem needs."""
    found = regions(description, m, n, k, batches, slices)
    return found[-1].offset + found[-1].bytes if found else 0


def copy_name(operand: str) -> str:
    """The name of the region for the copy of `a` or `b`."""
    return f"copy of {operand}"


def parts_name(output: str) -> str:
    """The name of the region for the parts of an output that is a reduction."""
    return f"parts of {output}"


def product(description: GemmDescription) -> GemmDescription:
    """What the blocks of a kernel compute: of parallel split K, as many products as slices, each whole in itself."""
    if description.mode != "split_k_parallel":
        return description
    dtype, accumulator = partial_type(description), description.instruction.accumulator
    sums = Output("D", "full", dtype, ACCUM, conversion="clamp" if dtype == "i32" else "round")
    epilogue = Epilogue((), (), (sums,), accumulator, "f32" if accumulator == "f16" else accumulator)
    return replace(description, mode="gemm", d=Operand(dtype, "row"), c=None, epilogue=epilogue)


def partial_type(description: GemmDescription) -> str:
    """The type in which slices of parallel split K leave their sums: the accumulator's, but f32 for f16."""
    accumulator = description.instruction.accumulator
    return "f32" if accumulator == "f16" else accumulator


def partial_row(description: GemmDescription, n: Any) -> Any:
    """The leading dimension of the partial sums of a slice, in elements: N, filled up to 16 bytes."""
    return round_up(n, ALIGNMENT * 8 // type_bits(partial_type(description)))


def ceil_div(value: Any, by: int) -> Any:
    """`value / by`, rounded up."""
    return (value + (by - 1)) // by


def log2(power: int) -> int:
    """The exponent of a power of two."""
    return power.bit_length() - 1


def round_up(value: Any, to: int) -> Any:
    """The next multiple of `to`."""
    return ceil_div(value, to) * to
