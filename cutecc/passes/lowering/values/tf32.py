"""Numbers of `tf32`, which have the 32 bits of an `f32`, the lowest of them 0. LLVM has no such type."""

from __future__ import annotations

from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk


def is_of_tf32(operation: ir.Operation) -> bool:
    """Whether an operation takes or gives such numbers."""
    values = [*operation.results, *operation.operands]
    return any(_is_tf32(value.type) for value in values)


def take_tf32_as_f32(module: ir.Module) -> None:
    """Make `f32` the type of all of them, and of vectors of them, in `module`."""
    for operation in walk(module):
        values = [*operation.results]
        for region in operation.regions:
            values += [argument for block in region.blocks for argument in block.arguments]
        for value in values:
            if _is_tf32(value.type):
                value.set_type(_as_f32(value.type))
                if operation.name == "arith.constant":
                    text = str(operation.attributes["value"])
                    operation.attributes["value"] = ir.Attribute.parse(text.replace("tf32", "f32"))


def _is_tf32(type: ir.Type) -> bool:
    element = ir.VectorType(type).element_type if isinstance(type, ir.VectorType) else type
    return isinstance(element, ir.FloatType) and str(element) == "tf32"


def _as_f32(type: ir.Type) -> ir.Type:
    f32 = ir.F32Type.get()
    return ir.VectorType.get(ir.VectorType(type).shape, f32) if isinstance(type, ir.VectorType) else f32
