"""What can be taken out of a module: operations, regions, branches, arguments, operands, results, attributes.

Each kind of edit has *sites* in a module, numbered from 0 in the order of the text. Editing takes a set of them, and
gives a module that MLIR has verified, or nothing. Where a value goes that others use, a cast without an operand stands
for it, `builtin.unrealized_conversion_cast to TYPE`, at the start of the function: no pass knows what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from cutecc.ir.editing import address_of
from cutecc.ir.mlir import ir

_CAST = "builtin.unrealized_conversion_cast"
_HOLDERS = ("builtin.module", "gpu.module")
"""Operations whose body is a list without a terminator."""
_KEPT = ("value", "function_type", "sym_name", "operandSegmentSizes", "resultSegmentSizes", "callee", "predicate")
"""Attributes without which the bindings abort where they look for them, or that name what is defined."""
_BRANCHES = {"cf.cond_br": "cf.br", "llvm.cond_br": "llvm.br"}
_SIMPLE = (0, 1)
"""Integers that are as simple as can be."""


@dataclass(frozen=True)
class Kind:
    """A kind of edit."""

    name: str
    """What the user is told: `operations`."""
    sites: Callable[[ir.Module], list[Any]]
    """What it could be done to."""
    apply: Callable[[ir.Module, list[Any], Collection[int]], None]
    """Does it to some of the sites."""


def _operations(module: ir.Module) -> list[ir.Operation]:
    """All operations but the module, in the order of the text."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.parent is not None:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_terminator(operation: ir.Operation) -> bool:
    return operation.has_trait(ir.IsTerminatorTrait)


def _is_placeholder(operation: ir.Operation) -> bool:
    return operation.name == _CAST and not len(operation.operands)


class _Placeholders:
    """Values that stand for those that are taken away, one of each type in a function."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ir.Type], ir.Value] = {}

    def instead_of(self, value: ir.Value, at: ir.Operation) -> None:
        """Have users of `value`, which is of the function that `at` is in, use a placeholder."""
        if any(True for _ in value.uses):
            value.replace_all_uses_with(self._of(value.type, at))

    def _of(self, type: ir.Type, at: ir.Operation) -> ir.Value:
        function = _function_of(at)
        key = (address_of(function), type)
        if key not in self._known:
            entry = function.regions[0].blocks[0]
            for each in entry.operations:
                inner = each.operation
                if not _is_placeholder(inner):
                    break
                if inner.results[0].type == type:
                    self._known[key] = inner.results[0]
                    return self._known[key]
            created = ir.Operation.create(_CAST, [type], ip=ir.InsertionPoint.at_block_begin(entry))
            self._known[key] = created.results[0]
        return self._known[key]


def _function_of(operation: ir.Operation) -> ir.Operation:
    """The outermost operation around `operation`, itself included, that is no list of others."""
    while (parent := operation.parent) is not None and parent.name not in _HOLDERS:
        operation = parent
    return operation


def _erase(operation: ir.Operation, placeholders: _Placeholders) -> None:
    """Take `operation` out, with all that is inside it."""
    for result in operation.results:
        placeholders.instead_of(result, operation)
    operation.erase()


def sweep(module: ir.Module) -> None:
    """Take out placeholders that nobody uses."""
    for operation in reversed(_operations(module)):
        if _is_placeholder(operation) and not any(True for _ in operation.results[0].uses):
            operation.erase()


# Operations.


def _removable(module: ir.Module) -> list[ir.Operation]:
    return [each for each in _operations(module) if not _is_terminator(each) and not _is_placeholder(each)]


def _remove(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
    placeholders = _Placeholders()
    wanted = [sites[index] for index in sorted(chosen)]
    inside = {address_of(each) for each in wanted}
    outermost = [each for each in wanted if not _is_inside(each, inside)]
    # Users before what they use.
    for operation in reversed(outermost):
        _erase(operation, placeholders)


def _is_inside(operation: ir.Operation, addresses: set[int]) -> bool:
    parent = operation.parent
    while parent is not None:
        if address_of(parent) in addresses:
            return True
        parent = parent.parent
    return False


# Regions: what is inside stays, without what is around it.


def _holding(module: ir.Module) -> list[ir.Operation]:
    return [
        each
        for each in _operations(module)
        if len(each.regions)
        and each.name not in _HOLDERS
        and address_of(_function_of(each)) != address_of(each)
        and all(len(region.blocks) <= 1 for region in each.regions)
    ]


def _unwrap(module: ir.Module, sites: list[ir.Operation], chosen: Collection[int]) -> None:
    placeholders = _Placeholders()
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
        _erase(operation, placeholders)


# Branches, each of which goes one way; blocks that nothing leads to any more go too.


def _ways(module: ir.Module) -> list[tuple[ir.Operation, int]]:
    return [(each, way) for each in _operations(module) if each.name in _BRANCHES for way in range(2)]


def _go_one_way(module: ir.Module, sites: list[tuple[ir.Operation, int]], chosen: Collection[int]) -> None:
    done: set[int] = set()
    for index in sorted(chosen):
        branch, way = sites[index]
        if index - way in done:
            continue
        done.add(index - way)
        sizes = list(branch.attributes["operandSegmentSizes"])
        first = sizes[0] + sum(sizes[1 : 1 + way])
        operands = list(branch.operands)[first : first + sizes[1 + way]]
        with ir.InsertionPoint(branch), branch.location:
            ir.Operation.create(_BRANCHES[branch.name], operands=operands, successors=[branch.successors[way]])
        branch.erase()
    for operation in _operations(module):
        for region in operation.regions:
            if len(region.blocks) > 1:
                _drop_unreachable(operation, region)
                _merge_blocks(region)


def _drop_unreachable(holder: ir.Operation, region: ir.Region) -> None:
    blocks = list(region.blocks)
    reached, open_ones = {blocks[0]}, [blocks[0]]
    while open_ones:
        end = list(open_ones.pop().operations)[-1].operation
        for successor in end.successors:
            if successor not in reached:
                reached.add(successor)
                open_ones.append(successor)
    gone = [block for block in blocks if block not in reached]
    placeholders = _Placeholders()
    for block in gone:
        for argument in block.arguments:
            placeholders.instead_of(argument, holder)
    # Branches first: a block that one leads to cannot go.
    for block in gone:
        list(block.operations)[-1].operation.erase()
    for block in gone:
        for operation in reversed([each.operation for each in block.operations]):
            _erase(operation, placeholders)
    for block in gone:
        _drop_block(block)


def _drop_block(block: ir.Block) -> None:
    """Take an empty block out. The bindings erase none; they can move it into an operation that then goes."""
    with ir.Location.unknown():
        grave = ir.Operation.create("builtin.module", regions=1)
    block.append_to(grave.regions[0])
    grave.erase()


def _merge_blocks(region: ir.Region) -> None:
    """Have a block follow directly the only one that leads to it."""
    merged = True
    while merged:
        merged = False
        leading: dict[ir.Block, list[ir.Operation]] = {}
        for block in region.blocks:
            end = list(block.operations)[-1].operation
            for successor in end.successors:
                leading.setdefault(successor, []).append(end)
        for block, ends in leading.items():
            if len(ends) != 1 or ends[0].name not in _BRANCHES.values() or block == ends[0].block:
                continue
            for argument, value in zip(block.arguments, ends[0].operands, strict=True):
                argument.replace_all_uses_with(value)
            for operation in [each.operation for each in block.operations]:
                operation.move_before(ends[0])
            ends[0].erase()
            _drop_block(block)
            merged = True
            break


# Arguments of functions.


def _arguments(module: ir.Module) -> list[tuple[ir.Operation, int]]:
    return [
        (each, index)
        for each in _operations(module)
        if "function_type" in each.attributes and len(each.regions) and len(each.regions[0].blocks)
        for index in range(len(each.regions[0].blocks[0].arguments))
    ]


def _drop_arguments(module: ir.Module, sites: list[tuple[ir.Operation, int]], chosen: Collection[int]) -> None:
    placeholders = _Placeholders()
    # From the last on, so that the numbers of those before it stay.
    for index in sorted(chosen, reverse=True):
        function, number = sites[index]
        block = function.regions[0].blocks[0]
        placeholders.instead_of(block.arguments[number], function)
        block.erase_argument(number)
        function.attributes["function_type"] = ir.TypeAttr.get(_without_input(function, number))
        if "arg_attrs" in function.attributes:
            kept = [each for place, each in enumerate(function.attributes["arg_attrs"]) if place != number]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)


def _without_input(function: ir.Operation, number: int) -> ir.Type:
    type = function.attributes["function_type"].value
    arguments = [each.type for each in function.regions[0].blocks[0].arguments]
    if str(type).startswith("!llvm.func<"):
        result = str(type).removeprefix("!llvm.func<").rpartition(" (")[0]
        return ir.Type.parse(f"!llvm.func<{result} ({', '.join(map(str, arguments))})>")
    return ir.FunctionType.get(arguments, ir.FunctionType(type).results)


# Operands and results of operations that have any number of them.


def _operands(module: ir.Module) -> list[tuple[ir.Operation, int]]:
    return [
        (each, index)
        for each in _operations(module)
        if "operandSegmentSizes" not in each.attributes and not len(each.successors)
        for index in range(len(each.operands))
    ]


def _drop_operands(module: ir.Module, sites: list[tuple[ir.Operation, int]], chosen: Collection[int]) -> None:
    _rebuild(sites, chosen, operands=True)


def _results(module: ir.Module) -> list[tuple[ir.Operation, int]]:
    return [
        (each, index)
        for each in _operations(module)
        if "resultSegmentSizes" not in each.attributes and not len(each.successors) and not _is_placeholder(each)
        for index, result in enumerate(each.results)
        if not any(True for _ in result.uses)
    ]


def _drop_results(module: ir.Module, sites: list[tuple[ir.Operation, int]], chosen: Collection[int]) -> None:
    _rebuild(sites, chosen, operands=False)


def _rebuild(sites: list[tuple[ir.Operation, int]], chosen: Collection[int], *, operands: bool) -> None:
    """Make the operations of some sites anew, without the operands or results that these name."""
    dropped: dict[int, tuple[ir.Operation, set[int]]] = {}
    for index in chosen:
        operation, number = sites[index]
        dropped.setdefault(address_of(operation), (operation, set()))[1].add(number)
    for operation, numbers in dropped.values():
        kept = [each for number, each in enumerate(operation.results) if operands or number not in numbers]
        with ir.InsertionPoint(operation), operation.location:
            new = ir.Operation.create(
                operation.name,
                results=[each.type for each in kept],
                operands=[
                    each for number, each in enumerate(operation.operands) if not operands or number not in numbers
                ],
                attributes={name: operation.attributes[name] for name in operation.attributes},
                regions=len(operation.regions),
            )
        for old_region, new_region in zip(operation.regions, new.regions, strict=True):
            for block in list(old_region.blocks):
                block.append_to(new_region)
        for old, value in zip(kept, new.results, strict=True):
            old.replace_all_uses_with(value)
        operation.erase()


# Attributes, and integers in them.


def _attributes(module: ir.Module) -> list[tuple[ir.Operation, str]]:
    return [
        (each, name)
        for each in (module.operation, *_operations(module))
        for name in each.attributes
        if name not in _KEPT
    ]


def _drop_attributes(module: ir.Module, sites: list[tuple[ir.Operation, str]], chosen: Collection[int]) -> None:
    for index in chosen:
        operation, name = sites[index]
        del operation.attributes[name]


def _integers(module: ir.Module) -> list[tuple[ir.Operation, str]]:
    return [
        (each, name)
        for each in _operations(module)
        for name in each.attributes
        if isinstance(each.attributes[name], ir.IntegerAttr) and int(each.attributes[name].value) not in _SIMPLE
    ]


def _set_integers(to: Callable[[int], int]) -> Callable[[ir.Module, list[Any], Collection[int]], None]:
    def apply(module: ir.Module, sites: list[tuple[ir.Operation, str]], chosen: Collection[int]) -> None:
        for index in chosen:
            operation, name = sites[index]
            old = operation.attributes[name]
            operation.attributes[name] = ir.IntegerAttr.get(old.type, to(int(old.value)))

    return apply


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("operations", _removable, _remove),
        Kind("regions", _holding, _unwrap),
        Kind("branches", _ways, _go_one_way),
        Kind("arguments", _arguments, _drop_arguments),
        Kind("results", _results, _drop_results),
        Kind("operands", _operands, _drop_operands),
        Kind("attributes", _attributes, _drop_attributes),
        Kind("constants to 0", _integers, _set_integers(lambda value: 0)),
        Kind("constants to 1", _integers, _set_integers(lambda value: 1)),
        Kind("constants halved", _integers, _set_integers(lambda value: int(value / 2))),
    )
}
"""In the order in which they are tried."""


def count_operations(module: ir.Module) -> int:
    """How many operations a module holds, without itself and the placeholders."""
    return sum(not _is_placeholder(each) for each in _operations(module))


def sites_of(module: ir.Module, kind: str) -> Sequence[Any]:
    """The sites of a kind of edit in a module."""
    return KINDS[kind].sites(module)


def edit(module: ir.Module, kind: str, chosen: Collection[int]) -> None:
    """Do an edit to some of its sites, in place. The result may be invalid."""
    chosen_kind = KINDS[kind]
    chosen_kind.apply(module, chosen_kind.sites(module), chosen)
    sweep(module)
