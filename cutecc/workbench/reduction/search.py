"""Which edits to try together, and over processes: ever smaller parts of a module, as delta debugging does.

A kind of edit is tried on all of its sites at once, then on halves, quarters, and so on down to single ones; what still
fails afterwards takes the module's place. Then comes the next kind, and all again until nothing makes it smaller.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.ir.modules import content_hash
from cutecc.isolation import ProcessDied
from cutecc.pool import WorkerPool
from cutecc.workbench.checks import Finding
from cutecc.workbench.reduction.edits import KINDS
from cutecc.workbench.reduction.oracles import Oracle
from cutecc.workbench.reduction.texts import TEXT_KINDS
from cutecc.workbench.reduction.working import Candidate, ask, count_sites, edited, normalised

_ALL_KINDS: tuple[str, ...] = (*KINDS, *TEXT_KINDS)


@dataclass(frozen=True)
class Progress:
    """How far a reduction has come."""

    kind: str
    """The edit that is tried."""
    at_once: int
    """How many of its sites are edited together."""
    best: Candidate
    tried: int
    """Modules that were asked about."""


class Reducer:
    """Reduces one module. Used as a context, which ends its processes."""

    def __init__(
        self,
        oracle: Oracle,
        *,
        jobs: int,
        seconds: float | None = None,
        smaller: Callable[[Candidate], None] = lambda candidate: None,
        tell: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Asks `oracle` in `jobs` processes at a time, for `seconds` at most. `smaller` gets each module that takes the
        place of the last."""
        self._oracle = oracle
        self._jobs = jobs
        self._locations = False
        self._end = None if seconds is None else time.monotonic() + seconds
        self._smaller = smaller
        self._tell = tell
        self._workers = WorkerPool(jobs)
        self._threads = ThreadPoolExecutor(jobs)
        self._known: dict[str, Finding] = {}
        self.tried = 0

    def __enter__(self) -> Reducer:
        return self

    def __exit__(self, *failure: object) -> None:
        self._workers.kill()
        self._threads.shutdown(cancel_futures=True)

    @property
    def out_of_time(self) -> bool:
        """Whether it stopped, or would, before nothing was left to try."""
        return self._end is not None and time.monotonic() > self._end

    def settle(self, finding: Finding) -> None:
        """Ask from now on whether modules fail as the first did, of which it says `finding`."""
        self._oracle = self._oracle.settled(finding)

    def keep_locations(self) -> None:
        """Keep them in the modules to come: the failure depends on them."""
        self._locations = True

    def normalised(self, data: bytes, locations: bool) -> Candidate:
        """The module as MLIR prints it. Raises `ParseError`, and `Error` for one on which the bindings abort."""
        try:
            return self._workers.submit(normalised, data, locations).result()
        except ProcessDied as death:
            raise Error(f"reading the module aborted: {death.message}", notes=death.notes) from None

    def ask(self, text: str) -> Finding:
        """What the test says of a module."""
        key = content_hash(text.encode())
        if key not in self._known:
            self.tried += 1
            try:
                self._known[key] = self._workers.submit(ask, self._oracle, text).result()
            except ProcessDied as death:
                self._known[key] = self._oracle.aborted("\n".join(death.notes))
        return self._known[key]

    def reduce(self, start: Candidate) -> Candidate:
        """The smallest module that it comes to from `start`, of which the test says that it fails."""
        best = start
        while True:
            before = best
            for kind in _ALL_KINDS:
                best = self._reduce_by(kind, best)
                if self.out_of_time:
                    return best
            if best == before:
                return best

    def _reduce_by(self, kind: str, best: Candidate) -> Candidate:
        """As far as one kind of edit gets."""
        count = self._count(kind, best)
        at_once = count
        while at_once and not self.out_of_time:
            self._tell(Progress(kind, at_once, best, self.tried))
            new = self._round(kind, list(_chunks(count, at_once)), best)
            if new is not best:
                best = new
                count = self._count(kind, best)
            at_once = min(at_once // 2, count)
        return best

    def _count(self, kind: str, best: Candidate) -> int:
        try:
            return self._workers.submit(count_sites, best.text, kind).result()
        except ProcessDied:
            return 0

    def _round(self, kind: str, chunks: Sequence[Sequence[int]], base: Candidate) -> Candidate:
        """Try each of `chunks`, on top of those before it that were taken. As if one after another, but ahead of time:
        what was begun before another one was taken, and fails too, is tried again on top of that."""
        best, taken = base, list[int]()
        waiting = deque(chunks)
        running: deque[tuple[Future[Candidate | None], Sequence[int], Candidate]] = deque()
        while (waiting or running) and not self.out_of_time:
            while waiting and len(running) < self._jobs:
                chunk = waiting.popleft()
                running.append((self._threads.submit(self._try, kind, base, [*taken, *chunk]), chunk, best))
            future, chunk, beside = running.popleft()
            candidate = future.result()
            if candidate is None or not _is_simpler(candidate, best, kind):
                continue
            if beside is not best:
                waiting.appendleft(chunk)
                continue
            best = candidate
            taken += chunk
            self._smaller(best)
            self._tell(Progress(kind, len(chunk), best, self.tried))
        return best

    def _try(self, kind: str, base: Candidate, chosen: Sequence[int]) -> Candidate | None:
        """The edited module, if it fails."""
        try:
            candidate = self._workers.submit(edited, base.text, kind, sorted(chosen), self._locations).result()
        except ProcessDied:
            # Of the bindings, by what the edit left.
            return None
        return candidate if candidate and self.ask(candidate.text).verdict == "fails" else None


def _chunks(count: int, at_once: int) -> Iterator[range]:
    """All sites, `at_once` at a time, the last ones first: what is used stands before its users."""
    for end in range(count, 0, -at_once):
        yield range(max(0, end - at_once), end)


def _is_simpler(new: Candidate, old: Candidate, kind: str) -> bool:
    """Whether `new` may take the place of `old`: fewer operations, or as many in no more characters."""
    if new.operations != old.operations:
        return new.operations < old.operations
    if len(new.text) != len(old.text):
        return len(new.text) < len(old.text)
    # A smaller number may take as many characters.
    return new.text != old.text and ("constants" in kind or "sizes" in kind)
