"""Which values a warp still uses from where it is, and which loops it still comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.proving.demands import Demand
from cutecc.proving.kernel import Operation, operations_inside
from cutecc.proving.skeleton import STRUCTURED

if TYPE_CHECKING:
    from cutecc.proving.kernel import Block
    from cutecc.proving.warps import Program, Step

_ENDS = ("scf.yield", "scf.condition")


@dataclass(eq=False, slots=True)
class Live:
    """Of a block's own values, those that matter at each of its steps: they are still to be used."""

    at: list[list[int]]
    """When the step comes next."""
    inside: list[list[int]]
    """While a warp is in one of the step's blocks."""
    at_head: list[int]
    """Of a loop's first block, before a turn."""
    loops: list[set[Operation]]
    """Of each step, the loops of so many turns as a launch decides, itself among them."""

    def ahead(self, first: int) -> set[Operation]:
        """Those of a step, and of all that come behind it."""
        return set[Operation]().union(*self.loops[first:])


def live_values(program: Program, demands: Mapping[int, Demand]) -> dict[int, Live]:
    """By the blocks' steps, as `id` numbers them: the program keeps them. `demands` say which values matter."""
    return _Liveness(program, demands).found


class _Liveness:
    def __init__(self, program: Program, demands: Mapping[int, Demand]) -> None:
        self.found: dict[int, Live] = {}
        self._demands = demands
        self._constants = program.constants
        self._loops = program.loops.by_number | program.loops.over_tiles
        self._block(program.kernel.body, program.steps)

    def _block(self, block: Block, steps: Sequence[Step]) -> set[int]:
        """Look at a block; returns the values that are used in it."""
        step_of = {step.operation: number for number, step in enumerate(steps)}
        used: list[set[int]] = []
        """By the steps: what they, and arithmetic in front of them, use."""
        inner: list[set[int]] = []
        own = {each for each in block.arguments if self._matters(each)}
        defined: list[set[int]] = []
        waiting: set[int] = set()
        made: set[int] = set()
        for operation in block.operations:
            waiting.update(self._used(operation))
            if operation not in step_of:
                made.update(operation.results)
                continue
            step = steps[step_of[operation]]
            within = self._inside(step)
            used.append(waiting | within)
            inner.append(within)
            # What arithmetic makes in front of a step is there once the step comes.
            defined.append({each for each in made if self._matters(each)})
            waiting, made = set(), {*operation.results}
        at: list[list[int]] = []
        inside: list[list[int]] = []
        later: set[int] = set()
        for number in reversed(range(len(steps))):
            visible = own.union(*defined[: number + 1])
            inside.append(sorted(visible & (inner[number] | later)))
            at.append(sorted(visible & (used[number] | later)))
            later |= used[number]
        everything = later.union(*used)
        found = Live(at[::-1], inside[::-1], sorted(own), [self._loops_of(step) for step in steps])
        self.found[id(steps)] = found
        return everything

    def _inside(self, step: Step) -> set[int]:
        """The values that are used in the blocks of a step, and each time that a loop goes on."""
        operation = step.operation
        blocks = zip(operation.blocks, step.blocks, strict=False)
        within = set[int]().union(*(self._block(each, inside) for each, inside in blocks))
        if operation.name == "scf.for":
            within.update(operation.operands[1:3])
        if operation.blocks and not step.blocks:
            within.update(value for each in operations_inside(operation) for value in each.operands)
        return within

    def _loops_of(self, step: Step) -> set[Operation]:
        return {step.operation, *operations_inside(step.operation)} & self._loops

    def _used(self, operation: Operation) -> Iterable[int]:
        """The operands whose values make a difference; of a constant, its distance to a number of the launch may."""
        is_relative = operation.name in ("arith.cmpi", *STRUCTURED, *_ENDS) or any(
            self._demands.get(result, Demand()).is_relative for result in operation.results
        )
        return (each for each in operation.operands if is_relative or each not in self._constants)

    def _matters(self, value: int) -> bool:
        return self._demands.get(value, Demand()) != Demand()
