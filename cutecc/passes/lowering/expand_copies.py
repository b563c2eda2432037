"""`cute.copy` and `cute.prefetch` become loops over copy atoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import Error
from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.types import to_type, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.limits import limited
from cutecc.passes.lowering.atoms.table import copy_atom, copy_row
from cutecc.passes.lowering.values.failing import building_before
from cutecc.passes.lowering.values.leaves import Leaves, pack
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.lowering.values.tensors import Tile, operand_of, tensor_value
from cutecc.passes.registry import register

_CALLS = {"cute.copy": "cute.copy_atom_call", "cute.prefetch": "cute.prefetch_atom_call"}


@register
@dataclass(frozen=True)
class ExpandCopies(ModulePass):
    """Write out every `cute.copy`, and `cute.prefetch`, as a loop over its atom.

    The first mode of the tensors is what an atom moves, once or several times; all others are the loop, which is to be
    unrolled. A predicate tensor has one element for each turn, or for several that follow each other in the first mode.
    """

    name: ClassVar[str] = "expand-copies"
    lowers: ClassVar[tuple[str, ...]] = tuple(_CALLS)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for copy in limited(walk(module, *self.lowers)):
            with building_before(copy):
                _expand(copy, leaves)
            editing.erase(copy)


def _expand(copy: ir.Operation, leaves: Leaves) -> None:
    operands = list(copy.operands)
    atom = copy_atom(view(operands[0].type))
    row = copy_row(atom)
    tensors = [operand_of(operand, leaves) for operand in operands[1:]]
    tiles = row.tiles(atom, tensors[:2])
    if len(tensors) > 2:
        # There is a predicate for each atom.
        tiles.append(Tile.single(tensors[2], tiles[0].repeated))
    turns = {tile.turns for tile in tiles}
    if len(turns) != 1:
        counts = ", ".join(str(tile.turns) for tile in tiles)
        raise Error(f"its tensors are not the same number of atoms: {counts}")
    atom_value = pack(to_type(atom), leaves.of(operands[0]))
    with unrolled_loop(tiles[0].turns) as turn:
        calls = [tensor_value(tile.at(turn)) for tile in tiles]
        attributes: dict[str, Any] = {}
        if copy.name == "cute.copy":
            attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, 1, len(calls) - 2])
        ir.Operation.create(_CALLS[copy.name], [], [atom_value, *calls], attributes=attributes)
