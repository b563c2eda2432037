"""Loops and conditions that passes build."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from cutecc.ir.building import at_end
from cutecc.ir.mlir import ir, nvvm, scf
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
    end = constant(count, 32) if isinstance(count, int) else count
    loop = scf.ForOp(constant(0, 32), end, constant(1, 32))
    loop.attributes["loop_annotation"] = ir.Attribute.parse(annotation)
    with at_end(loop.body):
        yield loop.induction_variable
        scf.yield_([])


@contextlib.contextmanager
def one_thread() -> Generator[None]:
    """Build inside what one thread of a warp executes, all of whose threads are here."""
    with only_if(nvvm.elect_sync()):
        yield


@contextlib.contextmanager
def only_if(condition: ir.Value | None) -> Generator[None]:
    """Build inside what is executed when `condition`, an `i1`, holds; without one, always."""
    if condition is None:
        yield
        return
    with at_end(scf.IfOp(condition).then_block):
        yield
        scf.yield_([])


def given_if(
    condition: ir.Value, then: Callable[[], Sequence[ir.Value]], otherwise: Sequence[ir.Value]
) -> list[ir.Value]:
    """What `then` builds and gives when `condition` holds, or else `otherwise`."""
    branch = scf.IfOp(condition, [each.type for each in otherwise], has_else=True)
    with at_end(branch.then_block):
        scf.yield_(then())
    with at_end(branch.else_block):
        scf.yield_(otherwise)
    return list(branch.results)


def carrying_loop(
    bounds: Sequence[ir.Value],
    initial: Sequence[ir.Value],
    turn: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> list[ir.Value]:
    """A loop of which `turn` writes the body: from the counter and what is carried to what is carried on."""
    loop = scf.ForOp(*bounds, initial)
    for name, attribute in (attributes or {}).items():
        loop.attributes[name] = attribute
    with at_end(loop.body):
        scf.yield_(turn(loop.induction_variable, loop.inner_iter_args))
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
