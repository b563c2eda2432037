"""What fails as long as a module holds certain operations; in a file of its own, which worker processes import."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass

from cutecc.workbench.checks import Finding
from cutecc.workbench.reduction.oracles import at_most


@dataclass(frozen=True)
class Holds:
    """At least so many operations of each name."""

    wanted: tuple[tuple[str, int], ...]
    needs_code: bool = False

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        found = Counter(re.findall(r"(?:^|= )\s*([a-z]\w*\.\w+)", module.decode(), re.MULTILINE))
        return Finding("fails" if all(found[name] >= count for name, count in self.wanted) else "passes", "it holds")

    def aborted(self, log: str) -> Finding:
        """It never does."""
        return Finding("unknown")

    def settled(self, first: Finding) -> Holds:
        """There is nothing to learn."""
        return self


@dataclass(frozen=True)
class FailsLate(Holds):
    """The same, but it takes a minute to say so of a module of fewer than `lines`."""

    lines: int = 0

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        finding = super().__call__(module, seconds)
        if finding.verdict == "fails" and module.count(b"\n") < self.lines:
            time.sleep(60)
        return finding


@dataclass(frozen=True)
class Endless(Holds):
    """The same, but compiling goes on for ever where nothing is added."""

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        with at_most(seconds):
            while b"arith.add" not in module:
                time.sleep(0.01)
        return super().__call__(module, seconds)
