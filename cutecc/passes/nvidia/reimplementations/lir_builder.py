"""Building the operations that pipelines lower to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from cutecc.ir.building import at_end
from cutecc.ir.constants import constant_of_type
from cutecc.ir.mlir import arith, ir, llvm, scf, ub
from cutecc.ir.structs import with_members

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
    return constant_of_type(value, ir.IntegerType.get_signless(width))


def compare(predicate: str, left: Any, right: Any) -> Any:
    return arith.cmpi({"eq": 0, "ult": 6, "ule": 7}[predicate], left, right)


def pack(struct: str, *fields: Any) -> Any:
    """A struct with `fields`."""
    return with_members(ub.poison(ir.Type.parse(struct)), fields)


def barrier_at(barriers: Any, index: Any) -> Any:
    """The pointer to one of a pipeline's barriers."""
    element = ir.IntegerType.get_signless(64)
    return llvm.getelementptr(barriers.type, barriers, [index], [_DYNAMIC_INDEX], element, 0)


@contextlib.contextmanager
def only_if(condition: Any) -> Generator[None]:
    """Build inside what is executed when `condition` holds."""
    with at_end(scf.IfOp(condition).then_block):
        yield
        scf.yield_([])


def chosen(condition: Any, then: Callable[[], Sequence[Any]], otherwise: Sequence[Any]) -> list[Any]:
    """What `then` builds and gives when `condition` holds, or else `otherwise`."""
    branch = scf.IfOp(condition, [value.type for value in otherwise], has_else=True)
    with at_end(branch.then_block):
        scf.yield_(then())
    with at_end(branch.else_block):
        scf.yield_(otherwise)
    return list(branch.results)
