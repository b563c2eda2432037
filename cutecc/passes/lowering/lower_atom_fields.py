"""What a kernel tells an atom beside its type: a barrier, the blocks that receive, whether a product adds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.atoms.registry import HINT, spelled, state_of
from cutecc.passes.lowering.values.failing import building_before
from cutecc.passes.lowering.values.leaves import Leaves, carried_by
from cutecc.passes.registry import register

_SET, _GET = "cute_nvgpu.atom.set_value", "cute_nvgpu.atom.get_value"


@register
@dataclass(frozen=True)
class LowerAtomFields(ModulePass):
    """Write an atom of which a field is set as its fields, one of them another value."""

    name: ClassVar[str] = "lower-atom-fields"
    lowers: ClassVar[tuple[str, ...]] = (_SET, _GET)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for operation in limited(walk(module, *self.lowers)):
            with building_before(operation):
                index, type = _field(operation)
                fields = list(leaves.of(operation.operands[0]))
                if operation.name == _GET:
                    asked = operation.results[0].type
                    carried = carried_by(asked)
                    found = [_as(fields[index], carried.types[0] if carried else asked)]
                else:
                    fields[index] = _as(leaves.of(operation.operands[1])[0], type)
                    found = fields
            leaves.replace(operation, [found])


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
    match (value.type, type):
        case (_, ir.IntegerType()):
            name = "llvm.ptrtoint"
        case (ir.IntegerType(), _):
            name = "llvm.inttoptr"
        case _:
            name = "llvm.addrspacecast"
    return ir.Operation.create(name, [type], [value]).result
