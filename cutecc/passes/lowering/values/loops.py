"""Loops and conditions that passes build."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.lowering.values.integers import constant

UNROLLED = "#llvm.loop_annotation<unroll = <disable = false, full = true>>"
"""Asks the code generator to unroll a loop fully; register tensors that it indexes are in registers only then."""
ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
"""Asks it to leave a loop as it is."""
MOST_UNROLLED = 16_384
"""Operations that a loop may have, all turns together, which is unrolled without being asked to."""


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


def carrying_loop(
    bounds: Sequence[ir.Value],
    initial: Sequence[ir.Value],
    turn: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> list[ir.Value]:
    """A loop of which `turn` writes the body: from the counter and what is carried to what is carried on."""
    types = [each.type for each in initial]
    loop = ir.Operation.create("scf.for", types, [*bounds, *initial], dict(attributes or {}), regions=1)
    types = [bounds[0].type, *types]
    block = ir.Block.create_at_start(loop.regions[0], types, [loop.location] * len(types))
    with ir.InsertionPoint(block):
        counter, *carried = list(block.arguments)
        ir.Operation.create("scf.yield", operands=turn(counter, carried))
    return list(loop.results)


def write_copies(operations: Iterable[ir.Operation], values: dict[ir.Value, ir.Value]) -> None:
    """Copy operations that follow each other, of `values` in the place of others; and add their results to these."""
    for operation in operations:
        copy = operation.clone().operation
        for each in walk(copy):
            for index, operand in enumerate(each.operands):
                if operand in values:
                    each.operands[index] = values[operand]
        values.update(zip(operation.results, copy.results, strict=True))
