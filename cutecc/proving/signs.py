"""Which values are never negative, where sizes are not and nothing wraps around."""

from __future__ import annotations

from collections.abc import Collection

from cutecc.proving.kernel import Kernel, Operation, all_operations

_KEPT = (
    *("arith.addi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.shrui"),
    *("arith.shrsi", "arith.shli", "arith.ori", "arith.xori", "arith.minsi", "arith.index_cast", "arith.extsi"),
    *("arith.extui", "arith.minui", "arith.maxui"),
)
"""What operations make of values that are not negative is not."""


def not_negative(kernel: Kernel, symbols: Collection[int]) -> set[int]:
    """By the largest set that explains itself: a loop carries what is not negative if it begins so and stays so."""
    operations = list(all_operations(kernel.body))
    found = set(kernel.types)
    before = -1
    while len(found) != before:
        before = len(found)
        for each in operations:
            for value, holds in _claims(each, found):
                if not holds and value not in symbols:
                    found.discard(value)
    return found


Claim = tuple[int, bool]
"""A value, and whether what it is made of says that it is not negative."""


def _claims(operation: Operation, found: set[int]) -> list[Claim]:
    name, results = operation.name, operation.results
    if (structured := _STRUCTURED.get(name)) is not None:
        return structured(operation, found)
    if len(results) != 1:
        return [(each, False) for each in results]
    return [(results[0], _holds(operation, [each in found for each in operation.operands]))]


def _holds(operation: Operation, given: list[bool]) -> bool:
    """Whether the result is not negative, by which operands are not."""
    match operation.name:
        case "arith.constant":
            value = operation.attributes["value"]
            return isinstance(value, int) and value >= 0
        case "arith.andi" | "arith.maxsi":
            return any(given)
        case "arith.select":
            return given[1] and given[2]
        case "nvvm.shfl.sync":
            return given[1]
        case "arith.cmpi":
            return True
        case name:
            return all(given) if name in _KEPT else name.startswith("nvvm.read.ptx.sreg.")


def _of_for(operation: Operation, found: set[int]) -> list[Claim]:
    (body,) = operation.blocks
    operands, ends = operation.operands, body.operations[-1].operands
    claims = [(body.arguments[0], operands[0] in found)]
    for initial, end, argument, result in zip(operands[3:], ends, body.arguments[1:], operation.results, strict=True):
        claims += [(argument, initial in found and end in found), (result, argument in found)]
    return claims


def _of_while(operation: Operation, found: set[int]) -> list[Claim]:
    before, after = operation.blocks
    handed, ends = before.operations[-1].operands[1:], after.operations[-1].operands
    claims = [
        (argument, initial in found and end in found)
        for initial, end, argument in zip(operation.operands, ends, before.arguments, strict=True)
    ]
    for value, argument, result in zip(handed, after.arguments, operation.results, strict=True):
        claims += [(argument, value in found), (result, value in found)]
    return claims


def _of_if(operation: Operation, found: set[int]) -> list[Claim]:
    ends = [block.operations[-1].operands for block in operation.blocks]
    return [(result, all(each in found for each in of)) for result, *of in zip(operation.results, *ends, strict=False)]


_STRUCTURED = {"scf.for": _of_for, "scf.while": _of_while, "scf.if": _of_if}
