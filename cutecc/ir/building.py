"""Where new operations go, and which source location they get.

    with before(op):
        total = arith.addi(first, second)

Inside, builders of `cutecc.ir.mlir`'s dialects put their operations there, with the location of `op`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from cutecc.errors import PassError
from cutecc.ir.mlir import ir


class _Building(AbstractContextManager[None]):
    """Has builders put operations at a point, with a location. A generator would take longer, for each operation."""

    __slots__ = ("_location", "_point")

    def __init__(self, point: ir.InsertionPoint, location: AbstractContextManager[object]) -> None:
        self._point, self._location = point, location

    def __enter__(self) -> None:
        self._point.__enter__()
        self._location.__enter__()

    def __exit__(self, *failure: Any) -> None:
        self._location.__exit__(*failure)
        self._point.__exit__(*failure)


def before(
    operation: ir.Operation | ir.OpView, *others: ir.Operation | ir.OpView | ir.Value
) -> AbstractContextManager[None]:
    """Build before `operation`, with its location; with those of `others` too, fused, for what stands for several.

    Raises `PassError` for an operation that is not inside another.
    """
    _check_inside(operation)
    return _Building(ir.InsertionPoint(operation), located(operation, *others))


def after(
    place: ir.Operation | ir.OpView | ir.Value, *others: ir.Operation | ir.OpView | ir.Value
) -> AbstractContextManager[None]:
    """Build after an operation, or right behind a value, one operation behind the other; location as `before`.

    Right behind an argument of a block is at the block's start.
    """
    owner = place.owner if isinstance(place, ir.Value) else place
    if isinstance(owner, ir.Block):
        point = ir.InsertionPoint.at_block_begin(owner)
    else:
        _check_inside(owner)
        point = ir.InsertionPoint.after(owner)
    return _Building(point, located(place, *others))


def at_start(block: ir.Block) -> AbstractContextManager[object]:
    """Build at the start of `block`, one operation behind the other, with the current location."""
    return ir.InsertionPoint.at_block_begin(block)


def at_end(block: ir.Block) -> AbstractContextManager[object]:
    """Build at the end of `block`, before its terminator when it has one, with the current location."""
    try:
        return ir.InsertionPoint.at_block_terminator(block)
    except ValueError:  # it has none
        return ir.InsertionPoint(block)


def is_terminator(operation: ir.Operation) -> bool:
    """Whether it ends its block."""
    block = operation.block
    try:
        # Not all releases' bindings know the trait.
        return ir.InsertionPoint.at_block_terminator(block).ref_operation == operation
    except ValueError:  # it has none
        return False


def located(*places: ir.Operation | ir.OpView | ir.Value | ir.Location) -> AbstractContextManager[object]:
    """Give what is built the location of `places`; the fusion of their locations when these differ."""
    if len(places) == 1:
        (place,) = places
        return place if isinstance(place, ir.Location) else place.location
    different: list[ir.Location] = []
    for place in places:
        location = place if isinstance(place, ir.Location) else place.location
        if location not in different:
            different.append(location)
    return different[0] if len(different) == 1 else ir.Location.fused(different)


def _check_inside(operation: ir.Operation | ir.OpView) -> None:
    # The bindings crash.
    if operation.parent is None:
        raise PassError(f"nothing can be built beside {operation.operation.name}, which is inside no other operation")
