"""The nearest description that keeps to all rules: a search through changes of the parts that rules complain about.

How far two descriptions are apart is compared as `Distance`: first how many parts of the problem differ, then how many
of the means, then by how much, added up (`alternatives.changes` says by how much of each part).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

from cutecc.operations.alternatives import Change, changes, weight
from cutecc.operations.description import GemmDescription
from cutecc.operations.instruction_set import KINDS, memory_type
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription
from cutecc.target import Target

Rule = Callable[[GemmDescription], Refusal | None]
Parts = tuple[int, int]
"""How many of the problem and of the means."""
Distance = tuple[float, float, float]
"""How many parts of the problem, how many of the means, and the sum of how far these are apart."""
FARTHEST: Distance = (inf, inf, inf)
"""Of what was found only by starting from other parts than those that were given."""

_MOST_TRIED = 400
"""Descriptions that a narrow search looks at."""
_MOST_TRIED_IN_ALL = 20_000
"""Those that the search for the nearest looks at: as many as two sizes have pairs of values."""
_MOST_TRIED_OF_FREE = 4_000
"""The same where parts are free: whatever else is wrong is tried with each of their values, and five have millions."""
_FEW_PARTS = 2
"""Where more have to change, the nearest is not looked for, but one that is near."""
_PLAIN_TILES = (
    TileDescription((64, 64, 64), 2, (2, 2, 1)),
    TileDescription((128, 64, 64), 2, (2, 1, 1), (1, 1), "cooperative"),
)
"""Small tiles, of which every kind of product has one that differs in K at most."""


def _none() -> Iterator[Change]:
    return iter(())


@dataclass(frozen=True)
class _Candidate:
    """A description on the way."""

    description: GemmDescription
    changed: frozenset[Part] = frozenset()
    parts: Parts = (0, 0)
    """How many have changed."""
    distance: float = 0.0
    """The sum of the distances of the changed parts."""
    aside: float = 0.0
    """That of the parts that cost nothing."""
    last: tuple[float, float] = (0.0, 0.0)
    """What the part that changed last adds to these two."""
    remaining: Parts = (0, 0)
    """How many will have to change at least, as far as is known."""
    siblings: Iterator[Change] = field(default_factory=_none)
    """Further values of the part that changed last, further away."""

    @property
    def least(self) -> Parts:
        """How many parts a valid description behind this one has changed at least."""
        return self.parts[0] + self.remaining[0], self.parts[1] + self.remaining[1]


def nearest(
    description: GemmDescription, rules: Sequence[Rule], last: Sequence[Rule], free: frozenset[Part] = frozenset()
) -> tuple[GemmDescription, Distance] | None:
    """The nearest valid description, and how far it is; nobody has asked for the `free` parts, which cost nothing.

    Of a description with so much wrong that the search does not come to an end soon, one that is near is looked for in
    a narrower search; then from where the tile is made plain, and then all but A's type and target. The `last` rules
    are asked where all others hold.
    """
    if (found := _search(description, rules, last, free, narrow=False)) is not None:
        return found.description, (*found.parts, found.distance)
    for start in _starts(description):
        if (found := _search(start, rules, last, free, narrow=True)) is not None:
            return found.description, ((*found.parts, found.distance) if start is description else FARTHEST)
    return None


def _starts(description: GemmDescription) -> Iterator[GemmDescription]:
    """The description, then with plain tiles, one with its kind of schedule first, then plain in all."""
    yield description
    plain = [replace(description, tile=tile) for tile in _PLAIN_TILES]
    yield from sorted(plain, key=lambda each: each.tile.schedule != description.tile.schedule)
    yield _plain(description)


def _plain(description: GemmDescription) -> GemmDescription:
    """A product of the type of A on the target, of f16 where it has none, with nothing else as it was."""
    from cutecc.operations.epilogue.named import named_epilogue

    target = Target.parse(description.target)
    kinds = {
        memory_type(kind.a): kind for kind in reversed(KINDS) if kind.unit == "tensor_op" and kind.exists_on(target)
    }
    instruction = kinds.get(description.a.dtype, kinds["f16"]).instructions()[0]
    dtype, accumulator = memory_type(instruction.a), instruction.accumulator
    d = Operand(accumulator, "row")
    epilogue = named_epilogue("identity", d=d, accumulator=accumulator)
    operands = Operand(dtype, "row"), Operand(dtype, "column"), d, None
    return GemmDescription(description.target, instruction, _PLAIN_TILES[0], *operands, epilogue)


def _search(
    description: GemmDescription, rules: Sequence[Rule], last: Sequence[Rule], free: frozenset[Part], *, narrow: bool
) -> _Candidate | None:
    """A best-first search (A*).

    Of a description that is refused, each part that the first refusal names is changed to each of its values, the
    nearest first. Every part changes once at most. A `narrow` search takes only values that content the rule, where
    there are any, and follows what has least left to change, so that it comes further: what it finds may not be the
    nearest.
    """
    numbers = count()
    queue: list[tuple[Parts, tuple[tuple[float, float], tuple[float, float]], int, _Candidate]] = []

    def push(candidate: _Candidate) -> None:
        # What has less left to change comes first among equals: it is nearly there.
        far, left = (candidate.distance, candidate.aside), candidate.remaining
        order = (left, far) if narrow else (far, left)
        heapq.heappush(queue, (candidate.least, order, next(numbers), candidate))

    push(_Candidate(description))
    for _ in range(_most_tried(free, narrow=narrow)):
        if not queue:
            break
        candidate = heapq.heappop(queue)[-1]
        if sum(candidate.least) > _FEW_PARTS and not narrow:
            break
        if (sibling := next(candidate.siblings, None)) is not None:
            push(_beside(candidate, sibling))
        broken = _broken(candidate.description, rules) or _broken(candidate.description, last)
        if not broken:
            return candidate
        remaining = _least_changes([refusal.parts for _, refusal in broken], candidate.changed, free)
        if remaining is not None and remaining > candidate.remaining:
            push(replace(candidate, remaining=remaining, siblings=_none()))
        elif remaining is not None:
            rule, refusal = broken[0]
            choices = _choices(candidate, refusal)
            if narrow:
                choices = _contenting(choices, rule, rules)
            for changed in _each_changed(candidate, choices, free):
                push(changed)
    return None


def _most_tried(free: frozenset[Part], *, narrow: bool) -> int:
    """How many descriptions a search looks at."""
    if narrow:
        return _MOST_TRIED
    return _MOST_TRIED_OF_FREE if free else _MOST_TRIED_IN_ALL


def _broken(description: GemmDescription, rules: Sequence[Rule]) -> list[tuple[Rule, Refusal]]:
    return [(rule, refusal) for rule in rules if (refusal := rule(description)) is not None]


def _choices(candidate: _Candidate, refusal: Refusal) -> dict[Part, Iterator[Change]]:
    """What each part that the refusal names can change to, the nearest first."""
    open_parts: list[Part] = [part for part in refusal.parts if part not in candidate.changed]
    return {part: changes(candidate.description, part) for part in open_parts}


def _contenting(
    choices: dict[Part, Iterator[Change]], rule: Rule, rules: Sequence[Rule]
) -> dict[Part, Iterator[Change]]:
    """The choices with which the rule is content; all where no part alone satisfies it, since it needs several then."""

    def is_content(description: GemmDescription) -> bool:
        return (rule in rules or not _broken(description, rules)) and rule(description) is None

    found: dict[Part, list[Change]] = {part: list(values) for part, values in choices.items()}
    kept: dict[Part, list[Change]] = {
        part: [each for each in values if is_content(each[1])] for part, values in found.items()
    }
    chosen = kept if any(kept.values()) else found
    return {part: iter(values) for part, values in chosen.items()}


def _each_changed(
    candidate: _Candidate, choices: dict[Part, Iterator[Change]], free: frozenset[Part]
) -> Iterator[_Candidate]:
    """With the nearest value of each part, the others beside it."""
    for part, values in choices.items():
        if (first := next(values, None)) is not None:
            yield _changed(candidate, part, first, values, is_free=part in free)


def _changed(
    candidate: _Candidate, part: Part, first: Change, others: Iterator[Change], *, is_free: bool
) -> _Candidate:
    """A part with the first of its values; the others are its siblings."""
    (problem, means), (problem_left, means_left) = candidate.parts, candidate.remaining
    changed = candidate.changed.union((part,))
    if is_free:
        # That it changes at all counts among equals, beside how far.
        siblings = ((1 + distance, description) for distance, description in others)
        start = replace(candidate, changed=changed, last=(0.0, 0.0), siblings=siblings)
        return _moved(start, first[1], (0.0, 1 + first[0]))
    is_problem = weight(part) == "problem"
    start = replace(
        candidate,
        changed=changed,
        parts=(problem + is_problem, means + (not is_problem)),
        # A part of the problem may do what several of the means could have done.
        remaining=(max(problem_left - 1, 0), 0) if is_problem else (problem_left, max(means_left - 1, 0)),
        last=(0.0, 0.0),
        siblings=others,
    )
    return _moved(start, first[1], (first[0], 0.0))


def _beside(candidate: _Candidate, sibling: Change) -> _Candidate:
    """The part that changed last with another value."""
    is_free = candidate.last[1] > 0
    return _moved(candidate, sibling[1], (0.0, sibling[0]) if is_free else (sibling[0], 0.0))


def _moved(candidate: _Candidate, description: GemmDescription, by: tuple[float, float]) -> _Candidate:
    """Another description, this much further away than without the part that changed last."""
    distance, aside = candidate.distance - candidate.last[0] + by[0], candidate.aside - candidate.last[1] + by[1]
    return replace(candidate, description=description, distance=distance, aside=aside, last=by)


def _least_changes(broken: list[tuple[Part, ...]], changed: frozenset[Part], free: frozenset[Part]) -> Parts | None:
    """How many parts have to change at least; `None` when a rule can no longer be satisfied."""
    problem = means = 0
    used: set[Part] = set()
    for parts in broken:
        open_parts = set(parts) - changed
        if not open_parts:
            return None
        if open_parts.isdisjoint(used | free):
            used |= open_parts
            if all(weight(part) == "problem" for part in open_parts):
                problem += 1
            else:
                means += 1
    return problem, means
