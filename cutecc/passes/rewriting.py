"""Pattern rewriting: small functions that each rewrite one kind of operation.

    @rewrites("cute.get_shape")
    def fold_static_shape(op: ir.Operation, rewriter: Rewriter) -> None:
        ...
        rewriter.replace(op, shape)

While a pattern runs, builders put operations in front of `op`, with its location. A pattern that changed nothing did
not match. The driver is Python: an exception in a pattern is an exception, where the bindings' own drivers
(`cutlass._mlir.rewrite`) end the process, and leave Python objects of erased operations that crash when looked at.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from cutecc.ir.names import check_names, matcher
from cutecc.passes.debug_counter import current_budget
from cutecc.passes.diagnostics import error

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Result = TypeVar("Result", covariant=True)
AnyPattern = TypeVar("AnyPattern", bound="Pattern[Any]")


@dataclass(frozen=True)
class Pattern(Generic[Result]):
    """What becomes of the operations called one of `names`; what `rewrites` makes of a function."""

    names: tuple[str, ...]
    function: Callable[..., Result]

    def __call__(self, *arguments: Any) -> Result:
        return self.function(*arguments)

    def __str__(self) -> str:
        function: Any = self.function
        while isinstance(function, functools.partial | Pattern):
            function = function.func if isinstance(function, functools.partial) else function.function
        return getattr(function, "__qualname__", repr(function)).rpartition("<locals>.")[2]

    def __get__(self, instance: object, owner: type) -> Self:
        # A pattern may be a method of a pass, whose options it then sees.
        return self if instance is None else dataclasses.replace(self, function=functools.partial(self, instance))


class Patterns(Generic[AnyPattern]):
    """The patterns that a driver applies, as long as `max-rewrites` allows it."""

    def __init__(self, patterns: Iterable[AnyPattern]) -> None:
        self._chosen = [(matcher(pattern.names), pattern) for pattern in patterns]
        self._by_name: dict[str, list[AnyPattern]] = {}
        self._budget = current_budget()

    @property
    def names(self) -> tuple[str, ...]:
        """The operations and dialects that they are for, each once."""
        return tuple(dict.fromkeys(name for _, pattern in self._chosen for name in pattern.names))

    @property
    def spent(self) -> bool:
        """Whether none may be applied any more."""
        return self._budget is not None and self._budget.spent

    def of(self, name: str) -> list[AnyPattern]:
        """Those for operations called `name`: the first that matches wins."""
        if name not in self._by_name:
            self._by_name[name] = [pattern for matches, pattern in self._chosen if matches(name)]
        return self._by_name[name]

    def count(self, pattern: AnyPattern, name: str, place: ir.Location) -> None:
        """Count that `pattern` has changed an operation called `name`, which may be gone."""
        if self._budget is not None:
            self._budget.take(name, place, str(pattern))


def rewrites(*names: str) -> Callable[[Callable[..., bool | None]], Pattern[bool | None]]:
    """Make a pattern for operations called one of `names` (`cute.*`: a dialect) of a function or a pass's method.

    Raises `UsageError` for a name that no operation can have.

    It takes the operation and a `Rewriter`. It need not return anything, but `True` when it changed the operation in
    place by other means than the rewriter.
    """
    check_names(names)
    return lambda function: Pattern(names, function)


class Rewriter:
    """By what a pattern changes the module, so that the driver knows."""

    def __init__(self) -> None:
        self.changed = False
        self.affected: list[ir.Operation] = []
        """Operations that a change may have made ready for another pattern."""

    def replace(self, operation: ir.Operation | ir.OpView, values: ir.Value | Sequence[ir.Value]) -> None:
        """Have `values` used in the place of the results of `operation`, and erase it; errors as `editing.replace`."""
        from cutecc.ir import editing

        self.affected += [use.owner.operation for result in operation.results for use in result.uses]
        self._lose(operation)
        editing.replace(operation, values)

    def erase(self, operation: ir.Operation | ir.OpView) -> None:
        """Take an operation without users out of the module; errors as `editing.erase`."""
        from cutecc.ir import editing

        self._lose(operation)
        editing.erase(operation)

    def _lose(self, operation: ir.Operation | ir.OpView) -> None:
        self.changed = True
        owners: list[Any] = [operand.owner for operand in operation.operands]
        # A block argument belongs to a block.
        self.affected += [owner.operation for owner in owners if hasattr(owner, "operation")]


def rewrite(root: ir.Module | ir.Operation, patterns: Iterable[Pattern[bool | None]], *, once: bool = False) -> bool:
    """Apply `patterns` to the operations in `root` until none matches any more; with `once`, in one walk.

    Of several patterns for an operation, the first that matches wins. Nothing else happens: no folding, no removal of
    unused operations. Returns whether anything changed. Raises `PassError` at the operation where it does not end.
    """
    from cutecc.ir.building import before
    from cutecc.ir.casters import plain_values
    from cutecc.ir.editing import address_of, is_erased, is_inside, keeping_erased
    from cutecc.ir.walking import walk

    chosen = Patterns(patterns)

    def apply(operation: ir.Operation, name: str) -> tuple[Pattern[bool | None], Rewriter] | None:
        for pattern in chosen.of(name):
            rewriter = Rewriter()
            with before(operation):
                changed = pattern(operation, rewriter)
            if changed or rewriter.changed:
                return pattern, rewriter
        return None

    # What a change affects may lie outside.
    within = {address_of(root.operation)} if root.operation.parent else set[int]()
    changed = False
    rewrites_left: int | None = None
    with plain_values(), keeping_erased():
        while True:
            operations = deque(walk(root.operation, *chosen.names))
            # Every operation may be rewritten several times, but not forever.
            rewrites_left = rewrites_left or 1000 + 50 * len(operations)
            settled = True
            while operations:
                operation = operations.popleft()
                if is_erased(operation) or (within and not is_inside(operation, within)):
                    continue
                if operation.parent is None:
                    # The module itself: patterns build beside what they rewrite.
                    continue
                if chosen.spent:
                    return changed
                # Afterwards it may be gone.
                name, place = operation.name, operation.location
                if (applied := apply(operation, name)) is None:
                    continue
                pattern, rewriter = applied
                changed, settled = True, False
                chosen.count(pattern, name, place)
                if once:
                    continue
                operations.extend(rewriter.affected)
                rewrites_left -= 1
                if not rewrites_left:
                    raise error(place, f"the patterns do not end: {pattern} still rewrites {name}")
            # New operations that nothing led to are found by another walk.
            if settled or once:
                return changed
