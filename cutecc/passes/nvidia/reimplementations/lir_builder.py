"""Building the operations that pipelines lower to."""

from __future__ import annotations

from typing import Any

from cutecc.ir.mlir import ir

STATE = "!llvm.struct<(i32, i32, i32)>"
"""A pipeline's state: the producer's phase, the consumer's, and the stage's index."""
PIPELINE = "!llvm.struct<(ptr<3>, i16)>"
"""A pipeline: its barriers in shared memory, and which blocks of the cluster its arrivals signal."""
POINTER = "!llvm.ptr<3>"
BARRIER = "!cute.ptr<i64, smem>"

_DYNAMIC_INDEX = -(2**31)


def create(name: str, *operands: Any, result: str | ir.Type | None = None, **attributes: Any) -> Any:
    """The operation's result; the operation itself where it has none."""
    types = [] if result is None else [ir.Type.parse(result) if isinstance(result, str) else result]
    operation = ir.Operation.create(name, results=types, operands=list(operands), attributes=attributes)
    return operation.results[0] if types else operation


def integer(width: int, value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value)


def constant(value: int, width: int = 32) -> Any:
    return create("arith.constant", result=f"i{width}", value=integer(width, value))


def add(left: Any, right: Any) -> Any:
    return create("arith.addi", left, right, result=left.type)


def compare(predicate: str, left: Any, right: Any) -> Any:
    number = {"eq": 0, "ult": 6, "ule": 7}[predicate]
    return create("arith.cmpi", left, right, result="i1", predicate=integer(64, number))


def extract(struct: Any, position: int) -> Any:
    kind = {STATE: "i32"}.get(str(struct.type), POINTER if position == 0 else "i16")
    return create("llvm.extractvalue", struct, result=kind, position=ir.DenseI64ArrayAttr.get([position]))


def pack(struct: str, *fields: Any) -> Any:
    """A struct with `fields`."""
    value = create("ub.poison", result=struct, value=ir.Attribute.parse("#ub.poison"))
    for position, field in enumerate(fields):
        value = create("llvm.insertvalue", value, field, result=struct, position=ir.DenseI64ArrayAttr.get([position]))
    return value


def barrier_at(barriers: Any, index: Any) -> Any:
    """The pointer to one of a pipeline's barriers."""
    return create(
        "llvm.getelementptr",
        barriers,
        index,
        result=POINTER,
        elem_type=ir.TypeAttr.get(ir.IntegerType.get_signless(64)),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([_DYNAMIC_INDEX]),
    )


def branch(condition: Any, *results: ir.Type, otherwise: bool = False) -> Any:
    """An `scf.if` whose blocks are empty still."""
    operation = ir.Operation.create("scf.if", results=list(results), operands=[condition], regions=2)
    ir.Block.create_at_start(operation.regions[0])
    if otherwise:
        ir.Block.create_at_start(operation.regions[1])
    return operation


def block_of(operation: Any, region: int = 0) -> ir.InsertionPoint:
    """The end of one of an `scf.if`'s blocks."""
    return ir.InsertionPoint(operation.regions[region].blocks[0])


def yield_values(*values: Any) -> None:
    create("scf.yield", *values)
