"""Where values come from that conditions and loops hand on."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.ir.mlir import ir


def sources_of(value: ir.Value) -> list[ir.Value]:
    """What `value` is, as far as conditions and loops only hand it on: each value that it may be, once."""
    found: list[ir.Value] = []
    seen = [value]
    for each in seen:
        handed = list(_handed_to(each))
        if not handed:
            found.append(each)
        for other in handed:
            if other not in seen:
                seen.append(other)
    return found


def _handed_to(value: ir.Value) -> Iterator[ir.Value]:
    """The values that become `value` where an operation hands them to it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        yield from _handed_to_argument(owner, ir.BlockArgument(value).arg_number)
        return
    operation = owner.operation
    index = ir.OpResult(value).result_number
    match operation.name:
        case "scf.if":
            yield from (_last(region).operands[index] for region in operation.regions)
        case "scf.for":
            yield from (operation.operands[3 + index], _last(operation.regions[0]).operands[index])
        case "scf.while":
            # The condition comes first.
            yield _last(operation.regions[0]).operands[1 + index]
        case _:
            pass


def _handed_to_argument(block: ir.Block, index: int) -> Iterator[ir.Value]:
    operation = block.owner.operation
    match operation.name:
        case "scf.for" if index:
            yield from (operation.operands[2 + index], _last(operation.regions[0]).operands[index - 1])
        case "scf.while" if block == operation.regions[0].blocks[0]:
            yield from (operation.operands[index], _last(operation.regions[1]).operands[index])
        case "scf.while":
            yield _last(operation.regions[0]).operands[1 + index]
        case _:
            pass


def _last(region: ir.Region) -> ir.Operation:
    operations = region.blocks[0].operations
    return operations[len(operations) - 1].operation
