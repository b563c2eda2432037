"""Edits that drop an argument, an operand or a result, together with all that corresponds to it.

An argument of a function goes with what its callers pass, what it returns with their results; a value that a loop
carries with its start, what the body yields, and the result; an argument of a block with what branches to it pass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutecc.ir.building import before, is_terminator
from cutecc.ir.editing import address_of
from cutecc.ir.mlir import ir
from cutecc.workbench.reduction.placeholders import (
    Kind,
    Placeholders,
    is_placeholder,
    is_used,
    operations_of,
)

_SEGMENTS = "operandSegmentSizes"
_QUOTED = re.compile(r'"[^"]*"')
_FIXED = re.compile(r"(?:expected|requires) (?:a single|zero|one|\d+) (?:operand|result)s?\b(?! or more)")
"""What MLIR says of an operation that always has so many."""


@dataclass(frozen=True)
class Slot:
    """What goes together: places among the operands and results of operations, and the arguments of blocks."""

    operands: Sequence[tuple[ir.Operation, int]] = ()
    arguments: Sequence[tuple[ir.Block, int]] = ()
    results: Sequence[tuple[ir.Operation, int]] = ()
    function: ir.Operation | None = None
    """The one whose type changes."""


def _drop(module: ir.Module, sites: list[Slot], chosen: Collection[int]) -> None:
    placeholders = Placeholders()
    slots = [sites[index] for index in sorted(chosen)]
    functions = {address_of(each.function): each.function for each in slots if each.function is not None}
    arguments = {(block, number) for slot in slots for block, number in slot.arguments}
    # From the last on, so that the numbers of those before it stay.
    for block, number in sorted(arguments, key=lambda each: -each[1]):
        placeholders.instead_of(block.arguments[number], _holder(block))
    for function in functions.values():
        entry = function.regions[0].blocks[0]
        _retype(function, {number for block, number in arguments if block == entry}, _dropped_results(slots, function))
    for block, number in sorted(arguments, key=lambda each: -each[1]):
        block.erase_argument(number)
    # Inside out: an operation takes its regions along when it is made anew.
    for operation, operands, dropped in sorted(_changed(slots), key=lambda each: _depth(each[0]), reverse=True):
        for number in dropped:
            placeholders.instead_of(operation.results[number], operation)
        _rebuild(operation, operands, dropped)


def _dropped_results(slots: Sequence[Slot], function: ir.Operation) -> set[int]:
    """The numbers of a function's results that are dropped."""
    return {
        number
        for slot in slots
        if slot.function is not None and address_of(slot.function) == address_of(function)
        for operation, number in slot.operands
        if operation.name == "func.return"
    }


def _changed(slots: Sequence[Slot]) -> list[tuple[ir.Operation, set[int], set[int]]]:
    """Each operation that loses operands or results, and the numbers of these."""
    changed: dict[int, tuple[ir.Operation, set[int], set[int]]] = {}
    for slot in slots:
        for operation, number in slot.operands:
            changed.setdefault(address_of(operation), (operation, set(), set()))[1].add(number)
        for operation, number in slot.results:
            changed.setdefault(address_of(operation), (operation, set(), set()))[2].add(number)
    return list(changed.values())


def _holder(block: ir.Block) -> ir.Operation:
    return block.owner.operation


def _depth(operation: ir.Operation) -> int:
    depth = 0
    while (parent := operation.parent) is not None:
        operation, depth = parent, depth + 1
    return depth


def _rebuild(operation: ir.Operation, operands: Collection[int], results: Collection[int]) -> None:
    """Make an operation anew, without some of its operands and results, which nobody uses."""
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    if _SEGMENTS in attributes:
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(_smaller(list(attributes[_SEGMENTS]), operands))
    kept = [each for number, each in enumerate(operation.results) if number not in results]
    with before(operation):
        new = ir.Operation.create(
            operation.name,
            results=[each.type for each in kept],
            operands=[each for number, each in enumerate(operation.operands) if number not in operands],
            attributes=attributes,
            successors=list(operation.successors),
            regions=len(operation.regions),
        )
    for old_region, new_region in zip(operation.regions, new.regions, strict=True):
        for block in list(old_region.blocks):
            block.append_to(new_region)
    for old, value in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(value)
    operation.erase()


def _smaller(sizes: list[int], dropped: Collection[int]) -> list[int]:
    left, start = list[int](), 0
    for size in sizes:
        left.append(sum(number not in dropped for number in range(start, start + size)))
        start += size
    return left


def _retype(function: ir.Operation, arguments: Collection[int], results: Collection[int]) -> None:
    """Give a function the type and attributes that it has without some arguments and results."""
    type = function.attributes["function_type"].value
    inputs = [each.type for each in function.regions[0].blocks[0].arguments]
    left = [each for number, each in enumerate(inputs) if number not in arguments]
    if str(type).startswith("!llvm.func<"):
        new = ir.Type.parse(f"!llvm.func<{_llvm_result(str(type))} ({', '.join(map(str, left))})>")
    else:
        outputs = ir.FunctionType(type).results
        new = ir.FunctionType.get(left, [each for number, each in enumerate(outputs) if number not in results])
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    for name, gone in (("arg_attrs", arguments), ("res_attrs", results)):
        if name in function.attributes:
            attributes = [each for number, each in enumerate(function.attributes[name]) if number not in gone]
            function.attributes[name] = ir.ArrayAttr.get(attributes)


def _llvm_result(type: str) -> str:
    """What stands before the parentheses of the arguments, which are the last ones."""
    # The name of a struct may be anything.
    plain = _QUOTED.sub(lambda name: "_" * len(name[0]), type)
    depth = 0
    for place in range(len(plain) - 2, -1, -1):
        depth += (plain[place] in ")>") - (plain[place] in "(<")
        if not depth:
            return type[len("!llvm.func<") : place].rstrip()
    raise ValueError(type)


# Functions.


def _functions(module: ir.Module) -> Iterator[ir.Operation]:
    for each in operations_of(module):
        if "function_type" in each.attributes and len(each.regions) and len(each.regions[0].blocks):
            yield each


def _callers(module: ir.Module) -> dict[str, list[ir.Operation]]:
    """The operations that call or launch a function, by its name."""
    found: dict[str, list[ir.Operation]] = {}
    for each in operations_of(module):
        if "callee" in each.attributes:
            callee = each.attributes["callee"]
            name = callee.value if isinstance(callee, ir.FlatSymbolRefAttr) else list(callee.value)[-1]
            found.setdefault(name, []).append(each)
    return found


def _arguments(module: ir.Module) -> list[Slot]:
    callers = _callers(module)
    found: list[Slot] = []
    for function in _functions(module):
        entry = function.regions[0].blocks[0]
        passing = callers.get(function.attributes["sym_name"].value, [])
        for number in range(len(entry.arguments)):
            # A launch takes its configuration first.
            passed = [(each, number + (each.name == "cuda.launch_ex")) for each in passing]
            found.append(Slot(passed, [(entry, number)], function=function))
    return found


def _returned(module: ir.Module) -> list[Slot]:
    callers = _callers(module)
    found: list[Slot] = []
    for function in _functions(module):
        if function.name != "func.func":
            continue
        ends = [block.operations[len(block.operations) - 1].operation for block in function.regions[0].blocks]
        returns = [each for each in ends if each.name == "func.return"]
        calls = callers.get(function.attributes["sym_name"].value, [])
        for number in range(len(ir.FunctionType(function.attributes["function_type"].value).results)):
            operands = [(each, number) for each in returns]
            found.append(Slot(operands, results=[(each, number) for each in calls], function=function))
    return found


# Values that go through regions and blocks.


def _carried(module: ir.Module) -> list[Slot]:
    found: list[Slot] = []
    for operation in operations_of(module):
        if operation.name == "scf.for":
            body, end = _body(operation, 0)
            found += [
                Slot([(operation, 3 + number), (end, number)], [(body, 1 + number)], [(operation, number)])
                for number in range(len(operation.results))
            ]
        elif operation.name == "scf.if":
            ends = [_body(operation, place)[1] for place, each in enumerate(operation.regions) if len(each.blocks)]
            found += [
                Slot([(end, number) for end in ends], (), [(operation, number)])
                for number in range(len(operation.results))
            ]
        elif operation.name == "scf.while":
            (before, condition), (after, end) = _body(operation, 0), _body(operation, 1)
            found += [
                Slot([(operation, number), (end, number)], [(before, number)])
                for number in range(len(before.arguments))
            ]
            found += [
                Slot([(condition, 1 + number)], [(after, number)], [(operation, number)])
                for number in range(len(operation.results))
            ]
        for region in operation.regions:
            if len(region.blocks) > 1:
                found += _of_blocks(list(region.blocks)[1:])
    return found


def _body(operation: ir.Operation, region: int) -> tuple[ir.Block, ir.Operation]:
    """The only block of a region, and the operation that ends it."""
    block = operation.regions[region].blocks[0]
    return block, block.operations[len(block.operations) - 1].operation


def _of_blocks(blocks: Iterable[ir.Block]) -> Iterator[Slot]:
    for block in blocks:
        if not len(block.arguments):
            continue
        firsts: list[tuple[ir.Operation, int]] = []
        for other in set(block.predecessors):
            end = other.operations[len(other.operations) - 1].operation
            sizes = list(end.attributes[_SEGMENTS]) if _SEGMENTS in end.attributes else [0, len(end.operands)]
            firsts += [
                (end, sum(sizes[: 1 + way])) for way, successor in enumerate(end.successors) if successor == block
            ]
        for number in range(len(block.arguments)):
            yield Slot([(end, first + number) for end, first in firsts], [(block, number)])


# Operations that have any number of operands or results.


def _operands(module: ir.Module) -> list[Slot]:
    return [
        Slot([(each, number)])
        for each in operations_of(module)
        if _SEGMENTS not in each.attributes and not len(each.successors) and _may_lose(each, operands=True)
        for number in range(len(each.operands))
    ]


def _results(module: ir.Module) -> list[Slot]:
    return [
        Slot(results=[(each, number)])
        for each in operations_of(module)
        if "resultSegmentSizes" not in each.attributes
        and not len(each.successors)
        and not is_placeholder(each)
        and _may_lose(each, operands=False)
        for number, result in enumerate(each.results)
        if not is_used(result)
    ]


_known: dict[tuple[str, int, bool], bool] = {}
"""By name and number of operands or results, and which of them: whether an operation may have one less."""


def _may_lose(operation: ir.Operation, *, operands: bool) -> bool:
    """Whether MLIR may take such an operation with one operand or result less, as far as one can tell by trying."""
    count = len(operation.operands if operands else operation.results)
    key = (operation.name, count, operands)
    if key not in _known:
        _known[key] = bool(count) and (
            is_terminator(operation) or len(operation.regions) > 0 or _takes_one_less(operation, operands)
        )
    return _known[key]


def _takes_one_less(operation: ir.Operation, operands: bool) -> bool:
    with before(operation):
        tried = ir.Operation.create(
            operation.name,
            results=[each.type for each in operation.results][: None if operands else -1],
            operands=list(operation.operands)[: -1 if operands else None],
            attributes={name: operation.attributes[name] for name in operation.attributes},
        )
    try:
        tried.verify()
    except ir.MLIRError as failure:
        return not _FIXED.search(str(failure))
    finally:
        tried.erase()
    return True


SIGNATURES = (
    Kind("arguments", _arguments, _drop),
    Kind("returned values", _returned, _drop),
    Kind("carried values", _carried, _drop),
    Kind("results", _results, _drop),
    Kind("operands", _operands, _drop),
)
