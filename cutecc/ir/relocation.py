"""Giving the places of a parsed text the name of the file."""

from __future__ import annotations

from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir

_UNNAMED = "-"
"""What the bindings call the text of a module that they parse."""


def name_places(module: ir.Module, name: str) -> None:
    """Say `name` in each location that the parser made up; locations that the text spells stay as they are."""

    def named(location: ir.Location) -> ir.Location | None:
        if location.is_a_file() and location.filename == _UNNAMED:
            return ir.Location.file(name, location.start_line, location.start_col)
        return None

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if location := named(operation.location):
            operation.location = location
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if location := named(argument.location):
                        argument.set_location(location)
        return ir.WalkResult.ADVANCE

    with plain_values(), module.context:
        module.operation.walk(visit)
