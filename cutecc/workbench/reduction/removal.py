"""Edits that take operations out: alone, without what is inside them, or with another value for their results."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from cutecc.ir.building import at_start, is_terminator
from cutecc.ir.constants import constant_of_type, number_as
from cutecc.ir.editing import address_of, is_inside
from cutecc.ir.mlir import ir, llvm
from cutecc.workbench.reduction.placeholders import (
    HOLDERS,
    Kind,
    Placeholders,
    function_of,
    is_placeholder,
    is_used,
    operations_of,
)

_CONSTANTS = ("arith.constant", "llvm.mlir.constant")


def _removable(module: ir.Module) -> list[ir.Operation]:
    return [each for each in operations_of(module) if not is_terminator(each) and not is_placeholder(each)]


def _remove(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
    wanted = [sites[index] for index in sorted(chosen)]
    if symbols := {each.attributes["sym_name"].value for each in wanted if "sym_name" in each.attributes}:
        # What names a function cannot stay without it.
        inside = {address_of(each) for each in wanted}
        for operation in sites:
            if address_of(operation) not in inside and _refers_to(operation, symbols):
                wanted.append(operation)
    inside = {address_of(each) for each in wanted}
    placeholders = Placeholders()
    # Users before what they use.
    for operation in reversed([each for each in wanted if not is_inside(each, inside)]):
        placeholders.erase(operation)


def _refers_to(operation: ir.Operation, symbols: set[str]) -> bool:
    for name in operation.attributes:
        attribute = operation.attributes[name]
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            if attribute.value in symbols:
                return True
        elif isinstance(attribute, ir.SymbolRefAttr) and not symbols.isdisjoint(attribute.value):
            return True
    return False


def _holding(module: ir.Module) -> list[ir.Operation]:
    return [
        each
        for each in operations_of(module)
        if len(each.regions)
        and each.name not in HOLDERS
        and address_of(function_of(each)) != address_of(each)
        and all(len(region.blocks) <= 1 for region in each.regions)
    ]


def _unwrap(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
    """What is inside stays, without what is around it."""
    placeholders = Placeholders()
    # Inside out, so that each is still there when its turn comes.
    for index in sorted(chosen, reverse=True):
        operation = sites[index]
        given: list[ir.Value] = []
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    placeholders.instead_of(argument, operation)
                *body, end = [each.operation for each in block.operations]
                for each in body:
                    each.move_before(operation)
                given = list(end.operands)
        for result, value in zip(operation.results, given, strict=False):
            if result.type == value.type:
                result.replace_all_uses_with(value)
        placeholders.erase(operation)


# Results that others use, for which another value of the same type stands: unlike placeholders, these can be compiled.


class _Strategy(Protocol):
    """Where other values for the results of operations come from."""

    def __init__(self, module: ir.Module) -> None: ...

    def has(self, operation: ir.Operation) -> bool:
        """Whether there are such values."""
        ...

    def values(self, operation: ir.Operation) -> list[ir.Value]:
        """One for each result; they may be made for it."""
        ...


class _Operands:
    """The first operand of the same type."""

    def __init__(self, module: ir.Module) -> None:
        pass

    def has(self, operation: ir.Operation) -> bool:
        types = {operand.type for operand in operation.operands}
        return all(result.type in types for result in operation.results)

    def values(self, operation: ir.Operation) -> list[ir.Value]:
        return [next(each for each in operation.operands if each.type == result.type) for result in operation.results]


class _Firsts:
    """The first value of the same type in the function, which everything behind it may use."""

    def __init__(self, module: ir.Module) -> None:
        self._functions: dict[int, tuple[dict[ir.Type, tuple[int, ir.Value]], dict[int, int]]] = {}

    def has(self, operation: ir.Operation) -> bool:
        return self._found(operation) is not None

    def values(self, operation: ir.Operation) -> list[ir.Value]:
        return self._found(operation) or []

    def _found(self, operation: ir.Operation) -> list[ir.Value] | None:
        function = function_of(operation)
        if not _has_body(function):
            return None
        key = address_of(function)
        if key not in self._functions:
            self._functions[key] = self._look_at(function)
        first, places = self._functions[key]
        outer = operation
        while (parent := outer.parent) is not None and address_of(parent) != key:
            outer = parent
        # An operation of another block is behind all of the first one.
        place = places.get(address_of(outer), len(places))
        known = [first.get(result.type) for result in operation.results]
        found = [value for each in known if each for at, value in [each] if at < place]
        return found if len(found) == len(known) else None

    def _look_at(self, function: ir.Operation) -> tuple[dict[ir.Type, tuple[int, ir.Value]], dict[int, int]]:
        """The first value of each type and its place, -1 for an argument; the places of operations by address."""
        first: dict[ir.Type, tuple[int, ir.Value]] = {}
        places: dict[int, int] = {}
        entry = function.regions[0].blocks[0]
        for argument in entry.arguments:
            first.setdefault(argument.type, (-1, argument))
        for place, each in enumerate(entry.operations):
            places[address_of(each.operation)] = place
            if not is_placeholder(each.operation):
                for result in each.operation.results:
                    first.setdefault(result.type, (place, result))
        return first, places


class _Zeros:
    """A constant 0 at the start of the function."""

    def __init__(self, module: ir.Module) -> None:
        self._known: dict[tuple[int, ir.Type], ir.Value] = {}

    def has(self, operation: ir.Operation) -> bool:
        return (
            operation.name not in _CONSTANTS
            and not is_placeholder(operation)
            and all(_has_zero(result.type) for result in operation.results)
            and _has_body(function_of(operation))
        )

    def values(self, operation: ir.Operation) -> list[ir.Value]:
        return [self._zero(function_of(operation), result.type) for result in operation.results]

    def _zero(self, function: ir.Operation, type: ir.Type) -> ir.Value:
        key = (address_of(function), type)
        if key not in self._known:
            with at_start(function.regions[0].blocks[0]):
                lowered = function.name == "llvm.func"
                zero = llvm.mlir_constant(number_as(type, 0)) if lowered else constant_of_type(0, type)
            self._known[key] = zero
        return self._known[key]


def _has_body(function: ir.Operation) -> bool:
    return len(function.regions) > 0 and len(function.regions[0].blocks) > 0


def _has_zero(type: ir.Type) -> bool:
    return isinstance(type, ir.IntegerType | ir.IndexType | ir.FloatType)


def _replacement(name: str, strategy: type[_Strategy]) -> Kind:
    def sites(module: ir.Module) -> list[ir.Operation]:
        chooser = strategy(module)
        return [each for each in operations_of(module) if any(map(is_used, each.results)) and chooser.has(each)]

    def apply(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
        chooser = strategy(module)
        # Users before what they use, which may stand for them until its turn comes.
        for index in sorted(chosen, reverse=True):
            for result, value in zip(sites[index].results, chooser.values(sites[index]), strict=True):
                result.replace_all_uses_with(value)
            sites[index].erase()

    return Kind(name, sites, apply)


REMOVAL = (
    Kind("operations", _removable, _remove),
    Kind("regions", _holding, _unwrap),
)
REPLACEMENT = (
    _replacement("values by earlier ones", _Firsts),
    _replacement("values by operands", _Operands),
    _replacement("values by 0", _Zeros),
)
