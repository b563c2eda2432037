"""Elements of register tensors as the 32-bit registers that instructions take."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir.mlir import ir
from cutecc.ir.types import Scalar
from cutecc.passes.lowering.values.vector_accesses import Tensor, bitcast, elements_of, joined, value_type, vector_of


def packed(vector: ir.Value) -> list[ir.Value]:
    """The bits of a vector as `i32`s, the first elements in the lowest bits of the first."""
    type = ir.VectorType(vector.type)
    bits = type.shape[0] * Scalar(str(type.element_type)).bits
    words = ir.VectorType.get([bits // 32], ir.IntegerType.get_signless(32))
    return elements_of(bitcast(vector, words))


def unpacked(registers: Sequence[ir.Value], type: ir.Type) -> ir.Value:
    """A vector of `type` out of `i32`s."""
    return bitcast(vector_of(registers), type)


def as_registers(tensor: Tensor, count: int) -> list[ir.Value]:
    """The first `count` elements of a tensor as `i32`s."""
    return packed(joined(tensor.load(count)))


def store_registers(registers: Sequence[ir.Value], tensor: Tensor, count: int) -> None:
    """Store `count` elements, given as `i32`s."""
    tensor.store([unpacked(registers, ir.VectorType.get([count], value_type(tensor.element)))], count)
