"""Atoms that came with Hopper: wgmma and stmatrix. Those of TMA are in `tma`."""

from __future__ import annotations

from cutecc.errors import Error
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import arith, ir, nvvm
from cutecc.ir.types import MmaAtom, Scalar
from cutecc.passes.lowering.atoms.registers import as_registers, packed, unpacked
from cutecc.passes.lowering.atoms.registry import copies, multiplies
from cutecc.passes.lowering.atoms.sm80 import SATURATED, matrix_layout
from cutecc.passes.lowering.atoms.uses import Copy, Product, in_memory
from cutecc.passes.lowering.values.matrix_descriptors import WGMMA
from cutecc.passes.lowering.values.tensors import Matrices, Operand
from cutecc.passes.lowering.values.vector_accesses import elements_of, vector_of
from cutecc.ptx.types import ELEMENT_TYPES


@copies("stsm", takes=lambda atom: atom.parameters["mode"] == (8, 8))
def store_matrices(copy: Copy) -> None:
    """`stmatrix`: a warp stores 8 x 8 matrices, thread i the address of row i."""
    count = copy.atom.parameters["num_matrices"]
    values = as_registers(copy.source, count * 32 // copy.source.element.bits)
    nvvm.stmatrix(copy.destination.address(0), values, matrix_layout(copy.atom.parameters["transpose"]))


_INTEGERS = ("s8", "u8")
_FACTORS = ("f16", "bf16", "tf32", "e4m3", "e5m2", *_INTEGERS)
_SUMS = ("f16", "f32", "s32")
_TRANSPOSED = ("f16", "bf16")
"""Elements of which a matrix may be contiguous along M or N; the instruction says so for these alone."""


def _is_multiplied(atom: MmaAtom) -> bool:
    sum, *factors = _types(atom)
    return sum in _SUMS and all(factor in _FACTORS for factor in factors)


def _types(atom: MmaAtom) -> list[str]:
    """PTX's names of the elements of C, A and B; empty for others."""
    return [ELEMENT_TYPES.get(each.name, "") for each in (atom.element_c, atom.element_a, atom.element_b)]


@multiplies("sm90.mma", takes=_is_multiplied, state=(("accum_c", "i1"),), matrices=WGMMA)
def multiply_by_warpgroup(product: Product) -> None:
    """`wgmma.mma_async`: four warps multiply matrices in shared memory, the first perhaps in registers.

    The sums are registers that the instruction reads and writes until a group that it belongs to is waited for.
    """
    atom = product.atom
    sums = _sums(product)
    first, second = product.multiplicands
    a = _operand(first, product.counts[0])
    if not isinstance(second, Matrices):
        raise Error("wgmma finds B by a descriptor", hints=["make_fragment_B makes them of shared memory"])
    adds = arith.extui(ir.IntegerType.get_signless(32), product.fields["accum_c"])
    operands = [*sums, *a, second.descriptor, adds]
    # Of registers that are read and written, the reading ones count as operands too, after those written.
    names = [f"${number}" for number in range(len(sums), len(sums) + len(operands))][len(sums) :]
    *a_names, b_name, adds_name = names
    a_name = a_names[0] if len(a_names) == 1 else f"{{{', '.join(a_names)}}}"
    written = ", ".join(f"${number}" for number in range(len(sums)))
    m, n, k = atom.shape_mnk
    types = _types(atom)
    immediates = "".join(f", {value}" for value in _immediates(atom, len(a) > 1))
    saturates = types[1] in _INTEGERS and atom.parameters.get("int_overflow", SATURATED) == SATURATED
    saturated = ".satfinite" if saturates else ""
    text = (
        "{\n.reg .pred p;\n"
        f"setp.ne.b32 p, {adds_name}, 0;\n"
        f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}{saturated}.{'.'.join(types)} "
        f"{{{written}}}, {a_name}, {b_name}, p{immediates};\n"
        "}\n"
    )
    kind = "f" if atom.element_c == Scalar("f32") else "r"
    constraints = [f"={kind}"] * len(sums) + [str(number) for number in range(len(sums))]
    constraints += ["l" if isinstance(first, Matrices) else "r"] * len(a) + ["l", "r"]
    _store_sums(inline_assembly(text, constraints, [value.type for value in sums], operands), product)


def _immediates(atom: MmaAtom, first_in_registers: bool) -> list[int]:
    """What follows the operands: factors of A and B, and of elements of 16 bits which of them are transposed."""
    if atom.element_c == Scalar("i32"):
        return []
    factors = [-1 if atom.parameters.get(flag) else 1 for flag in ("a_neg", "b_neg")]
    if atom.element_a.name not in _TRANSPOSED:
        return factors
    majors = [atom.major_b] if first_in_registers else [atom.major_a, atom.major_b]
    return [*factors, *(int(major == "mn") for major in majors)]


def _operand(operand: Operand, count: int) -> list[ir.Value]:
    """A multiplicand: its descriptor, or its registers."""
    return [operand.descriptor] if isinstance(operand, Matrices) else as_registers(in_memory(operand), count)


def _sums(product: Product) -> list[ir.Value]:
    """What a thread has of C, as registers: numbers of 32 bits, or pairs of 16."""
    values = product.addend()
    return packed(values) if product.atom.element_c == Scalar("f16") else elements_of(values)


def _store_sums(sums: list[ir.Value], product: Product) -> None:
    if product.atom.element_c == Scalar("f16"):
        product.store(unpacked(sums, ir.VectorType.get([product.counts[2]], ir.F16Type.get())))
    else:
        product.store(vector_of(sums))
