"""Numbers of `tf32`, which have the 32 bits of an `f32`; products use the highest 19. LLVM has no such type."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.ir import editing
from cutecc.ir.building import before
from cutecc.ir.mlir import arith, ir
from cutecc.ir.walking import walk

_CAST = "builtin.unrealized_conversion_cast"
"""What the trace makes numbers of tf32 of bits by, and bits of them."""
_SOURCES = (
    *("cute.memref.load", "cute.memref.load_vec", "cute.ptr.load"),
    *(_CAST, "arith.constant", "func.func", "cuda.kernel"),
)
"""What numbers of tf32 come from."""


def has_tf32(module: ir.Module) -> bool:
    """Whether there are such numbers in `module`."""
    return any(_is_tf32(value.type) for operation in walk(module, *_SOURCES) for value in _made(operation))


def take_tf32_as_f32(module: ir.Module) -> None:
    """Make `f32` the type of all of them, and of vectors of them, in `module`."""
    casts = [cast for cast in walk(module, _CAST) if any(_is_tf32(v.type) for v in (*cast.results, *cast.operands))]
    for operation in walk(module):
        for value in _made(operation):
            if _is_tf32(value.type):
                value.set_type(_as_f32(value.type))
                if operation.name == "arith.constant":
                    text = str(operation.attributes["value"])
                    operation.attributes["value"] = ir.Attribute.parse(text.replace("tf32", "f32"))
        if "function_type" in operation.attributes:
            type = ir.FunctionType(operation.attributes["function_type"].value)
            inputs, results = ([_as_f32(each) for each in part] for part in (type.inputs, type.results))
            operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for cast in casts:
        with before(cast):
            bits = arith.bitcast(cast.results[0].type, cast.operands[0])
        editing.replace(cast, bits)


def _made(operation: ir.Operation) -> Iterator[ir.Value]:
    """What an operation results in, and what its blocks are given."""
    yield from operation.results
    for region in operation.regions:
        for block in region.blocks:
            yield from block.arguments


def _is_tf32(type: ir.Type) -> bool:
    element = ir.VectorType(type).element_type if isinstance(type, ir.VectorType) else type
    return isinstance(element, ir.FloatType) and str(element) == "tf32"


def _as_f32(type: ir.Type) -> ir.Type:
    if not _is_tf32(type):
        return type
    f32 = ir.F32Type.get()
    return ir.VectorType.get(ir.VectorType(type).shape, f32) if isinstance(type, ir.VectorType) else f32
