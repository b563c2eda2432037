"""Instruction descriptors of `tcgen05.mma`: types, sizes and majors in 32 bits (PTX ISA, "Instruction descriptor")."""

from __future__ import annotations

from typing import Final

from cutecc.ir.mlir import arith, ir
from cutecc.ir.types import MmaAtom
from cutecc.passes.lowering.values.integers import constant
from cutecc.ptx.types import ELEMENT_TYPES

_SMALL: Final = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
_FACTORS: Final = {"f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, **_SMALL}
_PACKED: Final = {"e2m1": 1}
"""Of kinds with two elements of 4 bits in a byte."""
_SUMS: Final = {"f16": 0, "f32": 1, "s32": 2}
_SPARSE, _SATURATES, _DEEP = 1 << 2, 1 << 3, 1 << 31
_NEGATES_A, _NEGATES_B = 13, 14
_SCALES_ARE_UE8M0 = 1 << 23
_OF_SCALES_A, _OF_SCALES_B = 29, 4
"""Where the descriptor has which byte of a cell of scales counts; an address of scales has it in its highest bits."""
_HIGHEST: Final = 30
_DEPTH_OF_SM_103: Final = 96


def instruction_descriptor(atom: MmaAtom, negates: tuple[ir.Value, ir.Value]) -> ir.Value:
    """The descriptor, an `i32`, of a product without scales; `negates` are of A and B, an `i1` each."""
    sums = _SUMS[ELEMENT_TYPES[atom.element_c.name]]
    saturates = _SATURATES if atom.parameters.get("int_overflow") == "satfinite" else 0
    return _with_signs(_common(atom, _FACTORS) | sums << 4 | saturates, negates)


def scaled_instruction_descriptor(
    atom: MmaAtom, negates: tuple[ir.Value, ir.Value], scales: tuple[ir.Value, ir.Value]
) -> ir.Value:
    """The same of a product whose factors have `scales`, the addresses of A's and B's, an `i32` each."""
    factors = _PACKED if has_packed_factors(atom) else _FACTORS
    is_ue8m0 = _SCALES_ARE_UE8M0 if ELEMENT_TYPES[atom.parameters["sf_type"].name] == "ue8m0" else 0
    deep = _DEEP if atom.shape_mnk[2] == _DEPTH_OF_SM_103 else 0
    found = _with_signs(_common(atom, factors) | is_ue8m0 | deep, negates)
    for address, place in zip(scales, (_OF_SCALES_A, _OF_SCALES_B), strict=True):
        byte = arith.shrui(address, constant(_HIGHEST, 32))
        found = arith.ori(found, arith.shli(byte, constant(place, 32)))
    return found


def has_packed_factors(atom: MmaAtom) -> bool:
    """Whether both factors have two elements of 4 bits in a byte, which instructions with 64 and more along K take."""
    return all(ELEMENT_TYPES.get(each.name) == "e2m1" for each in (atom.element_a, atom.element_b)) and (
        atom.shape_mnk[2] >= 64
    )


def _common(atom: MmaAtom, factors: dict[str, int]) -> int:
    m, n, _ = atom.shape_mnk
    a, b = (factors[ELEMENT_TYPES[each.name]] for each in (atom.element_a, atom.element_b))
    sparse = _SPARSE if "sparse_metadata_format" in atom.parameters else 0
    majors = int(atom.major_a == "mn") << 15 | int(atom.major_b == "mn") << 16
    return a << 7 | b << 10 | majors | n >> 3 << 17 | m >> 4 << 24 | sparse


def _with_signs(fixed: int, negates: tuple[ir.Value, ir.Value]) -> ir.Value:
    found = constant(fixed - (1 << 32) if fixed >> 31 else fixed, 32)
    for each, place in zip(negates, (_NEGATES_A, _NEGATES_B), strict=True):
        bit = arith.shli(arith.extui(ir.IntegerType.get_signless(32), each), constant(place, 32))
        found = arith.ori(found, bit)
    return found
