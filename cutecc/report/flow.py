"""Which instruction of SASS reads what another one wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.sass import SassFunction
from cutecc.sass.blocks import Block, ControlFlow, control_flow
from cutecc.sass.effects import Effects, effects
from cutecc.sass.stack import with_stack

_Reaching = dict[str, frozenset[int]]
"""By register, the instructions whose result may be in it."""


@dataclass(frozen=True)
class Flow:
    """The data flow of a function, by the numbers of its instructions."""

    users: list[list[int]]
    """Of each, those that may read what it writes."""
    sources: list[list[int]]
    """Of each, those that may have written what it reads."""
    is_phi: list[bool]
    """Of each, whether a user of one of its registers may find another's result there."""
    readings: list[dict[str, frozenset[int]]]
    """Of each, by the registers that it reads, those that may have written them."""


def flow_of(function: SassFunction, flow: ControlFlow | None = None, *, stack: bool = False) -> Flow:
    """Reaching definitions, over the function's blocks; `flow` is its control flow, where that is known already.

    With `stack`, words of the stack in which registers are spilled count as registers, as `with_stack` names them.
    """
    done = [effects(each.text) for each in function.instructions]
    if stack:
        done = [with_stack(each) for each in done]
    blocks = (flow or control_flow(function)).blocks
    before = _reaching(blocks, done)
    readings: list[dict[str, frozenset[int]]] = []
    for number, block in enumerate(blocks):
        reaching = dict(before[number])
        for index in range(block.first, block.end):
            readings.append({register: reaching.get(register, frozenset()) for register in done[index].reads})
            _step(reaching, index, done[index])
    users: list[set[int]] = [set() for _ in done]
    is_phi = [False] * len(done)
    for index, of_each in enumerate(readings):
        for found in of_each.values():
            for source in found:
                users[source].add(index)
                is_phi[source] = is_phi[source] or len(found) > 1
    sources = [sorted(frozenset[int]().union(*of_each.values())) for of_each in readings]
    return Flow([sorted(each) for each in users], sources, is_phi, readings)


def _step(reaching: _Reaching, index: int, done: Effects) -> None:
    here = frozenset({index})
    for register in done.writes:
        reaching[register] = here | reaching.get(register, frozenset()) if done.is_conditional else here


def _reaching(blocks: Sequence[Block], done: list[Effects]) -> list[_Reaching]:
    """What reaches the beginning of each block."""
    before: list[_Reaching] = [{} for _ in blocks]
    waiting = list(range(len(blocks)))
    while waiting:
        number = waiting.pop(0)
        block = blocks[number]
        after = dict(before[number])
        for index in range(block.first, block.end):
            _step(after, index, done[index])
        for successor in block.successors:
            if _join(before[successor], after) and successor not in waiting:
                waiting.append(successor)
    return before


def _join(into: _Reaching, more: _Reaching) -> bool:
    changed = False
    for register, found in more.items():
        known = into.get(register, frozenset())
        if not found <= known:
            into[register] = known | found
            changed = True
    return changed
