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
    """Of a block and its steps, what is used, and what there is of its own."""

    own: set[int]
    """Its arguments that matter."""
    defined: list[set[int]]
    """Of each step, the block's own values that there are when it comes, and that matter."""
    needed: list[set[int]]
    """Of each step, the values that it and all behind it use, and arithmetic in front of them; none behind the last."""
    inside: list[set[int]]
    """Of each step, those that are used in its blocks, and each time that a loop goes on."""
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
        inside: list[set[int]] = []
        own = {each for each in block.arguments if self._matters(each)}
        defined: list[set[int]] = []
        there = set(own)
        waiting: set[int] = set()
        for operation in block.operations:
            waiting.update(self._used(operation))
            if operation not in step_of:
                there.update(each for each in operation.results if self._matters(each))
                continue
            step = steps[step_of[operation]]
            within = self._inside(step)
            used.append(waiting | within)
            inside.append(within)
            # What arithmetic makes in front of a step is there once the step comes.
            defined.append(set(there))
            waiting = set()
            there.update(each for each in operation.results if self._matters(each))
        needed: list[set[int]] = [set()]
        for each in reversed(used):
            needed.append(needed[-1] | each)
        needed.reverse()
        self.found[id(steps)] = Live(own, defined, needed, inside, [self._loops_of(step) for step in steps])
        return needed[0]

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
