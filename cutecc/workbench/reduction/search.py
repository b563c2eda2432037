"""Which edits to try together, and over processes: ever smaller parts of a module, as delta debugging does.

A kind of edit is tried on all of its sites at once, then on halves, quarters, and so on down to single ones; what still
fails afterwards takes the module's place. Then comes the next kind, and all again until nothing makes it smaller.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from cutecc.errors import Error
from cutecc.ir.modules import content_hash
from cutecc.support.isolation import ProcessDied
from cutecc.support.pool import WorkerPool
from cutecc.workbench.checks import Finding
from cutecc.workbench.reduction.attributes import LOCATIONS
from cutecc.workbench.reduction.edits import KINDS
from cutecc.workbench.reduction.oracles import ENDED_LATE, Oracle
from cutecc.workbench.reduction.texts import TEXT_KINDS
from cutecc.workbench.reduction.working import Candidate, Manner, ask, count_sites, edited, normalised

P = ParamSpec("P")
T = TypeVar("T")

_LEAST_SECONDS, _TIMES_THE_FIRST = 10.0, 10.0
"""How long compiling a module may take: so many seconds, and so many times what the first one took."""


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


@dataclass(frozen=True)
class _Step:
    """Something to try."""

    kind: str
    at_once: int
    sites: range

    def is_of_round(self, other: _Step) -> bool:
        """Whether both are of one kind, with as many sites."""
        return (self.kind, self.at_once) == (other.kind, other.at_once)


@dataclass(frozen=True)
class _Try:
    """A module that is being edited and asked about, ahead of its turn or not."""

    index: int
    """Of its step."""
    guess: bool
    """Whether those begun after it count on its being taken."""
    off: threading.Event
    """Set when nobody waits for it any more."""
    found: Future[Candidate | None]


def _upcoming(index: int, known: list[_Step], steps: Iterator[_Step]) -> _Step | None:
    """The step of this index: one of the `known`, or the next, which is known then; `None` after the last."""
    if index == len(known):
        known.extend(itertools.islice(steps, 1))
    return known[index] if index < len(known) else None


def _leaves_round(step: _Step, others: Iterable[_Step]) -> bool:
    return not all(each.is_of_round(step) for each in others)


def _give_up(ahead: deque[_Try]) -> None:
    """Have nobody go on with these, and forget them."""
    for each in ahead:
        each.off.set()
        each.found.cancel()
    ahead.clear()


class _TimeIsUp(Error):
    """Before a worker had an answer."""


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
        """Asks `oracle` in `jobs` processes at a time, for `seconds` at most, whatever they are at then. `smaller` gets
        each module that takes the place of the last."""
        self._oracle = oracle
        self._jobs = jobs
        self._manner = Manner(placeholders=not oracle.needs_code)
        self._end = None if seconds is None else time.monotonic() + seconds
        self._smaller = smaller
        self._tell = tell
        self._workers = WorkerPool(jobs)
        self._threads = ThreadPoolExecutor(jobs)
        self._known: dict[str, Finding] = {}
        self._limit: float | None = None
        self._most_characters = 0
        self.tried = 0

    def __enter__(self) -> Reducer:
        return self

    def __exit__(self, *failure: object) -> None:
        self._workers.kill()
        self._threads.shutdown(cancel_futures=True)

    @property
    def out_of_time(self) -> bool:
        """Whether it stopped, or would, before nothing was left to try."""
        return self._end is not None and time.monotonic() >= self._end

    def settle(self, finding: Finding, seconds: float) -> None:
        """Ask from now on whether modules fail as the first did, of which it says `finding` and took so long."""
        self._oracle = self._oracle.settled(finding)
        self._limit = _LEAST_SECONDS + _TIMES_THE_FIRST * seconds

    def keep_locations(self) -> None:
        """Keep them in the modules to come: the failure depends on them."""
        self._manner = Manner(True, self._manner.placeholders)

    def normalised(self, data: bytes, source: str) -> Candidate:
        """The module as MLIR prints it. Raises `ParseError`, and `Error` for one on which the bindings abort, or when
        the time is up."""
        try:
            return self._call(normalised, data, self._manner.locations, source)
        except ProcessDied as death:
            raise Error(f"reading {source} aborted: {death.message}", notes=death.notes) from None

    def ask(self, text: str) -> Finding:
        """What the test says of a module. Raises `Error` when the time is up before it does."""
        key = content_hash(text.encode())
        if key not in self._known:
            self.tried += 1
            try:
                finding = self._call(ask, self._oracle, text, self._limit)
            except ProcessDied as death:
                late = ENDED_LATE in death.message
                finding = Finding("unknown", "late") if late else self._oracle.aborted("\n".join(death.notes))
            # Of the many that do not fail, nobody asks why.
            keep = finding.verdict == "fails" or self._limit is None
            self._known[key] = finding if keep else Finding(finding.verdict)
        return self._known[key]

    def reduce(self, start: Candidate, most_characters: int) -> Candidate:
        """The smallest module that it comes to from `start`, of which the test says that it fails; none in between has
        more than so many characters."""
        self._most_characters = most_characters
        kinds = [kind for kind in (*KINDS, *TEXT_KINDS) if kind != LOCATIONS or self._manner.locations]
        best, last = start, _Step(kinds[0], 0, range(0))
        while not self.out_of_time:
            new, last = self._round(best, self._steps(best, kinds, last))
            if new is best:
                break
            best = new
        return best

    def _steps(self, base: Candidate, kinds: Sequence[str], last: _Step) -> Iterator[_Step]:
        """What to try on `base`, as long as nothing of it is taken: fewer sites at once than in `last`, the round that
        led to it, and then all other kinds."""
        if last.at_once:
            count = self._count(last.kind, base)
            yield from _halving(last.kind, count, min(last.at_once // 2, count))
        first = kinds.index(last.kind) + (last.at_once > 0)
        for kind in (*kinds[first:], *kinds[:first]):
            count = self._count(kind, base)
            yield from _halving(kind, count, count)

    def _count(self, kind: str, best: Candidate) -> int:
        try:
            return self._call(count_sites, best.text, kind)
        except (ProcessDied, _TimeIsUp):
            return 0

    def _round(self, base: Candidate, steps: Iterator[_Step]) -> tuple[Candidate, _Step]:
        """Try steps until one is taken, and the others of its round on top of it; what came of them, and one of them.

        What comes of it is as if they were tried one after another, whatever the number of processes. Ahead of their
        turn, they are tried with a guess about those before, that they fare as the last one of the round did; where it
        was wrong, they are tried again.
        """
        best, taken = base, list[int]()
        known = list[_Step]()
        ahead: deque[_Try] = deque()
        following, done, likely = 0, 0, False
        while not self.out_of_time:
            while len(ahead) < self._jobs:
                step = _upcoming(following, known, steps)
                if step is None:
                    break
                guessed = [known[each.index] for each in ahead if each.guess]
                counted_on = guessed[0] if guessed else known[done - 1] if taken else step
                if not step.is_of_round(counted_on):
                    # It would be of another module.
                    break
                chosen = sorted([*taken, *itertools.chain.from_iterable(each.sites for each in (*guessed, step))])
                guess = likely and step.is_of_round(known[done - 1])
                off = threading.Event()
                found = self._threads.submit(self._try, step.kind, base, chosen, off)
                ahead.append(_Try(following, guess, off, found))
                following += 1
            if not ahead:
                break
            first = ahead.popleft()
            step = known[first.index]
            self._tell(Progress(step.kind, step.at_once, best, self.tried))
            candidate = first.found.result()
            likely = candidate is not None and self._is_simpler(candidate, best, step.kind)
            if candidate is not None and likely:
                best = candidate
                taken += step.sites
                self._smaller(best)
            done = first.index + 1
            if likely != first.guess or (taken and _leaves_round(step, (known[each.index] for each in ahead))):
                _give_up(ahead)
                following = done
        return best, known[done - 1] if done else _Step("", 0, range(0))

    def _try(self, kind: str, base: Candidate, chosen: Sequence[int], off: threading.Event) -> Candidate | None:
        """The edited module, if it fails."""
        if off.is_set():
            return None
        try:
            candidate = self._call(edited, base.text, kind, chosen, self._manner)
            if candidate is None or off.is_set() or self.ask(candidate.text).verdict != "fails":
                return None
            # What is printed can be read back, but for faults of the bindings.
            again = self._call(normalised, candidate.text.encode(), self._manner.locations, "-")
            return again if again == candidate or self.ask(again.text).verdict == "fails" else None
        except (ProcessDied, Error):
            # Of the bindings, by what the edit left; or the time is up.
            return None

    def _call(self, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """What a function returns in a worker. Raises what it raises, `ProcessDied`, and `_TimeIsUp`; the worker that
        is at it then ends with this context."""
        found = self._workers.submit(function, *arguments, **nothing)
        try:
            return found.result(None if self._end is None else max(0.0, self._end - time.monotonic()))
        except TimeoutError:
            raise _TimeIsUp(
                "the time is up before it is known whether the module fails", hints=["allow more with --timeout"]
            ) from None

    def _is_simpler(self, new: Candidate, old: Candidate, kind: str) -> bool:
        """Whether `new` may take the place of `old`: fewer operations, or as many in fewer lines, or in fewer
        characters. Placeholders take lines too."""
        sizes = [(each.operations, each.lines, len(each.text)) for each in (new, old)]
        if sizes[0] == sizes[1]:
            # A smaller number may take as many characters.
            return new.text != old.text and ("constants" in kind or "sizes" in kind)
        return sizes[0] < sizes[1] and len(new.text) <= self._most_characters


def _halving(kind: str, count: int, at_once: int) -> Iterator[_Step]:
    """All sites, `at_once` at a time, then half as many, down to single ones; the last sites first: what is used stands
    before its users."""
    while at_once:
        for end in range(count, 0, -at_once):
            yield _Step(kind, at_once, range(max(0, end - at_once), end))
        at_once //= 2
