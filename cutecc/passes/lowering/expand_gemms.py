"""`cute.gemm` becomes loops over matrix product atoms, and so do calls of several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from cutecc.errors import Error
from cutecc.ir.mlir import cute, ir
from cutecc.ir.segments import segments
from cutecc.ir.types import AddressSpace, MemRef, MmaAtom, SmemDescriptorView, to_type, view
from cutecc.layout import Layout, join, symbol
from cutecc.layout.integers import Integer
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.atoms.registry import find_mma_row, mma_atom, mma_row, spelled
from cutecc.passes.lowering.atoms.uses import in_memory, thread_counts
from cutecc.passes.lowering.values.leaves import Leaves, pack
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.lowering.values.tensors import (
    Matrices,
    Operand,
    Tile,
    known_count,
    modes_of,
    operand_of,
    plain_layout,
    tensor_of,
    tensor_value,
)
from cutecc.passes.lowering.values.vector_accesses import Tensor
from cutecc.passes.registry import register

_ONE = Layout(1, 0)
_BESIDE_A: Final = ("sf_a", "e")
"""The fields of an atom that are where tensors beside A are: of its scales, and of what a sparse one has."""
_BESIDE_B: Final = ("sf_b",)


@register
@dataclass(frozen=True)
class ExpandGemms(LeafConversion):
    """Write out every `cute.gemm` as loops over its atom, along K, M and N.

    The operands are A (values, M, K), B (values, N, K), C and D (values, M, N), where modes of 1 may be missing: K, all
    of M, N and K, and that of values, from (M, K) × (N, K) → (M, N) and from (M) × (N) → (M, N). Products are added in
    the order of K. Values of several atoms are so many products, each of its own values: a loop inside. Where the
    scales of A and B come as tensors beside them, each product has a field set to where its own are.
    """

    name: ClassVar[str] = "expand-gemms"
    lowers: ClassVar[tuple[str, ...]] = ("cute.gemm",)

    @converts_leaves("cute.gemm")
    def expand(self, gemm: ir.Operation, leaves: Leaves) -> Converted:
        _expand(gemm, leaves)
        return []

    @converts_leaves("cute.mma_atom_call")
    def expand_call(self, call: ir.Operation, leaves: Leaves) -> Converted | None:
        if _is_one_atom(call):
            return None
        product = _Operands.of(call, leaves)
        product.call(product.operands, {})
        return []


@dataclass(frozen=True)
class _Operands:
    """What a `cute.gemm`, or one call of the atom, multiplies."""

    atom: MmaAtom
    value: ir.Value
    """Of the atom."""
    fields: Sequence[ir.Value]
    """What that carries."""
    operands: tuple[Operand, Operand, Operand, Operand]
    """D, A, B and C."""
    beside: Sequence[tuple[int, Operand, str]]
    """Tensors beside A and B: which field says where each is, and what its second and third mode count along."""

    @classmethod
    def of(cls, operation: ir.Operation, leaves: Leaves) -> _Operands:
        (mma,), (d,), (a, *beside_a), (b, *beside_b), (c,) = segments(operation)
        atom = mma_atom(view(mma.type))
        names = [name for name, _ in mma_row(atom).state]
        beside: list[tuple[int, Operand, str]] = []
        for which, tensors, known, modes in (("A", beside_a, _BESIDE_A, "mk"), ("B", beside_b, _BESIDE_B, "nk")):
            found = [names.index(name) for name in known if name in names]
            if len(tensors) > len(found):
                raise Error(f"{spelled(atom)} takes {'no other' if found else 'no'} tensor beside {which}")
            beside += [(index, _operand(each, leaves), modes) for index, each in zip(found, tensors, strict=False)]
        d, a, b, c = (_operand(each, leaves) for each in (d, a, b, c))
        fields = leaves.of(mma)
        return cls(atom, pack(to_type(atom), fields), fields, (d, a, b, c), beside)

    def call(self, operands: Sequence[Operand], turns: _Turns) -> None:
        """Write the products of these parts, which have the values of one atom, or of several."""
        value = self.value
        if self.beside:
            fields = list(self.fields)
            for index, tensor, modes in self.beside:
                fields[index] = in_memory(_part(tensor, modes, turns)).pointer
            value = pack(to_type(self.atom), fields)
        _call(self.atom, value, operands)


def _is_one_atom(call: ir.Operation) -> bool:
    """Whether a call, as a kernel may have one itself, has the values of one atom. Others tell of atoms with no row."""
    atom = mma_atom(view(call.operands[0].type))
    if find_mma_row(atom) is None:
        return True
    if len(call.operands) > 5:
        return False
    tensors = [view(operand.type) for operand in call.operands[1:]]
    layouts = [each.layout for each in tensors if isinstance(each, MemRef) and isinstance(each.layout, Layout)]
    if len(layouts) < len(tensors):
        # Matrices in shared memory, of which one is all that an atom takes.
        return True
    return [layout.size for layout in layouts] == _counts(atom)


def _counts(atom: MmaAtom) -> list[int]:
    """How many values of D, A, B and C an atom takes of a thread."""
    a, b, c = thread_counts(atom)
    return [c, a, b, c]


def _taken(operand: Operand, count: int) -> int:
    """How many elements of an operand an atom takes that has `count` values of it.

    Of tensor memory it takes what begins at an address, whatever the tensor says of it.
    """
    if isinstance(operand, Tensor) and operand.space is AddressSpace.TMEM:
        return known_count(plain_layout(operand)[0].size)
    return 1 if isinstance(operand, Matrices) else count


def _call(atom: MmaAtom, atom_value: ir.Value, operands: Sequence[Operand]) -> None:
    """Write the products of D, A, B and C, which have the values of one atom, or of several."""
    first = [plain_layout(each)[0] for each in operands]
    counts = [_taken(each, count) for each, count in zip(operands, _counts(atom), strict=True)]
    tiles = [Tile.of(each, count) for each, count in zip(operands, counts, strict=True)]
    # Values at the same place as others are no more of them.
    apart = [tile.turns for tile in tiles if tile.among.stride != 0] or [1]
    if len({*apart}) != 1 or any(tile.turns != apart[0] and apart[0] != 1 for tile in tiles):
        d, a, b, c = (str(mode.size) for mode in first)
        raise Error(f"{d} values of D, {a} of A, {b} of B and {c} of C are not the same number of atoms")
    with unrolled_loop(apart[0]) as turn:
        parts = [tile.at(turn) for tile in tiles]
        d, a, b, c = map(tensor_value, parts)
        cute.mma_atom_call(atom_value, d, [a], [b], c)


def _expand(gemm: ir.Operation, leaves: Leaves) -> None:
    product = _Operands.of(gemm, leaves)
    d, a, b, c = _with_values(product.operands)
    counts = {"m": _mode(a, 1).size, "n": _mode(b, 1).size, "k": _mode(a, 2).size}
    sums = [(_mode(each, 1).size, _mode(each, 2).size) for each in (c, d)]
    if _mode(b, 2).size != counts["k"] or sums != [(counts["m"], counts["n"])] * 2:
        of_d, *others = (each.layout for each in product.operands)
        raise Error("A {}, B {}, C {} and D {} are not of matching sizes".format(*others, of_d))
    (of_d,), *_, (of_c,) = segments(gemm)[1:]
    accumulates = of_d == of_c

    def products(k: ir.Value | int | None, addend: Operand) -> None:
        with unrolled_loop(known_count(counts["m"])) as m, unrolled_loop(known_count(counts["n"])) as n:
            turns = {"m": m, "n": n, "k": k}
            parts = ((d, "mn"), (a, "mk"), (b, "nk"), (addend, "mn"))
            product.call([_part(tensor, modes, turns) for tensor, modes in parts], turns)

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


def _with_values(operands: Sequence[Operand]) -> list[Operand]:
    """D, A, B and C, each with a mode of values in front: none has one where C is (M, N)."""
    _, a, b, c = (len(modes_of(each)) for each in operands)
    if max(a, b) > 3:
        raise Error(f"A {operands[1].layout} and B {operands[2].layout} have more modes than values, M or N, and K")
    return [replace(each, layout=join(_ONE, *modes_of(each))) if c == 2 else each for each in operands]


def _mode(tensor: Operand, number: int) -> Layout:
    modes = modes_of(tensor)
    return modes[number] if number < len(modes) else _ONE


_Turns = Mapping[str, "ir.Value | int | None"]
"""Of the loops along M, N and K."""


def _part(tensor: Operand, modes: str, turns: _Turns) -> Operand:
    """What the atom takes of a tensor whose second and third mode count along `modes`."""
    offset: Integer = 0
    arithmetic = tensor.arithmetic
    for number, name in enumerate(modes, start=1):
        turn = turns.get(name)
        if isinstance(turn, int):
            offset = offset + _mode(tensor, number)(turn)
        elif turn is not None:
            arithmetic = arithmetic.having(name, turn)
            offset = offset + _mode(tensor, number)(symbol(name))
    return replace(tensor, arithmetic=arithmetic).moved(offset, join(_mode(tensor, 0)))
