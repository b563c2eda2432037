"""Atoms that came with Ampere, and Turing before it: cp.async, ldmatrix, mma.sync."""

from __future__ import annotations

from typing import Any

from cutecc.ir import llvm_types
from cutecc.ir.mlir import arith, ir, llvm, nvvm
from cutecc.ir.structs import members
from cutecc.ir.types import MmaAtom, Scalar
from cutecc.passes.lowering.atoms.registers import packed, store_registers, unpacked
from cutecc.passes.lowering.atoms.registry import copies, multiplies
from cutecc.passes.lowering.atoms.uses import Copy, Product
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.vector_accesses import bitcast, elements_of, vector_of
from cutecc.ptx.types import ELEMENT_TYPES


@copies("simt_async_copy", has_predicate=True)
def copy_asynchronously(copy: Copy) -> None:
    """`cp.async`: global to shared memory past the registers; where the predicate fails, zeros."""
    size = copy.atom.parameters["copy_bits"] // 8
    cache = "cg" if copy.atom.parameters["cache"] == "global" else "ca"
    to, source, copied = copy.destination.address(0), copy.source.address(0), None
    if copy.predicate is not None:
        copied = arith.select(copy.predicate, constant(size, 32), constant(0, 32))
    modifier = ir.Attribute.parse(f"#nvvm<load_cache_modifier {cache}>")
    nvvm.cp_async_shared_global(to, source, size, modifier, cp_size=copied)


@copies("ldsm", takes=lambda atom: atom.parameters["mode"] == (8, 8))
def load_matrices(copy: Copy) -> None:
    """`ldmatrix`: a warp loads 8 x 8 matrices, thread i the address of row i."""
    count = copy.atom.parameters["num_matrices"]
    words = [ir.IntegerType.get_signless(32)] * count
    attributes: dict[str, Any] = {
        "num": ir.IntegerAttr.get(words[0], count),
        "layout": matrix_layout(copy.atom.parameters["transpose"]),
    }
    result = words[0] if count == 1 else llvm_types.struct(words)
    # Builders of older releases take the result's type first.
    loaded = ir.Operation.create("nvvm.ldmatrix", [result], [copy.source.address(0)], attributes=attributes).result
    registers = [loaded] if count == 1 else members(loaded, words)
    store_registers(registers, copy.destination, count * 32 // copy.destination.element.bits)


def matrix_layout(transposed: bool) -> ir.Attribute:
    """How an instruction takes or hands out a matrix: by rows, or by columns."""
    return ir.Attribute.parse(f"#nvvm.mma_layout<{'col' if transposed else 'row'}>")


SATURATED = "satfinite"
"""What becomes of a sum of integers that is too large, where an atom does not say: the nearest that there is."""

_MULTIPLICANDS = ("f16", "bf16", "tf32", "f64", "s8", "u8", "e4m3", "e5m2")


def _is_multiplied(atom: MmaAtom) -> bool:
    return all(ELEMENT_TYPES.get(each.name) in _MULTIPLICANDS for each in (atom.element_a, atom.element_b))


@multiplies("sm80.mma", "sm89.mma", takes=_is_multiplied)
def multiply_by_warp(product: Product) -> None:
    """`mma.sync`: a warp multiplies two small matrices, each thread with its part of all three."""
    atom = product.atom
    a, b, c = product.loaded()
    m, n, k = atom.shape_mnk
    types = [ELEMENT_TYPES[each.name] for each in (atom.element_a, atom.element_b)]
    first, second, addends = _registers(a, types[0]), _registers(b, types[1]), _accumulators(c, atom.element_c)
    result_types = [value.type for value in addends]
    type_a, type_b = (ir.Attribute.parse(f"#nvvm.mma_type<{type}>") for type in types)
    overflow = atom.parameters.get("int_overflow", SATURATED) if types[0] in ("s8", "u8") else None
    sums = nvvm.mma_sync(
        result_types[0] if len(result_types) == 1 else llvm_types.struct(result_types),
        ir.Attribute.parse(f"#nvvm.shape<m = {m}, n = {n}, k = {k}>"),
        matrix_layout(transposed=False),
        matrix_layout(transposed=True),
        first,
        second,
        addends,
        int_overflow_behavior=overflow and ir.Attribute.parse(f"#nvvm.mma_int_overflow<{overflow}>"),
        multiplicand_a_ptx_type=type_a,
        multiplicand_b_ptx_type=type_b,
    )
    results = [sums] if len(result_types) == 1 else members(sums, result_types)
    if atom.element_c == Scalar("f16"):
        words = [bitcast(value, ir.IntegerType.get_signless(32)) for value in results]
        product.store(unpacked(words, c.type))
    else:
        product.store(vector_of(results))


def _registers(vector: ir.Value, type: str) -> list[ir.Value]:
    """A multiplicand as `nvvm.mma.sync` takes it: pairs of halves, numbers of 64 bits, or 32-bit words."""
    if type == "f64":
        return elements_of(vector)
    words = packed(vector)
    if type == "f16":
        pair = ir.VectorType.get([2], ir.F16Type.get())
        return [llvm.bitcast(pair, word) for word in words]
    return words


def _accumulators(vector: ir.Value, element: Scalar) -> list[ir.Value]:
    if element.name == "f16":
        return _registers(vector, "f16")
    return elements_of(vector)
