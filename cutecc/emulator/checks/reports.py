"""Findings on their way out: the first of each kind at its places, with how many threads the same was found of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace

from cutecc.emulator.checks.finding import RELATIONS, Finding, FindingKind, Relation
from cutecc.emulator.checks.wording import with_nearer

MOST = 50
"""Findings of one machine; more of them tell no more."""
_Key = tuple[FindingKind, int, int]


class Reports:
    """What the checks of one machine have found."""

    def __init__(self) -> None:
        self._found: dict[_Key, Finding] = {}
        self._told: set[_Key] = set()
        self._instructions: dict[_Key, set[int]] = {}

    def add(
        self,
        kind: FindingKind,
        operation: int,
        other: int,
        threads: int,
        make: Callable[[], Finding],
        relations: frozenset[Relation] = frozenset(),
        instruction: int | None = None,
    ) -> None:
        """So many threads at an operation, and in view of another one (-1 for none).

        `make` is called for the first, and for those that have less in common than all before; it makes the finding
        with `relations` unless it says so itself. Where an operation stands for several, `instruction` is the one that
        it is about.
        """
        key = (kind, operation, other)
        if instruction is not None:
            self._instructions.setdefault(key, set()).add(instruction)
        found = self._found.get(key)
        if found is not None:
            self._found[key] = found = replace(found, count=found.count + threads)
            if not relations <= found.relations:
                self._found[key] = widest(found, _made(make, relations, 0))
        elif (kind, other, operation) in self._found:
            # The same two instructions meet the other way round as soon as threads go on at their own pace.
            self.add(kind, other, operation, threads, make, relations)
        elif len(self._found) < MOST:
            self._found[key] = _made(make, relations, threads)

    def leave_out(self, kind: FindingKind, operation: int, other: int) -> None:
        """What another finding says already."""
        self._told.add((kind, operation, other))

    def has(self, kind: FindingKind, operation: int, other: int) -> bool:
        """Whether there is such a finding, either way round."""
        return (kind, operation, other) in self._found or (kind, other, operation) in self._found

    def is_part(self, kind: FindingKind, operation: int) -> bool:
        """Whether an operation is one of two that something was found of."""
        return any(key[0] == kind and operation in key[1:] for key in self._found)

    def reword(self, kind: FindingKind, operation: int, other: int, message: str) -> None:
        """Say something else about a finding that there is."""
        keys: set[_Key] = {(kind, operation, other), (kind, other, operation)}
        for key in keys & self._found.keys():
            self._found[key] = replace(self._found[key], message=message)

    def take(self) -> list[Finding]:
        """All of them, in the order in which they were found; forgets them."""
        found = [
            replace(finding, instructions=len(self._instructions.get(key, (0,))))
            for key, finding in self._found.items()
            if key not in self._told
        ]
        self._found, self._instructions = {}, {}
        return found


def _made(make: Callable[[], Finding], relations: frozenset[Relation], threads: int) -> Finding:
    made = make()
    return replace(made, count=threads, relations=made.relations or relations)


def widest(first: Finding, second: Finding) -> Finding:
    """One finding of two of the same place: that of those who have the least in common, whose mend mends both.

    Of two alike it is the first. Threads are added; instructions are the most of either.
    """
    chosen = max((first, second), key=_reach)
    relations = first.relations | second.relations
    return replace(
        chosen,
        message=with_nearer(chosen.message, relations),
        count=first.count + second.count,
        instructions=max(first.instructions, second.instructions),
        relations=relations,
    )


def _reach(finding: Finding) -> int:
    return max((RELATIONS.index(each) for each in finding.relations), default=0)


def merge_key(finding: Finding) -> Hashable:
    """The same for findings that are one: of different machines or processes, of two instructions either way round."""
    if finding.other is not None:
        return finding.kind, frozenset({finding.place.ptx_line, finding.other.ptx_line})
    return finding.kind, finding.message, finding.place.ptx_line


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """One of each kind at its places, with the threads of all: of several machines, processes or faults."""
    merged: dict[Hashable, Finding] = {}
    for each in findings:
        first = merged.get(key := merge_key(each))
        merged[key] = each if first is None else widest(first, each)
    return list(merged.values())
