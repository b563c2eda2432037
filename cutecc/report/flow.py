"""Which instruction of SASS reads what another one wrote."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.sass import SassFunction
from cutecc.sass.blocks import Block, basic_blocks
from cutecc.sass.effects import Effects, effects

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


def flow_of(function: SassFunction) -> Flow:
    """Reaching definitions, over the function's blocks; no edges of a read that more than `MOST_SOURCES` reach."""
    done = [effects(each.text) for each in function.instructions]
    blocks, _ = basic_blocks(function)
    before = _reaching(blocks, done)
    users: list[set[int]] = [set() for _ in done]
    sources: list[set[int]] = [set() for _ in done]
    is_phi = [False] * len(done)
    for number, block in enumerate(blocks):
        reaching = dict(before[number])
        for index in range(block.first, block.end):
            for register in done[index].reads:
                found = _found(reaching, register)
                sources[index] |= found
                for source in found:
                    users[source].add(index)
                    is_phi[source] = is_phi[source] or len(found) > 1
            _step(reaching, index, done[index])
    return Flow([sorted(each) for each in users], [sorted(each) for each in sources], is_phi)


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
