"""`cute.gemm` becomes loops over matrix product atoms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cutecc.errors import Error
from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.types import SmemDescriptorView, to_type, view
from cutecc.ir.walking import walk
from cutecc.layout import Layout, join, symbol
from cutecc.layout.integers import Integer
from cutecc.passes.base import ModulePass
from cutecc.passes.limits import limited
from cutecc.passes.lowering.atoms.table import mma_atom, mma_row
from cutecc.passes.lowering.values.failing import building_before
from cutecc.passes.lowering.values.leaves import Leaves, pack
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.lowering.values.tensors import Operand, known_count, modes_of, operand_of, tensor_of, tensor_value
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class ExpandGemms(ModulePass):
    """Write out every `cute.gemm` as loops over its atom, along K, M and N.

    The operands are A (values, M, K), B (values, N, K), C and D (values, M, N), where a K of 1 may be missing. Products
    are added in the order of K.
    """

    name: ClassVar[str] = "expand-gemms"
    lowers: ClassVar[tuple[str, ...]] = ("cute.gemm",)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for gemm in limited(walk(module, *self.lowers)):
            with building_before(gemm):
                _expand(gemm, leaves)
            editing.erase(gemm)


def _expand(gemm: ir.Operation, leaves: Leaves) -> None:
    mma, *values = gemm.operands
    atom = mma_atom(view(mma.type))
    mma_row(atom)
    d, a, b, c = (_operand(value, leaves) for value in values)
    counts = {"m": _mode(a, 1).size, "n": _mode(b, 1).size, "k": _mode(a, 2).size}
    sums = [(_mode(each, 1).size, _mode(each, 2).size) for each in (c, d)]
    if _mode(b, 2).size != counts["k"] or sums != [(counts["m"], counts["n"])] * 2:
        raise Error(f"A {a.layout}, B {b.layout}, C {c.layout} and D {d.layout} are not of matching sizes")
    atom_value = pack(to_type(atom), leaves.of(mma))
    accumulates = values[0] == values[3]

    def products(k: ir.Value | int | None, addend: Operand) -> None:
        with unrolled_loop(known_count(counts["m"])) as m, unrolled_loop(known_count(counts["n"])) as n:
            turns = {"m": m, "n": n, "k": k}
            parts = [
                tensor_value(_part(tensor, modes, turns))
                for tensor, modes in ((d, "mn"), (a, "mk"), (b, "nk"), (addend, "mn"))
            ]
            attributes: dict[str, Any] = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 1, 1])}
            ir.Operation.create("cute.mma_atom_call", [], [atom_value, *parts], attributes=attributes)

    depth = known_count(counts["k"])
    if accumulates:
        with unrolled_loop(depth) as k:
            products(k, c)
        return
    # The first product is added to C, the others to D.
    for k in range(depth):
        products(k, d if k else c)


def _operand(value: ir.Value, leaves: Leaves) -> Operand:
    return operand_of(value, leaves) if isinstance(view(value.type), SmemDescriptorView) else tensor_of(value, leaves)


def _mode(tensor: Operand, number: int) -> Layout:
    modes = modes_of(tensor)
    return modes[number] if number < len(modes) else Layout(1, 0)


def _part(tensor: Operand, modes: str, turns: dict[str, ir.Value | int | None]) -> Operand:
    """What the atom takes of a tensor whose second and third mode count along `modes`."""
    offset: Integer = 0
    arithmetic = tensor.arithmetic
    for number, name in enumerate(modes, start=1):
        turn = turns[name]
        if isinstance(turn, int):
            offset = offset + _mode(tensor, number)(turn)
        elif turn is not None:
            arithmetic = arithmetic.having(name, turn)
            offset = offset + _mode(tensor, number)(symbol(name))
    return replace(tensor, arithmetic=arithmetic).moved(offset, join(_mode(tensor, 0)))
