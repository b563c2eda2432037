"""The control flow of a SASS function: its basic blocks, where branches go, and its loops.

Nothing of it is in what nvdisasm prints but labels and branches; it is found as in any compiler. A barrier of
convergence (`BSSY`, `BSYNC`) moves no thread: compiled code has the place that `BSSY` names right behind its `BSYNC`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutecc.sass.effects import effects
from cutecc.sass.functions import SassFunction

_LABEL = re.compile(r"\.L_\w+|\$[^\s`()]+")
_ADDRESS = re.compile(r"0x([0-9a-f]+)$")
_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_ENDS = frozenset({"EXIT", "RET", "KILL"})
_NAMES_ONLY = frozenset({"BSSY", "BMOV", "LEPC", "RET"})
"""Opcodes that name a place without going there."""
_ON_DIVERGENCE = frozenset({"DIV", "CONV", "ANY", "ALL"})
"""Branches that depend on what other threads of the warp do."""


@dataclass(frozen=True)
class Block:
    """Instructions that are executed one behind the other."""

    first: int
    """In the function's instructions."""
    end: int
    """Behind the last."""
    successors: tuple[int, ...]
    """In the blocks; behind a call the block that it returns to."""
    callee: int | None = None
    """The block of the compiler's subroutine, in the same function, that its last instruction calls."""


@dataclass(frozen=True)
class Loop:
    """A natural loop: the blocks from which its header is reached again, which is the only way in."""

    header: int
    blocks: frozenset[int]
    depth: int
    """How many loops it is in, itself among them."""


@dataclass(frozen=True)
class ControlFlow:
    """The blocks of a function, in its order, and its loops, outer before inner."""

    blocks: tuple[Block, ...]
    loops: tuple[Loop, ...]
    subroutines: dict[int, frozenset[int]]
    """By its first block the blocks of each subroutine that is called."""
    targets: dict[int, tuple[int, ...]]
    """For each instruction that may go elsewhere, the instructions that it names."""


def control_flow(function: SassFunction) -> ControlFlow:
    """The blocks, subroutines and loops of a function."""
    blocks, targets = basic_blocks(function)
    entries = sorted({each.callee for each in blocks if each.callee is not None})
    subroutines = {entry: frozenset(_reverse_postorder(blocks, [entry])) for entry in entries}
    return ControlFlow(blocks, tuple(_loops(blocks, [0, *entries])), subroutines, targets)


def basic_blocks(function: SassFunction) -> tuple[tuple[Block, ...], dict[int, tuple[int, ...]]]:
    """The blocks alone, as `ControlFlow` has them, with its targets: in time that is linear in the instructions."""
    targets, calls = _destinations(function)
    starts = _starts(function, targets, calls)
    number = {first: block for block, first in enumerate(starts)}
    count = len(function.instructions)

    def block(first: int, end: int) -> Block:
        following = [end] if end < count and _goes_on(function.instructions[end - 1].text) else []
        places = dict.fromkeys([*following, *targets.get(end - 1, ())])
        callee = number[calls[end - 1]] if end - 1 in calls else None
        return Block(first, end, tuple(number[place] for place in places), callee)

    return tuple(block(first, end) for first, end in itertools.pairwise([*starts, count])), targets


def _destinations(function: SassFunction) -> tuple[dict[int, tuple[int, ...]], dict[int, int]]:
    """By instruction those that branches name, and the first of the subroutine that each call names."""
    by_offset = {each.offset: index for index, each in enumerate(function.instructions)}
    targets: dict[int, tuple[int, ...]] = {}
    calls: dict[int, int] = {}
    for index, each in enumerate(function.instructions):
        stem = _stem(each.text)
        found = _places(stem, each.text, function.labels, by_offset)
        places = [place for place in dict.fromkeys(found) if place < len(function.instructions)]
        if stem == "CALL" and places:
            calls[index] = places[0]
        elif places:
            targets[index] = tuple(places)
    return targets, calls


def _starts(function: SassFunction, targets: dict[int, tuple[int, ...]], calls: dict[int, int]) -> list[int]:
    """The first instructions of the blocks."""
    ends = {index for index, each in enumerate(function.instructions) if _stem(each.text) in _ENDS | _JUMPS}
    named = {place for places in targets.values() for place in places}
    behind = {index + 1 for index in {*ends, *targets, *calls}}
    return sorted(each for each in {0, *behind, *named, *calls.values()} if each < len(function.instructions))


def _places(stem: str, text: str, labels: dict[str, int], by_offset: dict[int, int]) -> Iterator[int]:
    """The instructions that one names to go on with."""
    if stem in _NAMES_ONLY:
        return
    for label in _LABEL.findall(text):
        if label in labels:
            yield labels[label]
    if stem in _JUMPS and (match := _ADDRESS.search(text)) and int(match[1], 16) in by_offset:
        yield by_offset[int(match[1], 16)]


def _goes_on(text: str) -> bool:
    """Whether the next instruction may be executed behind this one."""
    found = effects(text)
    stem, *modifiers = found.opcode.split(".")
    if found.guard:
        return True
    if stem in _JUMPS:
        is_conditional = any(each.startswith(("P", "UP")) for each in found.reads)
        return is_conditional or not _ON_DIVERGENCE.isdisjoint(modifiers)
    return stem not in _ENDS


def _stem(text: str) -> str:
    return effects(text).opcode.split(".")[0]


def _loops(blocks: Sequence[Block], entries: Sequence[int]) -> list[Loop]:
    order = _reverse_postorder(blocks, entries)
    before: dict[int, list[int]] = {each: [] for each in order}
    for block in order:
        for successor in blocks[block].successors:
            before[successor].append(block)
    tree = _DominatorTree(order, entries, before)
    latches: dict[int, list[int]] = {}
    for block in order:
        for header in blocks[block].successors:
            if tree.dominates(header, block):
                latches.setdefault(header, []).append(block)
    bodies = {header: _reaching(ends, header, before) for header, ends in latches.items()}
    # Of two natural loops that share a block but no header, one is in the other.
    depths = Counter(block for body in bodies.values() for block in body)
    loops = [Loop(header, frozenset(body), depths[header]) for header, body in bodies.items()]
    return sorted(loops, key=lambda each: (each.depth, each.header))


def _reaching(ends: Sequence[int], header: int, before: dict[int, list[int]]) -> set[int]:
    """The blocks that reach one of `ends` without the header."""
    found = {header, *ends}
    todo = [each for each in ends if each != header]
    while todo:
        for each in before[todo.pop()]:
            if each not in found:
                found.add(each)
                todo.append(each)
    return found


class _DominatorTree:
    """Which blocks every way to a block goes through, as Cooper, Harvey and Kennedy find them ("A Simple, Fast
    Dominance Algorithm"): near-linear where loops have one way in."""

    def __init__(self, order: Sequence[int], entries: Sequence[int], before: dict[int, list[int]]) -> None:
        """`order` is a reverse postorder of the blocks that are reached from `entries`."""
        self._numbers = {block: number for number, block in enumerate(order, 1)}
        """Of a root above all entries it is 0."""
        self._above = [0] * (len(order) + 1)
        """By number that of the next block that dominates it."""
        self._find(order, entries, before)
        self._spans = self._find_spans()

    def dominates(self, one: int, other: int) -> bool:
        """Whether every way to a block goes through another, or is it."""
        (first, end), (at, _) = self._spans[self._numbers[one]], self._spans[self._numbers[other]]
        return first <= at < end

    def _find(self, order: Sequence[int], entries: Sequence[int], before: dict[int, list[int]]) -> None:
        known = [False] * (len(order) + 1)
        known[0] = True
        for entry in entries:
            known[self._numbers.get(entry, 0)] = True
        changed = True
        while changed:
            changed = False
            for block in order:
                number = self._numbers[block]
                sources = [self._numbers[each] for each in before[block] if known[self._numbers[each]]]
                if block in entries or not sources:
                    continue
                above = functools.reduce(self._common, sources)
                if not known[number] or above != self._above[number]:
                    self._above[number], known[number], changed = above, True, True

    def _common(self, one: int, other: int) -> int:
        while one != other:
            while one > other:
                one = self._above[one]
            while other > one:
                other = self._above[other]
        return one

    def _find_spans(self) -> list[tuple[int, int]]:
        """By number the stretch of a walk through the tree in which a block's own are."""
        sizes = [1] * len(self._above)
        for number in range(len(self._above) - 1, 0, -1):
            sizes[self._above[number]] += sizes[number]
        # A block stands behind the one above it in the order, so that the room of that is known.
        free = [0] * len(self._above)
        spans = [(0, sizes[0])] * len(self._above)
        free[0] = 1
        for number in range(1, len(self._above)):
            first = free[self._above[number]]
            free[self._above[number]] = first + sizes[number]
            spans[number] = first, first + sizes[number]
            free[number] = first + 1
        return spans


def _reverse_postorder(blocks: Sequence[Block], entries: Sequence[int]) -> list[int]:
    """The blocks that are reached from `entries`, each before those that follow it, but for the ways back of loops."""
    order: list[int] = []
    seen: set[int] = set()
    # A block is seen when it is first taken, and in order when what follows it is.
    stack = [(entry, False) for entry in reversed(entries) if blocks]
    while stack:
        block, is_done = stack.pop()
        if is_done:
            order.append(block)
        elif block not in seen:
            seen.add(block)
            stack.append((block, True))
            stack.extend((each, False) for each in reversed(blocks[block].successors))
    return order[::-1]
