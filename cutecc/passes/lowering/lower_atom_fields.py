"""What a kernel tells an atom beside its type: a barrier, the blocks that receive, whether a product adds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, view
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import HINT, spelled, state_of
from cutecc.passes.lowering.values.leaves import Leaves, type_of_leaf
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerAtomFields(LeafConversion):
    """Write an atom of which a field is set as its fields, one of them another value."""

    name: ClassVar[str] = "lower-atom-fields"

    @converts_leaves("cute_nvgpu.atom.set_value")
    def set(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        index, type = _field(operation)
        atom, value = operation.operands
        fields = list(leaves.of(atom))
        fields[index] = _as(leaves.of(value)[0], type)
        return [fields]

    @converts_leaves("cute_nvgpu.atom.get_value")
    def get(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        index, _ = _field(operation)
        return _as(leaves.of(operation.operands[0])[index], type_of_leaf(operation.results[0]))


def _field(operation: ir.Operation) -> tuple[int, ir.Type]:
    """Where among what the atom carries the field is, and its type."""
    match view(operation.operands[0].type):
        case (CopyAtom() as atom) | (MmaAtom() as atom) | TiledCopy(atom=atom) | TiledMma(atom=atom):
            state = state_of(atom) or ()
        case other:
            raise Error(f"{other} is no atom")
    found = re.search(r"<(\w+)>", str(operation.attributes["field"]))
    name = found[1] if found else ""
    for index, (field, type) in enumerate(state):
        if field == name:
            return index, ir.Type.parse(type)
    raise Error(f"the open lowering does not know the field {name} of {spelled(atom)} yet", hints=[HINT])


def _as(value: ir.Value, type: ir.Type) -> ir.Value:
    """A field of another type: a pointer as its number or from it, or as one of another address space."""
    if value.type == type:
        return value
    if isinstance(value.type, ir.VectorType) or isinstance(type, ir.VectorType):
        raise Error(f"the field is of type {type}, and is given a value of type {value.type}")
    match (value.type, type):
        case (_, ir.IntegerType()):
            return llvm.ptrtoint(type, value)
        case (ir.IntegerType(), _):
            return llvm.inttoptr(type, value)
        case _:
            return llvm.addrspacecast(type, value)
