"""Giving the locations of a parsed text the name of the file, or those that the operations had before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.support.locations import Frame, Place

_UNNAMED = "-"
"""What the bindings call the text of a module that they parse."""


def name_locations(module: ir.Module, name: str) -> None:
    """Say `name` in each location that the parser made up; locations that the text spells stay as they are."""
    _relocate(module, lambda line, column: ir.Location.file(name, line, column))


def restore_locations(module: ir.Module, places: Mapping[int, Place | None], name: str) -> bool:
    """Have what the parser placed in its text come from where `places` say by line, from 1, `None` for nowhere.

    What begins in another line comes from there, in a file called `name`; returns whether anything does. Locations that
    the text spells stay as they are.
    """
    known: dict[int, ir.Location] = {}
    has_own = False

    def located(line: int, column: int) -> ir.Location:
        nonlocal has_own
        if line not in places:
            has_own = True
            return ir.Location.file(name, line, column)
        if line not in known:
            known[line] = _location(places[line])
        return known[line]

    _relocate(module, located)
    return has_own


def _location(place: Place | None) -> ir.Location:
    if place is None:
        return ir.Location.unknown()
    *inner, user = map(_file, place)
    return ir.Location.callsite(inner[0], [*inner[1:], user]) if inner else user


def _file(frame: Frame) -> ir.Location:
    # The DSL counts columns of Python from 0 (`SourceLocation.of_debug_information`).
    column = frame.column - 1 if frame.column and frame.file.endswith(".py") else frame.column
    return ir.Location.file(frame.file, frame.line, column)


def _relocate(module: ir.Module, located: Callable[[int, int], ir.Location]) -> None:
    """Give each location that the parser made up the one that `located` makes of its line and column."""

    def again(location: ir.Location) -> ir.Location | None:
        if location.is_a_file() and location.filename == _UNNAMED:
            return located(location.start_line, location.start_col)
        return None

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if location := again(operation.location):
            operation.location = location
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if location := again(argument.location):
                        argument.set_location(location)
        return ir.WalkResult.ADVANCE

    with plain_values(), module.context:
        module.operation.walk(visit)
