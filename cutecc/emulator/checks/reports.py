"""Findings on their way out: the first of each kind at its places, with how many threads the same was found of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace

from cutecc.emulator.checks.finding import Finding, FindingKind

MOST = 50
"""Findings of one machine; more of them tell no more."""
_Key = tuple[FindingKind, int, int]


class Reports:
    """What the checks of one machine have found."""

    def __init__(self) -> None:
        self._found: dict[_Key, Finding] = {}
        self._told: set[_Key] = set()

    def add(self, kind: FindingKind, operation: int, other: int, threads: int, make: Callable[[], Finding]) -> None:
        """So many threads at an operation, and in view of another one (-1 for none). `make` is called for the first."""
        key = (kind, operation, other)
        found = self._found.get(key)
        if found is not None:
            self._found[key] = replace(found, count=found.count + threads)
        elif (kind, other, operation) in self._found:
            # The same two instructions meet the other way round as soon as threads go on at their own pace.
            self.add(kind, other, operation, threads, make)
        elif len(self._found) < MOST:
            self._found[key] = replace(make(), count=threads)

    def leave_out(self, kind: FindingKind, operation: int, other: int) -> None:
        """What another finding says already."""
        self._told.add((kind, operation, other))

    def take(self) -> list[Finding]:
        """All of them, in the order in which they were found; forgets them."""
        found, self._found = [finding for key, finding in self._found.items() if key not in self._told], {}
        return found


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
        merged[key] = each if first is None else replace(first, count=first.count + each.count)
    return list(merged.values())
