"""Atoms that came with Ampere, and Turing before it: cp.async, ldmatrix, mma.sync."""

from __future__ import annotations

from typing import Any

from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom, Scalar
from cutecc.passes.lowering.atoms.registers import packed, store_registers, unpacked
from cutecc.passes.lowering.atoms.table import copies, multiplies
from cutecc.passes.lowering.values import llvm_types
from cutecc.passes.lowering.values.arithmetic import constant
from cutecc.passes.lowering.values.memory import Tensor, bitcast, elements_of, vector_of


@copies("simt_async_copy", has_predicate=True)
def copy_asynchronously(atom: CopyAtom, source: Tensor, destination: Tensor, predicate: ir.Value | None) -> None:
    """`cp.async`: global to shared memory past the registers; where the predicate fails, zeros."""
    size = atom.parameters["copy_bits"] // 8
    cache = "cg" if atom.parameters["cache"] == "global" else "ca"
    operands = [destination.address(0), source.address(0)]
    if predicate is not None:
        integer = ir.IntegerType.get_signless(32)
        chosen = [predicate, constant(size, 32), constant(0, 32)]
        operands.append(ir.Operation.create("arith.select", [integer], chosen).result)
    attributes: dict[str, Any] = {
        "size": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), size),
        "modifier": ir.Attribute.parse(f"#nvvm<load_cache_modifier {cache}>"),
    }
    ir.Operation.create("nvvm.cp.async.shared.global", [], operands, attributes=attributes)


@copies("ldsm", takes=lambda atom: atom.parameters["mode"] == (8, 8))
def load_matrices(atom: CopyAtom, source: Tensor, destination: Tensor, _: ir.Value | None) -> None:
    """`ldmatrix`: a warp loads 8 x 8 matrices, thread i the address of row i."""
    count = atom.parameters["num_matrices"]
    word = ir.IntegerType.get_signless(32)
    type = word if count == 1 else llvm_types.struct([word] * count)
    attributes: dict[str, Any] = {
        "num": ir.IntegerAttr.get(word, count),
        "layout": matrix_layout(atom.parameters["transpose"]),
    }
    loaded = ir.Operation.create("nvvm.ldmatrix", [type], [source.address(0)], attributes=attributes).result
    registers = [loaded] if count == 1 else members(loaded, [word] * count)
    store_registers(registers, destination, count * 32 // destination.element.bits)


def matrix_layout(transposed: bool) -> ir.Attribute:
    """How `ldmatrix` and `stmatrix` hand out a matrix: by rows, or by columns."""
    return ir.Attribute.parse(f"#nvvm.mma_layout<{'col' if transposed else 'row'}>")


def members(struct: ir.Value, types: list[ir.Type]) -> list[ir.Value]:
    """The members of an LLVM struct."""
    return [
        ir.Operation.create(
            "llvm.extractvalue", [type], [struct], attributes={"position": ir.DenseI64ArrayAttr.get([index])}
        ).result
        for index, type in enumerate(types)
    ]


_MULTIPLICANDS = {
    "f16": "f16",
    "bf16": "bf16",
    "tf32": "tf32",
    "f64": "f64",
    "i8": "s8",
    "si8": "s8",
    "ui8": "u8",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
}
"""By CuTe's element: what PTX calls it."""


def _is_multiplied(atom: MmaAtom) -> bool:
    return atom.element_a.name in _MULTIPLICANDS and atom.element_b.name in _MULTIPLICANDS


@multiplies("sm80.mma", "sm89.mma", takes=_is_multiplied)
def multiply_by_warp(atom: MmaAtom, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """`mma.sync`: a warp multiplies two small matrices, each thread with its part of all three."""
    m, n, k = atom.shape_mnk
    types = [_MULTIPLICANDS[atom.element_a.name], _MULTIPLICANDS[atom.element_b.name]]
    operands = [_registers(a, types[0]), _registers(b, types[1]), _accumulators(c, atom.element_c)]
    result_types = [value.type for value in operands[2]]
    result = result_types[0] if len(result_types) == 1 else llvm_types.struct(result_types)
    attributes: dict[str, Any] = {
        "shape": ir.Attribute.parse(f"#nvvm.shape<m = {m}, n = {n}, k = {k}>"),
        "layoutA": ir.Attribute.parse("#nvvm.mma_layout<row>"),
        "layoutB": ir.Attribute.parse("#nvvm.mma_layout<col>"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(values) for values in operands]),
    }
    for side, type in zip("AB", types, strict=True):
        attributes[f"multiplicand{side}PtxType"] = ir.Attribute.parse(f"#nvvm.mma_type<{type}>")
    if types[0] in ("s8", "u8"):
        overflow = atom.parameters.get("int_overflow", "wrapped")
        attributes["intOverflowBehavior"] = ir.Attribute.parse(f"#nvvm.mma_int_overflow<{overflow}>")
    flat = [value for values in operands for value in values]
    product = ir.Operation.create("nvvm.mma.sync", [result], flat, attributes=attributes).result
    results = [product] if len(result_types) == 1 else members(product, result_types)
    if atom.element_c == Scalar("f16"):
        words = [bitcast(value, ir.IntegerType.get_signless(32)) for value in results]
        return unpacked(words, c.type)
    return vector_of(results)


def _registers(vector: ir.Value, type: str) -> list[ir.Value]:
    """A multiplicand as `nvvm.mma.sync` takes it: pairs of halves, numbers of 64 bits, or 32-bit words."""
    if type == "f64":
        return elements_of(vector)
    words = packed(vector)
    if type == "f16":
        pair = ir.VectorType.get([2], ir.F16Type.get())
        return [ir.Operation.create("llvm.bitcast", [pair], [word]).result for word in words]
    return words


def _accumulators(vector: ir.Value, element: Scalar) -> list[ir.Value]:
    if element.name == "f16":
        return _registers(vector, "f16")
    return elements_of(vector)
