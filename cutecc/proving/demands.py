"""How much of a value matters for what a warp does from here on.

A counter that only ever goes through a remainder matters modulo that; one that is compared with a constant matters up
to it; one that is compared with a number of the launch matters by its distance to that. States in which such values
differ by no more than that go on alike, so they count as one: this is what lets a loop's states repeat.

Demands are followed from what decides back to where values come from, until nothing changes. All values are taken as
not negative, and as never wrapping around.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, lcm

from cutecc.proving.kernel import Block, Operation, all_operations
from cutecc.proving.loops import varying_values
from cutecc.proving.signs import not_negative
from cutecc.proving.skeleton import STRUCTURED, Skeleton, is_event, operands_of
from cutecc.proving.symbols import symbols_of
from cutecc.proving.values import PREDICATES

_MOST = 4096
"""Beyond it nothing but the value itself will do."""
_PASSED_ON = (
    *("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"),
    *("nvvm.shfl.sync", "llvm.ptrtoint", "llvm.inttoptr"),
)
_SIZED = ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui")


@dataclass(frozen=True, slots=True)
class Demand:
    """What of a value matters: all of it (`period` 0), or what is left of it modulo `period` and below `limit`."""

    period: int = 1
    limit: int = 0
    """From here on only the remainder matters."""
    is_relative: bool = False
    """Whether its distance to a number of the launch matters too."""

    def __or__(self, other: Demand) -> Demand:
        period = lcm(self.period, other.period) if self.period and other.period else 0
        limit = max(self.limit, other.limit)
        is_relative = self.is_relative or other.is_relative
        return Demand(period, limit, is_relative) if period <= _MOST and limit <= _MOST else ALL

    def shifted(self, by: int) -> Demand:
        """Of a value to which a constant is added before."""
        # What is less than what is taken away from it is told apart: the difference is negative.
        limit = max(0, self.limit - by, -by)
        return Demand(self.period, limit, self.is_relative) if limit <= _MOST else ALL


NONE, ALL = Demand(), Demand(0)


def demands_of(skeleton: Skeleton) -> dict[int, Demand]:
    """By the needed values."""
    return _Demands(skeleton).found


class _Demands:
    def __init__(self, skeleton: Skeleton) -> None:
        self.found: dict[int, Demand] = dict.fromkeys(skeleton.needed, NONE)
        self._kernel = skeleton.kernel
        self._kept = skeleton.kept
        self._constants: dict[int, int] = {}
        operations = list(all_operations(skeleton.kernel.body))
        for each in operations:
            value = each.attributes.get("value")
            if each.name == "arith.constant" and isinstance(value, int):
                self._constants[each.results[0]] = value
        self._definitions = {each.results[0]: each for each in operations if len(each.results) == 1}
        symbols = symbols_of(skeleton)
        self._varies = varying_values(skeleton, symbols)
        self._plus = not_negative(skeleton.kernel, symbols)
        self._carried = carried_values(skeleton)
        self._is_done = False
        while not self._is_done:
            self._is_done = True
            for each in reversed(operations):
                for value, demand in self._asked(each):
                    self._add(value, demand)

    def _add(self, value: int, demand: Demand) -> None:
        before = self.found.get(value)
        if before is not None and (after := before | demand) != before:
            self.found[value] = after
            self._is_done = False

    def _of(self, value: int) -> Demand:
        return self.found.get(value, NONE)

    def _asked(self, operation: Operation) -> Iterator[tuple[int, Demand]]:
        """What an operation asks of its operands."""
        if operation.name in STRUCTURED:
            if operation in self._kept:
                yield from self._of_structure(operation)
        elif is_event(self._kernel, operation):
            yield from ((value, ALL) for value in operands_of(self._kernel, operation))
        else:
            yield from self._of_arithmetic(operation)

    def _of_structure(self, operation: Operation) -> Iterator[tuple[int, Demand]]:
        name, operands = operation.name, operation.operands
        if name == "scf.if":
            yield operands[0], ALL
            for block in operation.blocks:
                yield from self._handed(block, operation.results)
        elif name == "scf.for":
            (body,) = operation.blocks
            counter = body.arguments[0]
            bound = Demand(is_relative=True) if operands[1] in self._varies else ALL
            yield operands[0], self._of(counter) | bound
            yield counter, bound
            yield operands[1], ALL
            yield operands[2], ALL
            for result, argument in zip(operation.results, body.arguments[1:], strict=True):
                yield argument, self._of(result)
            for initial, argument in zip(operands[3:], body.arguments[1:], strict=True):
                yield initial, self._of(argument)
            yield from self._handed(body, body.arguments[1:])
        else:
            before, after = operation.blocks
            condition, *handed = before.operations[-1].operands
            yield condition, ALL
            for value, argument, result in zip(handed, after.arguments, operation.results, strict=True):
                yield value, self._of(argument) | self._of(result)
            for initial, argument in zip(operands, before.arguments, strict=True):
                yield initial, self._of(argument)
            yield from self._handed(after, before.arguments)

    def _handed(self, block: Block, to: list[int]) -> Iterator[tuple[int, Demand]]:
        if to:
            yield from zip(block.operations[-1].operands, map(self._of, to), strict=True)

    def _of_arithmetic(self, operation: Operation) -> Iterator[tuple[int, Demand]]:
        if not operation.results or operation.results[0] not in self.found:
            return
        demand = self._of(operation.results[0])
        if demand != NONE:
            yield from self._passed_on(operation, demand)

    def _passed_on(self, operation: Operation, demand: Demand) -> Iterator[tuple[int, Demand]]:
        name, given = operation.name, operation.operands
        constants = [self._constants.get(value) for value in given]
        if name in _PASSED_ON:
            yield given[1 if name == "nvvm.shfl.sync" else 0], demand
            return
        if name == "arith.select":
            yield from self._of_choice(given, demand)
            return
        if name == "arith.andi" and any(self._is_false(value) for value in given):
            return
        if name == "arith.cmpi":
            yield from self._compared(operation, constants)
            return
        if len(given) == 2 and isinstance(constants[1], int):
            yield given[0], _through(name, constants[1], demand)
            return
        if name == "arith.addi" and demand.period and not demand.limit:
            yield from self._of_sum(given, demand)
            return
        yield from ((value, ALL) for value in given)

    def _of_choice(self, given: list[int], demand: Demand) -> Iterator[tuple[int, Demand]]:
        yield given[2], demand
        if not self._is_false(given[0]):
            yield from ((given[0], ALL), (given[1], demand))

    def _of_sum(self, given: list[int], demand: Demand) -> Iterator[tuple[int, Demand]]:
        """Of a sum whose distance matters, one term may be further: the other one is the same then."""
        if not demand.is_relative:
            yield from ((value, demand) for value in given)
            return
        carried = [value in self._carried for value in given]
        for value, is_carried in zip(given, carried, strict=True):
            yield value, demand if is_carried and not all(carried) else ALL

    def _is_false(self, value: int) -> bool:
        """Whether a condition cannot hold, such as that what is never negative is less than zero."""
        found = self._definitions.get(value)
        if found is None:
            return False
        if found.name == "arith.andi":
            return any(self._is_false(each) for each in found.operands)
        if found.name != "arith.cmpi":
            return False
        a, b = found.operands
        predicate = PREDICATES[int(found.attributes["predicate"])]
        if predicate == "slt":
            return self._constants.get(b) == 0 and a in self._plus
        return predicate == "eq" and self._constants.get(b) == 1 and self._is_false(a)

    def _divisor(self, product: int, value: int) -> int | None:
        """The constant of which the product is the largest multiple up to the value."""
        found = self._definitions.get(product)
        if found is None or found.name != "arith.muli":
            return None
        quotient = self._definitions.get(found.operands[0])
        constant = self._constants.get(found.operands[1])
        if quotient is None or quotient.name not in ("arith.divsi", "arith.divui") or quotient.operands[0] != value:
            return None
        return constant if constant == self._constants.get(quotient.operands[1]) else None

    def _compared(self, operation: Operation, constants: list[int | None]) -> Iterator[tuple[int, Demand]]:
        given = operation.operands
        predicate = PREDICATES[int(operation.attributes["predicate"])]
        if predicate in ("eq", "ne") and (divisor := self._divisor(given[1], given[0])):
            # Whether there is a remainder.
            yield given[0], Demand(divisor)
            return
        for value, other, constant in zip(given, reversed(given), reversed(constants), strict=True):
            if constant is not None and 0 <= constant <= _MOST:
                yield value, Demand(limit=constant + 1)
            elif other in self._varies and predicate not in ("eq", "ne"):
                yield value, Demand(is_relative=True)
            else:
                yield value, ALL


def _through(name: str, constant: int, demand: Demand) -> Demand:
    """What is asked of the first operand, the second being a constant."""
    match name:
        case "arith.addi":
            return demand.shifted(constant)
        case "arith.subi":
            return demand.shifted(-constant)
        case "arith.remsi" | "arith.remui" if constant > 0:
            return Demand(constant)
        case "arith.divsi" | "arith.divui" if constant > 0 and demand.period and not demand.is_relative:
            return Demand(demand.period * constant, demand.limit * constant)
        case "arith.muli" if constant > 0 and demand.period and not demand.limit and not demand.is_relative:
            return Demand(demand.period // gcd(demand.period, constant))
        case "arith.andi" if constant >= 0 and constant & (constant + 1) == 0:
            return Demand(constant + 1)
        case "arith.shrui" | "arith.shrsi" if demand.period and not demand.is_relative:
            return Demand(demand.period << constant, demand.limit << constant)
        case _:
            return ALL


def carried_values(skeleton: Skeleton) -> set[int]:
    """Values that change from turn to turn of a loop: those that loops carry take part in them."""
    operations = list(all_operations(skeleton.kernel.body))
    found: set[int] = set()
    for each in operations:
        if each.name in ("scf.for", "scf.while"):
            found.update(argument for block in each.blocks for argument in block.arguments)
            found.update(each.results)
    before = -1
    while len(found) > before:
        before = len(found)
        for each in operations:
            ends = [value for block in each.blocks for value in block.operations[-1].operands]
            if not found.isdisjoint((*each.operands, *ends)):
                found.update(each.results)
    return found
