"""Edits of attributes: without them, with simpler numbers in them, and without the places that operations come from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.workbench.reduction.placeholders import Kind, operations_of

_KEPT = ("value", "function_type", "sym_name", "operandSegmentSizes", "resultSegmentSizes", "callee", "predicate")
"""Attributes without which the bindings abort where they look for them, or that name what is defined."""
_SIMPLE = (0, 1)
"""Numbers that are as simple as can be."""
_SIMPLE_ELEMENTS = tuple(f"dense<{each}>" for each in (0, 1, "0.000000e+00", "1.000000e+00"))

_Named = tuple[ir.Operation, str]


def _attributes(module: ir.Module) -> list[_Named]:
    return [
        (each, name)
        for each in (module.operation, *operations_of(module))
        for name in each.attributes
        if name not in _KEPT
    ]


def _drop_attributes(module: ir.Module, sites: list[_Named], chosen: Collection[int]) -> None:
    for index in chosen:
        operation, name = sites[index]
        del operation.attributes[name]


def _integers(module: ir.Module) -> list[_Named]:
    return [
        (each, name)
        for each in operations_of(module)
        for name in each.attributes
        if isinstance(each.attributes[name], ir.IntegerAttr) and each.attributes[name].value not in _SIMPLE
    ]


def _numbers(module: ir.Module) -> list[_Named]:
    return [
        (each, name) for each in operations_of(module) for name in each.attributes if _is_number(each.attributes[name])
    ]


def _is_number(attribute: ir.Attribute) -> bool:
    if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        return attribute.value not in _SIMPLE
    return isinstance(attribute, ir.DenseElementsAttr) and str(attribute).split(" :")[0] not in _SIMPLE_ELEMENTS


def _set_to(value: int) -> Callable[[ir.Module, list[Any], Collection[int]], None]:
    def apply(module: ir.Module, sites: list[_Named], chosen: Collection[int]) -> None:
        for index in chosen:
            operation, name = sites[index]
            old = operation.attributes[name]
            if isinstance(old, ir.IntegerAttr):
                new = ir.IntegerAttr.get(old.type, value)
            elif isinstance(old, ir.FloatAttr):
                new = ir.FloatAttr.get(old.type, float(value))
            else:
                number = value if isinstance(old, ir.DenseIntElementsAttr) else float(value)
                new = ir.Attribute.parse(f"dense<{number}> : {old.type}")
            operation.attributes[name] = new

    return apply


def _halve(module: ir.Module, sites: list[_Named], chosen: Collection[int]) -> None:
    for index in chosen:
        operation, name = sites[index]
        old = operation.attributes[name]
        half = abs(old.value) // 2
        operation.attributes[name] = ir.IntegerAttr.get(old.type, -half if old.value < 0 else half)


def _placed(module: ir.Module) -> list[ir.Operation]:
    unknown = ir.Location.unknown()
    return [each for each in (module.operation, *operations_of(module)) if each.location != unknown]


def _forget_places(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
    for index in chosen:
        sites[index].location = ir.Location.unknown()


LOCATIONS = "locations"
ATTRIBUTES = (
    Kind(LOCATIONS, _placed, _forget_places),
    Kind("attributes", _attributes, _drop_attributes, incomplete=True),
    Kind("constants to 0", _numbers, _set_to(0)),
    Kind("constants to 1", _numbers, _set_to(1)),
    Kind("constants halved", _integers, _halve),
)
