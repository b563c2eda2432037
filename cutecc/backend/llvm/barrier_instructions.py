"""Barriers of shared memory, `mbarrier`, as the PTX that they are: of a cluster, with a time limit, by their state."""

from __future__ import annotations

from collections.abc import Callable

from cutecc.backend.llvm.inline_assembly import (
    address_space,
    flag,
    modifier,
    named,
    pointer_constraint,
    state_space,
    truncated,
)
from cutecc.ir.building import before
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import ir

_MEMORY = "~{memory}"
"""What the compiler may not move past: other memory is what barriers are for."""


def _arrive(operation: ir.Operation) -> None:
    """`mbarrier.arrive` and `arrive_drop` with a count, and `.expect_tx` with bytes; none with a predicate or mask."""
    barrier, *count = operation.operands
    if len(count) > 1 or _has_other_operands(operation):
        return
    order = flag(operation, "relaxed", ".relaxed") or ".release"
    semantics = f"{order}{modifier(operation, 'scope') or '.cta'}"
    if semantics == ".release.cta":  # what is meant without it
        semantics = ""
    kind = operation.name.removeprefix("nvvm.mbarrier.")
    _signal(operation, f"{kind}{semantics}{state_space(barrier)}", barrier, count)


def _has_other_operands(operation: ir.Operation) -> bool:
    """Whether an arrival has a mask of blocks or a predicate, which stand behind the barrier and the count."""
    if "operandSegmentSizes" not in operation.attributes:
        return False
    return any(list(operation.attributes["operandSegmentSizes"])[2:])


def _count_bytes(operation: ir.Operation) -> None:
    """`mbarrier.expect_tx` and `complete_tx`: of another block's, LLVM 22 has them with another type of address."""
    barrier, count, *others = operation.operands
    if others:
        return
    kind = operation.name.removeprefix("nvvm.mbarrier.")
    scope = modifier(operation, "scope") or ".cta"
    _signal(operation, f"{kind}.relaxed{scope}{state_space(barrier)}", barrier, [count])


def _transaction(operation: ir.Operation) -> None:
    """An arrival or a number of bytes, as its kind says, of a barrier whose place in a cluster is said beside it."""
    barrier, count, *others = operation.operands
    if others:
        return
    kind = named(operation, "kind").replace("arrive_expect", "arrive.expect").replace("drop_expect", "drop.expect")
    # Of bytes alone there is no other order.
    order = ".relaxed" if kind in ("expect_tx", "complete_tx") else modifier(operation, "order") or ".release"
    scope = modifier(operation, "scope") or ".cta"
    place = state_space(barrier)
    if place == ".shared":
        place = f".shared::{named(operation, 'space') or 'cta'}"
    _signal(operation, f"{kind}{order}{scope}{place}", barrier, [count])


def _signal(operation: ir.Operation, instruction: str, barrier: ir.Value, count: list[ir.Value]) -> None:
    """Put `mbarrier.instruction` in the place of `operation`; an arrival gives the barrier's state, if to anyone."""
    results = [result.type for result in operation.results]
    first = len(results)
    arguments = [f"[${first}]", *(f"${first + 1}" for _ in count)]
    if instruction.startswith("arrive"):
        arguments.insert(0, "$0" if results else "_")
    constraints = [*("=l" for _ in results), pointer_constraint(barrier), *("r" for _ in count), _MEMORY]
    text = f"mbarrier.{instruction}.b64 {', '.join(arguments)};"
    with before(operation):
        made = inline_assembly(text, constraints, results, [barrier, *count])
    for result, state in zip(operation.results, made, strict=True):
        result.replace_all_uses_with(state)
    operation.erase()


def _wait(operation: ir.Operation) -> None:
    """`mbarrier.try_wait` and `test_wait`, for a phase by its parity or by its state, and perhaps for so long."""
    barrier, phase, *limit = operation.operands
    kind = named(operation, "kind") or "try"
    parity = ".parity" if ".parity" in operation.name else ""
    order = modifier(operation, "order") or ".acquire"
    scope = modifier(operation, "scope") or ".cta"
    space = ".shared::cta" if address_space(barrier) == "3" else ""
    instruction = f"mbarrier.{kind}_wait{parity}{order}{scope}{space}.b64"
    first = len(operation.results)
    arguments = ", ".join([f"[${first}]", *(f"${first + 1 + index}" for index in range(1 + len(limit)))])
    tell = " selp.b32 $0, 1, 0, p;" if first else ""
    text = f"{{ .reg .pred p; {instruction} p, {arguments};{tell} }}"
    registers = [pointer_constraint(barrier), "r" if parity else "l", *("r" for _ in limit)]
    i32 = ir.IntegerType.get_signless(32)
    with before(operation):
        constraints = [*("=r" for _ in operation.results), *registers, _MEMORY]
        made = inline_assembly(text, constraints, [i32 for _ in operation.results], [barrier, phase, *limit])
        for result, waited in zip(operation.results, made, strict=True):
            result.replace_all_uses_with(truncated(waited, result.type))
    operation.erase()


LOWERINGS: dict[str, Callable[[ir.Operation], None]] = {
    **{f"nvvm.mbarrier.{kind}{tx}": _arrive for kind in ("arrive", "arrive_drop") for tx in ("", ".expect_tx")},
    "nvvm.mbarrier.expect_tx": _count_bytes,
    "nvvm.mbarrier.complete_tx": _count_bytes,
    "nvvm.mbarrier.txn": _transaction,
    "nvvm.mbarrier.txn.cta": _transaction,
    "nvvm.mbarrier.try_wait.parity": _wait,
    "nvvm.mbarrier.try_wait.parity.timelimit": _wait,
    "nvvm.mbarrier.try_wait.timelimit": _wait,
    "nvvm.mbarrier.wait": _wait,
    "nvvm.mbarrier.wait.parity": _wait,
}
"""By operation; each leaves alone what it does not lower."""
