"""`cute.copy` and `cute.prefetch` become loops over copy atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import cute, ir
from cutecc.ir.segments import segments
from cutecc.ir.types import CoordTensor, CopyAtom, MemRef, TypeView, to_type
from cutecc.layout import ComposedLayout, Layout
from cutecc.layout.tiled import values_of
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import copy_atom, copy_row, find_copy_row
from cutecc.passes.lowering.atoms.rows import CopyRow
from cutecc.passes.lowering.values.leaves import Leaves, pack
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.lowering.values.tensors import Operand, Tile, known_count, operand_of, plain_layout, tensor_value
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
        if copy.name not in self.lowers and _is_one_atom(copy, leaves):
            return None
        _expand(copy, leaves)
        return []


def _is_one_atom(call: ir.Operation, leaves: Leaves) -> bool:
    """Whether the call of an atom, as a kernel may have one itself, moves no more than an atom does.

    Calls of atoms without a row are left to `lower-atoms`, which says so.
    """
    atom_type = leaves.view(call.operands[0])
    row = find_copy_row(atom_type) if isinstance(atom_type, CopyAtom) else None
    if row is None or not isinstance(atom_type, CopyAtom):
        return True
    sources, destinations, predicates = _groups(call)
    layouts = [_modes(leaves.view(each)) for each in (*sources[:1], *destinations[:1])]
    known = [each for each in layouts if each is not None]
    if len(known) < len(layouts):
        return True
    return [layout.size for layout in known] == _counts(row, atom_type, known, predicated=bool(predicates))


def _modes(tensor: TypeView) -> Layout | None:
    """The layout of a tensor whose elements follow it, or what leads to its coordinates; `None` for a swizzled one."""
    match tensor:
        case MemRef(layout=Layout() as layout) | CoordTensor(layout=Layout() as layout):
            return layout
        case CoordTensor(layout=ComposedLayout(outer=layout)):
            return layout
        case _:
            return None


def _groups(copy: ir.Operation) -> list[list[ir.Value]]:
    """From what is copied, to what, and the predicates. Beside one of these there may be a second tensor."""
    if copy.name in _PREFETCHES:
        return [list(copy.operands)[1:], [], []]
    _, *groups = segments(copy)
    return groups


def _counts(row: CopyRow, atom: CopyAtom, first: Sequence[Layout], *, predicated: bool) -> list[int]:
    """How many elements one call takes of each tensor, from and perhaps to; `first` are their first modes."""
    assert atom.source_tv is not None and atom.destination_tv is not None
    whole = row.whole == "always" or (row.whole == "unless predicated" and not predicated)
    if whole and "copy_bits" not in atom.parameters:
        return [known_count(mode.size) for mode in first]
    return [values_of(tv) for tv in (atom.source_tv, atom.destination_tv)][: len(first)]


def _tiles(tensors: Sequence[Operand], count: int) -> list[Tile]:
    """Those of `count` elements of the first tensor, and of what a second one has for each of these."""
    found = [Tile.of(each, count) for each in tensors[:1]]
    for each in tensors[1:]:
        size = known_count(plain_layout(each)[0].size)
        found.append(Tile.of(each, max(1, size // found[0].repeated)))
    return found


def _expand(copy: ir.Operation, leaves: Leaves) -> None:
    atom = copy_atom(leaves.view(copy.operands[0]))
    row = copy_row(atom)
    groups = [[operand_of(each, leaves) for each in group] for group in _groups(copy)]
    sources, destinations, predicates = groups
    first = [plain_layout(each)[0] for each in (*sources[:1], *destinations[:1])]
    counts = _counts(row, atom, first, predicated=bool(predicates))
    tiles = [_tiles(group, count) for group, count in zip(groups, counts, strict=False)]
    # There is a predicate for each atom.
    tiles.append([Tile.single(each, tiles[0][0].repeated) for each in predicates])
    turns = [tile.turns for group in tiles for tile in group]
    if len({*turns}) != 1:
        raise Error(f"its tensors are not the same number of atoms: {', '.join(map(str, turns))}")
    atom_value = pack(to_type(atom), leaves.of(copy.operands[0]))
    with unrolled_loop(turns[0]) as turn:
        source, *others = [[tensor_value(tile.at(turn)) for tile in group] for group in tiles]
        if copy.name in _PREFETCHES:
            cute.prefetch_atom_call(atom_value, source)
        else:
            destination, predicate = others
            cute.copy_atom_call(atom_value, source, destination, pred=predicate[0] if predicate else None)
