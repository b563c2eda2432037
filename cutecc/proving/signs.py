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


def _claims(operation: Operation, found: set[int]) -> list[tuple[int, bool]]:
    name, operands, results = operation.name, operation.operands, operation.results
    if name == "arith.constant":
        value = operation.attributes["value"]
        return [(results[0], isinstance(value, int) and value >= 0)]
    if name == "scf.for":
        (body,) = operation.blocks
        ends = body.operations[-1].operands
        claims = [(body.arguments[0], operands[0] in found)]
        for initial, end, argument, result in zip(operands[3:], ends, body.arguments[1:], results, strict=True):
            claims += [(argument, initial in found and end in found), (result, argument in found)]
        return claims
    if name == "scf.while":
        before, after = operation.blocks
        handed, ends = before.operations[-1].operands[1:], after.operations[-1].operands
        claims = [
            (argument, initial in found and end in found)
            for initial, end, argument in zip(operands, ends, before.arguments, strict=True)
        ]
        for value, argument, result in zip(handed, after.arguments, results, strict=True):
            claims += [(argument, value in found), (result, value in found)]
        return claims
    if name == "scf.if":
        ends = [block.operations[-1].operands for block in operation.blocks]
        return [(result, all(each in found for each in of)) for result, *of in zip(results, *ends, strict=False)]
    if name == "arith.andi":
        return [(results[0], any(each in found for each in operands))]
    if name == "arith.maxsi":
        return [(results[0], any(each in found for each in operands))]
    if name == "arith.select":
        return [(results[0], operands[1] in found and operands[2] in found)]
    if name == "nvvm.shfl.sync":
        return [(results[0], operands[1] in found)]
    if name in _KEPT:
        return [(results[0], all(each in found for each in operands))]
    if name == "arith.cmpi":
        return [(results[0], True)]
    return [(each, name.startswith("nvvm.read.ptx.sreg.")) for each in results]
