"""Which loops take as many turns as a launch decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cutecc.proving.kernel import Operation, all_operations
from cutecc.proving.skeleton import LOOPS, Skeleton
from cutecc.proving.values import Symbol

_REQUESTS = "nvvm.clusterlaunchcontrol"


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops whose ends are not the same in all launches."""

    by_number: frozenset[Operation]
    """They end after a number of steps that the launch has."""
    over_tiles: frozenset[Operation]
    """They go over the grid, or ask for clusters that have not begun: each turn is another tile."""


def loops_of(skeleton: Skeleton, symbols: Mapping[int, Symbol]) -> Loops:
    """Of the loops that matter."""
    varying = varying_values(skeleton, symbols)
    grid = varying_values(skeleton, _of_the_grid(skeleton, symbols))
    loops = {each: _ends(each) for each in skeleton.kept if each.name in LOOPS}
    over_tiles = frozenset(each for each, ends in loops.items() if not grid.isdisjoint(ends))
    by_number = frozenset(each for each, ends in loops.items() if not varying.isdisjoint(ends))
    return Loops(by_number - over_tiles, over_tiles)


def _of_the_grid(skeleton: Skeleton, symbols: Mapping[int, Symbol]) -> list[int]:
    asked = (each for each in all_operations(skeleton.kernel.body) if each.name.startswith(_REQUESTS))
    found = [value for value, symbol in symbols.items() if symbol.is_positive]
    return [*found, *(result for each in asked for result in each.results)]


def _ends(loop: Operation) -> list[int]:
    """The values that say when a loop ends."""
    return loop.operands[:3] if loop.name == "scf.for" else loop.blocks[0].operations[-1].operands[:1]


def varying_values(skeleton: Skeleton, symbols: Iterable[int]) -> set[int]:
    """Values that a number of the launch may take part in."""
    found = set(symbols)
    before = -1
    while len(found) > before:
        before = len(found)
        for each in all_operations(skeleton.kernel.body):
            if not each.blocks and not found.isdisjoint(each.operands):
                found.update(each.results)
            elif each.blocks and each in skeleton.kept:
                ends = [value for block in each.blocks for value in block.operations[-1].operands]
                if not found.isdisjoint((*ends, *each.operands)):
                    _spread(each, found)
    return found


def _spread(operation: Operation, found: set[int]) -> None:
    """Through a branch or loop, position by position."""
    if operation.name == "scf.if":
        for block in operation.blocks:
            for result, value in zip(operation.results, block.operations[-1].operands, strict=False):
                if value in found:
                    found.add(result)
        return
    initial = operation.operands[3:] if operation.name == "scf.for" else operation.operands
    head = operation.blocks[0].arguments[1:] if operation.name == "scf.for" else operation.blocks[0].arguments
    ends = operation.blocks[-1].operations[-1].operands
    for value, end, argument in zip(initial, ends, head, strict=True):
        if value in found or end in found:
            found.add(argument)
    if operation.name == "scf.for":
        for argument, result in zip(head, operation.results, strict=True):
            if argument in found:
                found.add(result)
        return
    handed = operation.blocks[0].operations[-1].operands[1:]
    for value, argument, result in zip(handed, operation.blocks[1].arguments, operation.results, strict=True):
        if value in found:
            found.update((argument, result))
