"""What each pass did to the operations of each place and line, of modules one after the other, as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutecc.record.stages import Stage
from cutecc.report.fates import Change, Fates
from cutecc.report.following import Links, links_of
from cutecc.report.matching import Matches
from cutecc.report.operations import Operations
from cutecc.support.garbage import without_collection
from cutecc.support.locations import Place


@dataclass(frozen=True)
class PassEffect:
    """What one pass did."""

    step: int
    """Its position."""
    operations: Counter[int]
    """How many there are after it, by the number of their place."""
    changes: Mapping[int, Change]
    """By the number of the place. Empty for the first module, as `links` are: what is before it is not known."""
    links: Links


def effects_of(stages: Iterable[Stage], places: Sequence[Place]) -> Iterator[PassEffect]:
    """What led to each of the modules; `places` are those that they number, and may grow while they come."""
    aliases: dict[str, str] = {}
    before: Operations | None = None
    for stage in stages:
        with without_collection():
            after = Operations(stage, aliases)
            operations = Counter(after.places)
            if before is None:
                effect = PassEffect(stage.index, operations, {}, Links())
            else:
                fates = Fates(Matches(before, after))
                effect = PassEffect(stage.index, operations, fates.changes, links_of(fates, places))
            before = after
        yield effect
