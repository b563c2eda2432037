"""Letting a pass make some of its rewrites only, which is how the one that makes a difference is found.

In pipelines, `max-rewrites` is an option of every pass in Python: `unfold-layouts{max-rewrites=12}`. What is counted:

- in `rewrite`, `convert` and `convert_leaves`, each time that a pattern changes an operation;
- in a loop over operations, `for operation in limited(walk(module, …))`, each operation that is handed out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.errors import SourceLocation, UsageError
from cutecc.ir.pass_context import PassState
from cutecc.passes.base import Pass, PassWrapper
from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.passes.options import Option

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

OPTION = "max-rewrites"


@dataclass(frozen=True)
class Rewrite:
    """One of the rewrites that a pass makes."""

    operation: str
    """The name of what is rewritten."""
    location: SourceLocation | None
    """Where it comes from in the user's program."""
    pattern: str | None = None
    """What rewrites it, where that is a pattern."""

    def __str__(self) -> str:
        by = f" by {self.pattern}" if self.pattern else ""
        return f"{self.operation}{by}"


@dataclass
class Budget:
    """How many rewrites may be made, and how many are."""

    limit: int | None
    """`None` only counts."""
    made: int = 0
    last: Rewrite | None = None
    """The one that came as number `limit`."""

    @property
    def spent(self) -> bool:
        """Whether there may be no more."""
        return self.limit is not None and self.made >= self.limit

    def take(self, name: str, place: ir.Location, pattern: str | None = None) -> None:
        """Count a rewrite of an operation called `name`."""
        self.made += 1
        if self.made == self.limit:
            from cutecc.ir.locations import user_location

            self.last = Rewrite(name, user_location(place), pattern)


_current = PassState[Budget]()


def current_budget() -> Budget | None:
    """What the pass that runs may do; `None` where nobody counts."""
    return _current.get()


@contextlib.contextmanager
def counting(limit: int | None = None) -> Generator[Budget]:
    """Inside, rewrites are counted, and only `limit` of them made."""
    with _current.having(Budget(limit)) as budget:
        yield budget


def limited(operations: Iterable[ir.Operation]) -> Iterable[ir.Operation]:
    """Those of `operations`, which a pass rewrites one after another, that it may."""
    budget = _current.get()
    return operations if budget is None else _counted(operations, budget)


def _counted(operations: Iterable[ir.Operation], budget: Budget) -> Iterator[ir.Operation]:
    for operation in operations:
        if budget.spent:
            return
        budget.take(operation.name, operation.location)
        yield operation


@dataclass(frozen=True)
class LimitedPass(PassWrapper):
    """A pass that makes its first rewrites only, on all operations that it runs on taken together."""

    max_rewrites: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "anchors", self.pass_.anchors)

    def run_in(self, module: ir.Module) -> None:
        with counting(self.max_rewrites):
            self.pass_.run_in(module)

    @property
    def options(self) -> list[Option]:
        return [*super().options, (OPTION, str(self.max_rewrites))]


def with_limit(pass_: Pass, text: str) -> LimitedPass:
    """`pass_` with at most so many rewrites as `text` says. Raises `UsageError`."""
    if pass_.provider == "wheel" or pass_.name in CODE_GENERATION:
        raise UsageError(
            f"pass {pass_.name}: '{OPTION}' is for passes in Python, whose rewrites can be counted",
            hints=["cutecc passes says which are"],
        )
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(f"pass {pass_.name}: option '{OPTION}' takes a number of rewrites, not '{text}'")
    return LimitedPass(pass_, int(text))
