"""Edits of control flow: branches that go one way, and the blocks that nothing leads to any more."""

from __future__ import annotations

from collections.abc import Collection

from cutecc.ir.building import before
from cutecc.ir.mlir import ir
from cutecc.workbench.reduction.placeholders import Kind, Placeholders, operations_of

_BRANCHES = {"cf.cond_br": "cf.br", "llvm.cond_br": "llvm.br"}


def _ways(module: ir.Module) -> list[tuple[ir.Operation, int]]:
    """Both ways of each conditional branch, and each branch to a block that nothing else leads to."""
    found: list[tuple[ir.Operation, int]] = []
    for operation in operations_of(module):
        if operation.name in _BRANCHES:
            found += [(operation, 0), (operation, 1)]
        elif operation.name in _BRANCHES.values() and _leads_alone(operation):
            found.append((operation, 0))
    return found


def _leads_alone(branch: ir.Operation) -> bool:
    target = branch.successors[0]
    return target != branch.block and len(list(target.predecessors)) == 1


def _go_one_way(module: ir.Module, sites: list[tuple[ir.Operation, int]], chosen: Collection[int]) -> None:
    done: set[int] = set()
    for index in sorted(chosen):
        branch, way = sites[index]
        if index - way in done:
            continue
        done.add(index - way)
        if branch.name not in _BRANCHES:
            continue
        sizes = list(branch.attributes["operandSegmentSizes"])
        first = sizes[0] + sum(sizes[1 : 1 + way])
        operands = list(branch.operands)[first : first + sizes[1 + way]]
        with before(branch):
            ir.Operation.create(_BRANCHES[branch.name], operands=operands, successors=[branch.successors[way]])
        branch.erase()
    # Inside out: with a block goes all that is inside it.
    for operation in reversed([each for each in operations_of(module) if len(each.regions)]):
        for region in operation.regions:
            if len(region.blocks) > 1:
                _drop_unreachable(operation, region)
                _merge_blocks(region)


def _drop_unreachable(holder: ir.Operation, region: ir.Region) -> None:
    blocks = list(region.blocks)
    reached, open_ones = {blocks[0]}, [blocks[0]]
    while open_ones:
        for successor in _end_of(open_ones.pop()).successors:
            if successor not in reached:
                reached.add(successor)
                open_ones.append(successor)
    gone = [block for block in blocks if block not in reached]
    placeholders = Placeholders()
    for block in gone:
        for argument in block.arguments:
            placeholders.instead_of(argument, holder)
    # Branches first: a block that one leads to cannot go.
    for block in gone:
        _end_of(block).erase()
    for block in gone:
        for operation in reversed([each.operation for each in block.operations]):
            placeholders.erase(operation)
    for block in gone:
        _drop_block(block)


def _merge_blocks(region: ir.Region) -> None:
    """Have blocks follow directly the only one that leads to them."""
    for block in list(region.blocks)[1:]:
        ends = [each for other in block.predecessors for each in [_end_of(other)]]
        if len(ends) != 1 or ends[0].name not in _BRANCHES.values() or block == ends[0].block:
            continue
        for argument, value in zip(block.arguments, ends[0].operands, strict=True):
            argument.replace_all_uses_with(value)
        for operation in [each.operation for each in block.operations]:
            operation.move_before(ends[0])
        ends[0].erase()
        _drop_block(block)


def _end_of(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation


def _drop_block(block: ir.Block) -> None:
    """Take an empty block out. The bindings erase none; they can move it into an operation that then goes."""
    with ir.Location.unknown():
        grave = ir.Operation.create("builtin.module", regions=1)
    block.append_to(grave.regions[0])
    grave.erase()


CONTROL_FLOW = (Kind("branches", _ways, _go_one_way),)
