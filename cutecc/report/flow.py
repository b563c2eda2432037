"""Which instruction of SASS reads what another one wrote."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.sass import SassFunction
from cutecc.sass.blocks import Block, ControlFlow, basic_blocks
from cutecc.sass.effects import Effects, effects
from cutecc.sass.stack import with_stack

_Reaching = dict[str, frozenset[int]]
"""By register, the instructions whose result may be in it."""
MOST_SOURCES = 16
"""Of what is read from a register: three times what compiled code has. Beyond it nobody can say whose it is."""
_TOO_MANY = frozenset({-1})
"""Stands for more than those."""


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
    too_many: set[tuple[int, str]]
    """Instructions and registers that they read which too many may have written."""


def flow_of(function: SassFunction, flow: ControlFlow | None = None, *, stack: bool = False) -> Flow:
    """Reaching definitions, over the function's blocks; `flow` is its control flow, where that is known already.

    A read that more than `MOST_SOURCES` reach has none. With `stack`, words of the stack in which registers are spilled
    count as registers, as `with_stack` names them.
    """
    done = [effects(each.text) for each in function.instructions]
    if stack:
        done = [with_stack(each) for each in done]
    blocks = flow.blocks if flow else basic_blocks(function)[0]
    readings, too_many = _readings(blocks, done)
    users: list[set[int]] = [set() for _ in done]
    is_phi = [False] * len(done)
    for index, of_each in enumerate(readings):
        for found in of_each.values():
            for source in found:
                users[source].add(index)
                is_phi[source] = is_phi[source] or len(found) > 1
    sources = [sorted(frozenset[int]().union(*of_each.values())) for of_each in readings]
    return Flow([sorted(each) for each in users], sources, is_phi, readings, too_many)


def _readings(
    blocks: Sequence[Block], done: list[Effects]
) -> tuple[list[dict[str, frozenset[int]]], set[tuple[int, str]]]:
    """`Flow.readings` and `Flow.too_many`."""
    before = _reaching(blocks, done)
    readings: list[dict[str, frozenset[int]]] = []
    too_many = set[tuple[int, str]]()
    for number, block in enumerate(blocks):
        reaching = dict(before[number])
        for index in range(block.first, block.end):
            readings.append({register: _found(reaching, register) for register in done[index].reads})
            too_many |= {(index, each) for each in done[index].reads if reaching.get(each) is _TOO_MANY}
            _step(reaching, index, done[index])
    return readings, too_many


def _found(reaching: _Reaching, register: str) -> frozenset[int]:
    """The instructions that may have written a register; none where those are too many."""
    found = reaching.get(register, frozenset())
    return frozenset() if found is _TOO_MANY else found


def _step(reaching: _Reaching, index: int, done: Effects) -> None:
    here = frozenset({index})
    for register in done.writes:
        reaching[register] = _united(reaching.get(register, frozenset()), here) if done.is_conditional else here


def _united(known: frozenset[int], more: frozenset[int]) -> frozenset[int]:
    if known is _TOO_MANY or more is _TOO_MANY:
        return _TOO_MANY
    found = known | more
    return found if len(found) <= MOST_SOURCES else _TOO_MANY


def _reaching(blocks: Sequence[Block], done: list[Effects]) -> list[_Reaching]:
    """What reaches the beginning of each block."""
    before: list[_Reaching] = [{} for _ in blocks]
    waiting = deque(range(len(blocks)))
    waits = [True] * len(blocks)
    while waiting:
        number = waiting.popleft()
        waits[number] = False
        block = blocks[number]
        after = dict(before[number])
        for index in range(block.first, block.end):
            _step(after, index, done[index])
        for successor in block.successors:
            if _join(before[successor], after) and not waits[successor]:
                waiting.append(successor)
                waits[successor] = True
    return before


def _join(into: _Reaching, more: _Reaching) -> bool:
    changed = False
    for register, found in more.items():
        known = into.get(register, frozenset())
        if (united := _united(known, found)) != known:
            into[register] = united
            changed = True
    return changed
