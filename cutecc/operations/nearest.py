"""The nearest description that keeps to all rules: a search through changes of the parts that rules complain about."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

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

_MOST_TRIED = 400
"""Descriptions that one search looks at."""
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
    last: float = 0.0
    """The distance of the part that changed last."""
    remaining: Parts = (0, 0)
    """How many will have to change at least, as far as is known."""
    siblings: Iterator[Change] = field(default_factory=_none)
    """Further values of the part that changed last, further away."""

    @property
    def least(self) -> Parts:
        """How many parts a valid description behind this one has changed at least."""
        return self.parts[0] + self.remaining[0], self.parts[1] + self.remaining[1]


def nearest(description: GemmDescription, rules: Sequence[Rule], last: Sequence[Rule]) -> GemmDescription | None:
    """The valid description with the fewest changed parts of the problem, then of the means.

    Each part takes the nearest value that leads to one. Of a description with so much wrong that the search does not
    come to an end soon, the tile is made plain before the search begins again, and then all but A's type and target.
    The `last` rules are asked where all others hold.
    """
    return next((found for start in _starts(description) if (found := _search(start, rules, last)) is not None), None)


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


def _search(description: GemmDescription, rules: Sequence[Rule], last: Sequence[Rule]) -> GemmDescription | None:
    """A best-first search (A*).

    Of a description that is refused, each part that the first refusal names is changed to each value with which that
    rule is content, the nearest value first. Every part changes once at most.
    """
    numbers = count()
    queue: list[tuple[Parts, Parts, float, int, _Candidate]] = []

    def push(candidate: _Candidate) -> None:
        # What has less left to change comes first among equals: it is nearly there.
        heapq.heappush(queue, (candidate.least, candidate.remaining, candidate.distance, next(numbers), candidate))

    push(_Candidate(description))
    for _ in range(_MOST_TRIED):
        if not queue:
            break
        candidate = heapq.heappop(queue)[-1]
        if (sibling := next(candidate.siblings, None)) is not None:
            push(_beside(candidate, sibling))
        broken = _broken(candidate.description, rules) or _broken(candidate.description, last)
        if not broken:
            return candidate.description
        remaining = _least_changes([refusal.parts for _, refusal in broken], candidate.changed)
        if remaining is not None and remaining > candidate.remaining:
            push(replace(candidate, remaining=remaining, siblings=_none()))
        elif remaining is not None:
            for behind in _behind(candidate, *broken[0], rules):
                push(behind)
    return None


def _broken(description: GemmDescription, rules: Sequence[Rule]) -> list[tuple[Rule, Refusal]]:
    return [(rule, refusal) for rule in rules if (refusal := rule(description)) is not None]


def _behind(candidate: _Candidate, rule: Rule, refusal: Refusal, rules: Sequence[Rule]) -> Iterator[_Candidate]:
    """For each part that the refusal names, the nearest change; the others are its siblings."""

    def is_content(description: GemmDescription) -> bool:
        return (rule in rules or not _broken(description, rules)) and rule(description) is None

    parts: list[Part] = [part for part in refusal.parts if part not in candidate.changed]
    found: dict[Part, list[Change]] = {part: changes(candidate.description, part) for part in parts}
    contenting: dict[Part, list[Change]] = {
        part: [each for each in found[part] if is_content(each[1])] for part in parts
    }
    # A rule that no part alone satisfies needs several: then every change may be the first of them.
    for part, each in (contenting if any(contenting.values()) else found).items():
        if each:
            yield _changed(candidate, part, each)


def _changed(candidate: _Candidate, part: Part, values: list[Change]) -> _Candidate:
    (distance, description), *others = values
    (problem, means), (problem_left, means_left) = candidate.parts, candidate.remaining
    is_problem = weight(part) == "problem"
    return _Candidate(
        description,
        candidate.changed.union((part,)),
        (problem + is_problem, means + (not is_problem)),
        candidate.distance + distance,
        distance,
        # A part of the problem may do what several of the means could have done.
        (max(problem_left - 1, 0), 0) if is_problem else (problem_left, max(means_left - 1, 0)),
        iter(others),
    )


def _beside(candidate: _Candidate, sibling: Change) -> _Candidate:
    distance, description = sibling
    farther = candidate.distance - candidate.last + distance
    return replace(candidate, description=description, distance=farther, last=distance)


def _least_changes(broken: list[tuple[Part, ...]], changed: frozenset[Part]) -> Parts | None:
    """How many parts have to change at least; `None` when a rule can no longer be satisfied."""
    problem = means = 0
    used: set[Part] = set()
    for parts in broken:
        open_parts = set(parts) - changed
        if not open_parts:
            return None
        if open_parts.isdisjoint(used):
            used |= open_parts
            if all(weight(part) == "problem" for part in open_parts):
                problem += 1
            else:
                means += 1
    return problem, means
