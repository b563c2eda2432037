"""1:N conversion: an operation on values of CuTe's types becomes operations on what these carry, their leaves.

    @register
    @dataclass(frozen=True)
    class LowerMyPointers(LeafConversion):
        name: ClassVar[str] = "lower-my-pointers"

        @converts_leaves("cute.ptrtoint")
        def to_integer(self, op: ir.Operation, leaves: Leaves) -> ir.Value:
            (pointer,) = leaves.of(op.operands[0])
            return llvm.ptrtoint(op.results[0].type, pointer)

One value has any number of leaves: a layout whose type says it all has none (`values/leaves.py` of the lowering). It is
what MLIR calls a 1:N dialect conversion, with one type conversion, CuTe's. Operations without a pattern keep values of
CuTe's types, which casts make of the leaves; `lower-cute-types` takes away the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from cutecc.errors import Error
from cutecc.ir.casters import plain_values
from cutecc.ir.editing import keeping_erased
from cutecc.ir.mlir import ir
from cutecc.ir.names import check_names
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.failing import error_at
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.rewriting import Pattern, Patterns

Converted: TypeAlias = ir.Value | Sequence[ir.Value | Sequence[ir.Value]]
"""For each result of an operation the leaves that it carries, or its only leaf; of a single result, this leaf alone."""


class LeafPattern(Pattern[Converted | None]):
    """A 1:N conversion of the operations called one of `names`; what `converts_leaves` makes of a function."""


def converts_leaves(*names: str) -> Callable[[Callable[..., Converted | None]], LeafPattern]:
    """Make a pattern for operations called one of `names` (`cute.*`: a dialect) of a function or a pass's method.

    It takes the operation and the `Leaves` by which it gets those of the operands, and returns those of the results:
    `[]` for an operation without any. `None` means that it did not match; then it must not have built anything. An
    `Error` of the layout algebra in it is one at the operation. Raises `UsageError` for a name that no operation can
    have.
    """
    check_names(names)
    return lambda function: LeafPattern(names, function)


def convert_leaves(root: ir.Module | ir.Operation, patterns: Iterable[LeafPattern]) -> None:
    """Convert the operations in `root` for which there is a pattern, in one walk.

    What is converted stays until the walk ends: patterns see the module as it was, and what they built beside it. Of
    several patterns for an operation, the first that matches wins. Raises `PassError` at an operation for which a
    pattern returns other leaves than its results carry, or that it cannot convert.
    """
    chosen, leaves = Patterns(patterns), Leaves()
    if not chosen.names:
        return
    with plain_values(), keeping_erased():
        # A module stands in no block: patterns build beside what they convert.
        alone = None if root.operation.parent is not None else root.operation.name
        for operation in walk(root, *chosen.names):
            name, place = operation.name, operation.location
            if name == alone and operation.parent is None:
                continue
            for pattern in chosen.of(name):
                if chosen.spent:
                    leaves.settle()
                    return
                try:
                    with ir.InsertionPoint(operation), place:
                        converted = pattern(operation, leaves)
                        if converted is None:
                            continue
                        leaves.convert(operation, _by_result(converted, pattern))
                except Error as failure:
                    raise error_at(operation, failure) from failure
                chosen.count(pattern, name, place)
                break
        leaves.settle()


def _by_result(converted: Converted, pattern: LeafPattern) -> list[Sequence[ir.Value]]:
    if isinstance(converted, ir.Value):
        return [[converted]]
    try:
        return [[each] if isinstance(each, ir.Value) else [*each] for each in converted]
    except TypeError:
        message = f"{pattern} returns a {type(converted).__name__}, not values: one, or for each result its leaves"
        raise Error(message) from None


def leaf_patterns(holder: object) -> list[LeafPattern]:
    """The patterns among the methods of an object, in their order, bound to it; of a class, free ones."""
    owner = holder if isinstance(holder, type) else type(holder)
    methods = {name: each for base in reversed(owner.__mro__) for name, each in vars(base).items()}
    return [getattr(holder, name) for name, each in methods.items() if isinstance(each, LeafPattern)]


class LeafConversion(ModulePass):
    """A pass that converts operations by the patterns among its methods, and so lowers what these are for."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "lowers" not in vars(cls):
            cls.lowers = Patterns(leaf_patterns(cls)).names

    def run(self, module: ir.Module) -> None:
        convert_leaves(module, leaf_patterns(self))
