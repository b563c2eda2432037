"""Atoms become instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.segments import segments
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import copy_atom, copy_row, mma_atom, mma_row, prefetch_row
from cutecc.passes.lowering.atoms.rows import State
from cutecc.passes.lowering.atoms.uses import Copy, Product, in_memory
from cutecc.passes.lowering.atoms.writing import write
from cutecc.passes.lowering.values.integers import Predicate, compare, constant, resize
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.lowering.values.loops import only_if
from cutecc.passes.lowering.values.tensors import operand_of
from cutecc.passes.lowering.values.vector_accesses import Tensor, load_element, stored_type
from cutecc.passes.registry import register
from cutecc.target import Target


@register
@dataclass(frozen=True)
class LowerAtoms(LeafConversion):
    """Write every copy and matrix product atom as its instructions.

    The atoms that are known are in `cutecc/passes/lowering/atoms`, a row each, and in packages that bring rows. An atom
    whose instruction has no predicate of its own stands under a condition.
    """

    name: ClassVar[str] = "lower-atoms"

    chip: str = "sm_80"
    """The target whose instructions there are."""

    @converts_leaves("cute.copy_atom_call")
    def lower_copy(self, call: ir.Operation, leaves: Leaves) -> Converted:
        (atom_value,), *groups = segments(call)
        atom = copy_atom(leaves.view(atom_value))
        row = copy_row(atom, self._target)
        (source, *beside), (destination, *further), predicates = (
            [operand_of(value, leaves) for value in group] for group in groups
        )
        second = next((in_memory(each) for each in (*beside, *further)), None)
        condition = None
        if predicates:
            (predicate,) = predicates
            assert isinstance(predicate, Tensor)
            condition = _holds(predicate, own=row.has_predicate)
        own = condition if row.has_predicate else None
        with only_if(None if row.has_predicate else condition):
            fields = _fields(row.state, atom_value, leaves)
            write(row, Copy(atom, (source, destination), own, fields, second), destination)
        return []

    @converts_leaves("cute.prefetch_atom_call")
    def lower_prefetch(self, call: ir.Operation, leaves: Leaves) -> Converted:
        atom_value, source = call.operands
        atom = copy_atom(leaves.view(atom_value))
        fields = _fields(copy_row(atom, self._target).state, atom_value, leaves)
        prefetch_row(atom, self._target).write(Copy(atom, (operand_of(source, leaves),), None, fields))
        return []

    @converts_leaves("cute.mma_atom_call")
    def lower_product(self, call: ir.Operation, leaves: Leaves) -> Converted:
        atom_value, *values = call.operands
        atom = mma_atom(leaves.view(atom_value))
        row = mma_row(atom, self._target)
        d, a, b, c = (operand_of(value, leaves) for value in values)
        write(row, Product(atom, (d, a, b, c), _fields(row.state, atom_value, leaves)), d)
        return []

    @property
    def _target(self) -> Target:
        return Target.parse(self.chip)


def _fields(state: State, atom: ir.Value, leaves: Leaves) -> dict[str, ir.Value]:
    return {name: leaf for (name, _), leaf in zip(state, leaves.of(atom), strict=True)}


def _holds(predicate: Tensor, *, own: bool) -> ir.Value:
    """Whether the first element of `predicate` is not zero; `own` says that the instruction has a predicate of its own.

    For such an instruction the wheel looks at the lowest byte alone.
    """
    type = stored_type(predicate.element)
    if not isinstance(type, ir.IntegerType):
        raise Error(f"a copy's predicates are integers, not {predicate.element}")
    held = load_element(predicate.element, type, predicate.address(predicate.layout(0)), predicate.alignment)
    if own and type.width > 8:
        held = resize(held, 8)
    return compare(Predicate.NOT_EQUAL, held, constant(0, ir.IntegerType(held.type).width))
