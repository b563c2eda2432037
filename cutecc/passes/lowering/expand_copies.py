"""`cute.copy` and `cute.prefetch` become loops over copy atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import cute, ir
from cutecc.ir.types import CoordTensor, CopyAtom, MemRef, to_type, view
from cutecc.layout import Layout
from cutecc.layout.tiled import values_of
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import CopyRow, copy_atom, copy_row, find_copy_row
from cutecc.passes.lowering.values.leaves import Leaves, pack
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.lowering.values.tensors import Tile, known_count, modes_of, operand_of, tensor_value
from cutecc.passes.registry import register

_COPIES, _PREFETCHES = ("cute.copy", "cute.copy_atom_call"), ("cute.prefetch", "cute.prefetch_atom_call")
"""What becomes a loop over the last: a call that is not of one atom too."""


@register
@dataclass(frozen=True)
class ExpandCopies(LeafConversion):
    """Write out every `cute.copy`, and `cute.prefetch`, as a loop over its atom; calls of atoms that move several, too.

    The first mode of the tensors is what an atom moves, once or several times; all others are the loop, which is to be
    unrolled. A predicate tensor has one element for each turn, or for several that follow each other in the first mode.
    A universal copy whose type says no width moves all of the first mode at once, unless there is a predicate.
    """

    name: ClassVar[str] = "expand-copies"
    lowers: ClassVar[tuple[str, ...]] = (_COPIES[0], _PREFETCHES[0])

    @converts_leaves(*_COPIES, *_PREFETCHES)
    def expand(self, copy: ir.Operation, leaves: Leaves) -> Converted | None:
        if copy.name not in self.lowers and _is_one_atom(copy):
            return None
        _expand(copy, leaves)
        return []


def _is_one_atom(call: ir.Operation) -> bool:
    """Whether the call of an atom, as a kernel may have one itself, moves no more than an atom does.

    Calls of atoms without a row are left to `lower-atoms`, which says so.
    """
    atom_type, *types = [view(operand.type) for operand in call.operands]
    row = find_copy_row(atom_type) if isinstance(atom_type, CopyAtom) else None
    if row is None or not isinstance(atom_type, CopyAtom):
        return True
    tensors = [each for each in types if isinstance(each, MemRef | CoordTensor)]
    layouts = [each.layout for each in tensors if isinstance(each.layout, Layout)]
    if len(layouts) < len(types):
        return True
    counts = _counts(row, atom_type, layouts[:2], predicated=len(layouts) > 2)
    return [layout.size for layout in layouts[:2]] == counts


def _counts(row: CopyRow, atom: CopyAtom, first: Sequence[Layout], *, predicated: bool) -> list[int]:
    """How many elements one call takes of each tensor, from and perhaps to; `first` are their first modes."""
    assert atom.source_tv is not None and atom.destination_tv is not None
    whole = row.whole == "always" or (row.whole == "unless predicated" and not predicated)
    if whole and "copy_bits" not in atom.parameters:
        return [known_count(mode.size) for mode in first]
    return [values_of(tv) for tv in (atom.source_tv, atom.destination_tv)][: len(first)]


def _expand(copy: ir.Operation, leaves: Leaves) -> None:
    operands = list(copy.operands)
    atom = copy_atom(view(operands[0].type))
    row = copy_row(atom)
    tensors = [operand_of(operand, leaves) for operand in operands[1:]]
    counts = _counts(row, atom, [modes_of(each)[0] for each in tensors[:2]], predicated=len(tensors) > 2)
    tiles = [Tile.of(tensor, count) for tensor, count in zip(tensors, counts, strict=False)]
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
        if copy.name in _PREFETCHES:
            cute.prefetch_atom_call(atom_value, calls)
        else:
            source, destination, *predicate = calls
            cute.copy_atom_call(atom_value, [source], [destination], pred=predicate[0] if predicate else None)
