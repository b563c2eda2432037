"""Atoms that came with Blackwell's workstation chips: products of a warp whose factors have scales."""

from __future__ import annotations

from itertools import count
from typing import Final

from cutecc.errors import Error
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import ir
from cutecc.ir.types import MmaAtom, Scalar
from cutecc.passes.lowering.atoms.registers import packed
from cutecc.passes.lowering.atoms.registry import multiplies, spelled
from cutecc.passes.lowering.atoms.rows import State
from cutecc.passes.lowering.atoms.uses import Product
from cutecc.passes.lowering.values.integers import constant, converted
from cutecc.passes.lowering.values.vector_accesses import elements_of, load, vector_of
from cutecc.ptx.types import ELEMENT_TYPES
from cutecc.target import Target

_KINDS: Final = {1: "mxf8f6f4", 2: "mxf4", 4: "mxf4nvf4"}
"""By how many scales a row of A, and a column of B, has."""
_FACTORS: Final = {32: ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"), 64: ("e2m1",)}
"""What A and B may be of, by how many elements they have along K."""
_SCALED: Final = {(32, 1): ("ue8m0",), (64, 2): ("ue8m0",), (64, 4): ("ue8m0", "ue4m3")}
"""What scales may be of, by how many elements and how many scales there are along K."""
_SCALE_TYPES: Final = {"f8E4M3FN": "ue4m3", "f8E8M0FNU": "ue8m0"}
"""None has a sign."""
_SCALES: Final[State] = (("sf_a", "!llvm.ptr"), ("sf_b", "!llvm.ptr"))
"""Where in a thread's registers its scales are."""


def _is_workstation(chip: Target) -> bool:
    return chip.major == 12 and chip.suffix in ("a", "f")


def _is_scaled(atom: MmaAtom) -> bool:
    """Whether there is such a product of these types."""
    k, scale = atom.shape_mnk[2], _SCALE_TYPES.get(str(atom.parameters["sf_type"]), "")
    factors = {ELEMENT_TYPES.get(each.name, "") for each in (atom.element_a, atom.element_b)}
    are_known = factors.issubset(_FACTORS.get(k, ())) and atom.element_c == Scalar("f32")
    return are_known and scale in _SCALED.get((k, _along_k(atom)), ())


@multiplies("SM120.mma_bs", takes=_is_scaled, chips=_is_workstation, state=_SCALES)
def multiply_scaled_by_warp(product: Product) -> None:
    """`mma.sync` with `.block_scale`: so many elements along K of A, and of B, have a scale.

    Of a register with scales, the first bytes of the first threads count, as CuTe's layout of scales has it.
    """
    a, b, c = product.loaded()
    factors_a, factors_b, sums = packed(a), packed(b), elements_of(c)
    if (len(factors_a), len(factors_b)) != (4, 2):
        message = f"{spelled(product.atom)} takes each number in a byte, and registers have some by twos"
        raise Error(message, hints=["give it a tensor of bytes, which ldmatrix unpacks to: LdMatrix8x16x8bOp"])
    scales_a, scales_b = (_scales(product.fields[name], product.atom) for name, _ in _SCALES)
    first = [constant(0, 16)] * 2
    groups = [factors_a, factors_b, sums, [scales_a], first, [scales_b], first]
    numbers = count()
    lists = ["{" + ", ".join(f"${next(numbers)}" for _ in group) + "}" for group in (sums, *groups)]
    constraints = ["=f"] * 4 + ["r"] * 6 + ["f"] * 4 + ["r", "h", "h"] * 2
    results = inline_assembly(
        f"{_instruction(product.atom)} {', '.join(lists)};",
        constraints,
        [each.type for each in sums],
        [operand for group in groups for operand in group],
    )
    product.store(vector_of(results))


def _instruction(atom: MmaAtom) -> str:
    m, n, k = atom.shape_mnk
    a, b = (ELEMENT_TYPES[each.name] for each in (atom.element_a, atom.element_b))
    along_k = _along_k(atom)
    scaling = f"kind::{_KINDS[along_k]}.block_scale.scale_vec::{along_k}X"
    scale = _SCALE_TYPES[str(atom.parameters["sf_type"])]
    return f"mma.sync.aligned.{scaling}.m{m}n{n}k{k}.row.col.f32.{a}.{b}.f32.{scale}"


def _along_k(atom: MmaAtom) -> int:
    return atom.shape_mnk[2] // atom.parameters["vec_size"]


def _scales(pointer: ir.Value, atom: MmaAtom) -> ir.Value:
    """The scales behind a pointer, in the lowest bytes of an `i32`."""
    along_k = _along_k(atom)
    word = ir.IntegerType.get_signless(32)
    scales = load(ir.IntegerType.get_signless(8 * along_k), pointer, along_k)
    return scales if along_k == 4 else converted("arith.extui", scales, word)
