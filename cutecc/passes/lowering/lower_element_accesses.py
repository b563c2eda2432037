"""Loads and stores of a tensor's elements become loads and stores of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import CoordTensor, Pointer, view
from cutecc.layout.functions import FUNCTIONS, View
from cutecc.passes.leaf_conversion import Converted, LeafConversion, convert_leaves, converts_leaves, leaf_patterns
from cutecc.passes.lowering.values.integers import poison
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.lowering.values.loops import given_if, only_if
from cutecc.passes.lowering.values.materialize import Materialization, algebraic
from cutecc.passes.lowering.values.tensors import tensor_of
from cutecc.passes.lowering.values.tf32 import has_tf32, take_tf32_as_f32
from cutecc.passes.lowering.values.vector_accesses import (
    Tensor,
    elements_of,
    joined,
    load_element,
    store_element,
    vector_of,
)
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerElementAccesses(LeafConversion):
    """Write loads and stores of single elements and of whole register tensors as `llvm.load` and `llvm.store`.

    The address is the pointer plus the offset of the coordinate, through the pointer's swizzle. Elements that lie side
    by side are one vector. With a mask, each is accessed by itself, under its condition. An element of a tensor of
    coordinates is in no memory, but computed. Numbers that the trace has as `tf32` are `f32` from here on, as they are
    in memory.
    """

    name: ClassVar[str] = "lower-element-accesses"

    def run(self, module: ir.Module) -> None:
        if has_tf32(module):
            take_tf32_as_f32(module)
        coordinates = Materialization({"cute.memref.load": _coordinate}).pattern(_is_of_coordinates)
        convert_leaves(module, [coordinates, *leaf_patterns(self)])

    @converts_leaves("cute.memref.load")
    def load(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        tensor, coordinate = operation.operands
        accessed, pointer, alignment = _element(tensor, coordinate, leaves)
        return load_element(accessed.element, operation.results[0].type, pointer, alignment)

    @converts_leaves("cute.memref.store")
    def store(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        tensor, coordinate, value = operation.operands
        accessed, pointer, alignment = _element(tensor, coordinate, leaves)
        store_element(accessed.element, value, pointer, alignment)
        return []

    @converts_leaves("cute.memref.load_vec")
    def load_all(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        tensor = tensor_of(operation.operands[0], leaves)
        result = operation.results[0]
        _, masks, _ = operation.attributes["operandSegmentSizes"]
        if not masks:
            return joined(tensor.load(_count(result)))
        mask, *instead = operation.operands[1:]
        # Without others in their place, elements that are left out are nothing.
        others = instead[0] if instead else poison(result.type)
        element = ir.VectorType(result.type).element_type
        loaded: list[ir.Value] = []
        for index, (holds, other) in enumerate(zip(elements_of(mask), elements_of(others), strict=True)):
            loaded += given_if(holds, lambda index=index: [_load_at(tensor, index, element)], [other])
        return vector_of(loaded)

    @converts_leaves("cute.memref.store_vec")
    def store_all(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        value, tensor_value, *masks = operation.operands
        tensor = tensor_of(tensor_value, leaves)
        if not masks:
            tensor.store([value], _count(value))
            return []
        for index, (holds, each) in enumerate(zip(elements_of(masks[0]), elements_of(value), strict=True)):
            with only_if(holds):
                offset = tensor.layout(index)
                store_element(tensor.element, each, tensor.address(offset), tensor.alignment_at(offset))
        return []

    @converts_leaves("cute.ptr.load")
    def load_pointed_to(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        (pointer,) = operation.operands
        type_view = leaves.view(pointer)
        assert isinstance(type_view, Pointer)
        # Whoever wants the pointer's swizzle has applied it.
        address = leaves.of(pointer)[0]
        return load_element(type_view.element, operation.results[0].type, address, type_view.alignment or 1)

    @converts_leaves("cute.ptr.store")
    def store_pointed_to(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        value, pointer = operation.operands
        type_view = leaves.view(pointer)
        assert isinstance(type_view, Pointer)
        store_element(type_view.element, value, leaves.of(pointer)[0], type_view.alignment or 1)
        return []


def _is_of_coordinates(operation: ir.Operation) -> bool:
    return isinstance(view(operation.operands[0].type), CoordTensor)


def _coordinate(tensor: View, coordinate: Any, **_: Any) -> Any:
    return FUNCTIONS["crd2idx"].call(coordinate, tensor)


def _element(tensor_value: ir.Value, coordinate: ir.Value, leaves: Leaves) -> tuple[Tensor, ir.Value, int]:
    """The tensor, and the address and alignment of its element at `coordinate`."""
    tensor = tensor_of(tensor_value, leaves)
    carried = leaves.carried_by(coordinate)
    assert carried is not None
    arithmetic = tensor.arithmetic
    for name, leaf in zip(carried.names, leaves.of(coordinate), strict=True):
        arithmetic = arithmetic.having(f"at.{name}", leaf)
    within = replace(tensor, arithmetic=arithmetic)
    offset = tensor.layout(algebraic(leaves.view(coordinate), "at"))
    return tensor, within.address(offset), tensor.alignment_at(offset)


def _load_at(tensor: Tensor, index: int, type: ir.Type) -> ir.Value:
    offset = tensor.layout(index)
    return load_element(tensor.element, type, tensor.address(offset), tensor.alignment_at(offset))


def _count(vector: ir.Value) -> int:
    # Their verifier takes vectors of one dimension alone.
    (count,) = ir.VectorType(vector.type).shape
    return count
