"""Loops and conditions that passes build."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence

from cutecc.ir.mlir import ir
from cutecc.passes.lowering.values.arithmetic import constant

UNROLLED = "#llvm.loop_annotation<unroll = <disable = false, full = true>>"
"""Asks the code generator to unroll a loop fully; register tensors that it indexes are in registers only then."""
ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
"""Asks it to leave a loop as it is."""


@contextlib.contextmanager
def unrolled_loop(count: int | ir.Value, annotation: str = UNROLLED) -> Generator[ir.Value | None]:
    """Build inside a loop of `count` turns, an `i32`, and get its counter; for one turn there is neither."""
    if count == 1:
        yield None
        return
    integer = ir.IntegerType.get_signless(32)
    end = constant(count, 32) if isinstance(count, int) else count
    loop = ir.Operation.create(
        "scf.for",
        operands=[constant(0, 32), end, constant(1, 32)],
        attributes={"loop_annotation": ir.Attribute.parse(annotation)},
        regions=1,
    )
    body = ir.Block.create_at_start(loop.regions[0], [integer], [loop.location])
    with ir.InsertionPoint(body):
        yield body.arguments[0]
        ir.Operation.create("scf.yield")


@contextlib.contextmanager
def one_thread() -> Generator[None]:
    """Build inside what one thread of a warp executes, all of whose threads are here."""
    elected = ir.Operation.create("nvvm.elect.sync", [ir.IntegerType.get_signless(1)]).result
    with only_if(elected):
        yield


@contextlib.contextmanager
def only_if(condition: ir.Value | None) -> Generator[None]:
    """Build inside what is executed when `condition`, an `i1`, holds; without one, always."""
    if condition is None:
        yield
        return
    branch = ir.Operation.create("scf.if", operands=[condition], regions=2)
    with ir.InsertionPoint(ir.Block.create_at_start(branch.regions[0])):
        yield
        ir.Operation.create("scf.yield")


def given_if(
    condition: ir.Value, then: Callable[[], Sequence[ir.Value]], otherwise: Sequence[ir.Value]
) -> list[ir.Value]:
    """What `then` builds and gives when `condition` holds, or else `otherwise`."""
    branch = ir.Operation.create("scf.if", [each.type for each in otherwise], [condition], regions=2)
    with ir.InsertionPoint(ir.Block.create_at_start(branch.regions[0])):
        ir.Operation.create("scf.yield", operands=then())
    with ir.InsertionPoint(ir.Block.create_at_start(branch.regions[1])):
        ir.Operation.create("scf.yield", operands=otherwise)
    return list(branch.results)
