"""What a family of kernels says of itself: which descriptions it takes and what they cost. Needs no DSL.

Each family is a module here, `simt`, `sm80`, `sm90`, with the two functions of `KernelFamily` at its top level.
`cutecc.operations.validity` has already checked what holds for every family of that unit (types, layouts, alignments,
that warps divide the threadblock, registers of accumulators), so a family answers for what only its code knows.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol, cast

from cutecc.operations.description import Family, GemmDescription

_OperandPart = Literal[
    "a.dtype",
    "a.layout",
    "a.alignment",
    "b.dtype",
    "b.layout",
    "b.alignment",
    "c.dtype",
    "c.layout",
    "c.alignment",
    "d.dtype",
    "d.layout",
    "d.alignment",
]
TilePart = Literal["tile.m", "tile.n", "tile.k", "tile.stages", "tile.warps", "tile.cluster", "tile.schedule"]
_OtherPart = Literal["target", "c", "instruction", "accumulator", "arithmetic", "epilogue", "swizzle", "mode"]
Part = Literal[_OperandPart, TilePart, _OtherPart]
"""A part of a description that can be changed on its own. `instruction` is its unit and shape, `c` whether there is a
source at all, `tile.m` the M of the threadblock."""


@dataclass(frozen=True)
class Refusal:
    """Why a description has no kernel."""

    reason: str
    """One sentence in lower case, without a full stop, with the numbers that do not fit."""
    parts: tuple[Part, ...]
    """The parts of which at least one must change. What is not named here is not tried for the nearest description."""


class KernelFamily(Protocol):
    """The functions that a family's module has. They get descriptions as they are compiled: D is never column-major."""

    def shared_memory_bytes(self, description: GemmDescription) -> int:
        """Dynamic shared memory of one threadblock: stages, epilogue, barriers."""
        ...

    def accepts(self, description: GemmDescription) -> Refusal | None:
        """What the family's code cannot do, `None` when it can do all; called once the general rules hold."""
        ...


@cache
def family(name: Family) -> KernelFamily:
    """The family of this name."""
    return cast("KernelFamily", importlib.import_module(f"{__name__.rpartition('.')[0]}.{name}"))
