"""Passes that run on each operation of some kind: `gpu.module(gpu.func(my-pass))`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cutecc.errors import Error, UsageError
from cutecc.ir.locations import nearest_location
from cutecc.ir.names import check_names
from cutecc.passes.analyses import keep_analyses
from cutecc.passes.base import Pass, PassWrapper
from cutecc.passes.diagnostics import error

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_MODULE = "builtin.module"
_ANY = "any"
"""The anchor for every operation that the pass runs on."""
_HOLDERS = (_MODULE, "gpu.module")
"""Where operations are looked for that no anchor leads to."""


@dataclass(frozen=True)
class OperationPass(Pass):
    """A pass that runs on each operation of some kind, such as functions: on those that pipeline text nests it in.

    `gpu.module(gpu.func(my-pass))` is every `gpu.func` right inside of a `gpu.module` of the module.
    """

    runs_on: ClassVar[tuple[str, ...]] = ()
    """The operations that it may be nested in. A pass without any runs on all modules and functions.

    Where pipeline text does not nest it, it runs on the module if it can, else on each of these in the module and its
    `gpu.module`s: MLIR's implicit nesting.
    """

    @abstractmethod
    def run(self, operation: ir.Operation) -> None:
        """Rewrite `operation` and what is inside, nothing else: it keeps its place, and others do not notice.

        Raises as `ModulePass.run`; an error without a location gets that of `operation`.
        """

    def run_in(self, module: ir.Module) -> None:
        _run_on_each(self, (), module)

    def nested(self, *anchors: str) -> NestedPass:
        """The pass on operations inside of operations: `nested("gpu.module", "gpu.func")`.

        Raises `UsageError` where it does not run on the last, or one is no name of an operation.
        """
        return NestedPass(pass_=self, anchors=anchors)


@dataclass(frozen=True, kw_only=True)
class NestedPass(PassWrapper):
    """A pass on the operations that anchors lead to. Raises `UsageError` when it does not run on those."""

    pass_: OperationPass
    anchors: tuple[str, ...]  # pyright: ignore[reportIncompatibleVariableOverride] - a pipeline's, not the class's

    def __post_init__(self) -> None:
        super().__post_init__()
        runs_on = self.pass_.runs_on
        if not self.anchors or (runs_on and self.anchors[-1] not in (_ANY, *runs_on)):
            raise wrong_nesting(type(self.pass_), self.anchors)
        check_names((anchor for anchor in self.anchors if anchor != _ANY), dialects=False)

    def run_in(self, module: ir.Module) -> None:
        _run_on_each(self.pass_, self.anchors, module)


def wrong_nesting(kind: type[Pass], anchors: tuple[str, ...]) -> UsageError:
    """The error for passes of some kind that are nested in what they do not run on."""
    name, where = kind.name, nested_in(anchors) or "nothing"
    return UsageError(f"pass {name} does not run on {where}", notes=[f"it runs on {described_operations(kind)}"])


def nested_in(anchors: tuple[str, ...]) -> str:
    """In words: `gpu.func in gpu.module`."""
    return " in ".join(reversed(anchors))


def described_operations(kind: type[Pass]) -> str:
    """What a pass in Python runs on, in words."""
    if issubclass(kind, OperationPass):
        return ", ".join(kind.runs_on) or "any module or function"
    return nested_in(kind.anchors) or _MODULE


def _run_on_each(pass_: OperationPass, anchors: tuple[str, ...], module: ir.Module) -> None:
    """Run `pass_` on the operations that `anchors` lead to, in order.

    What a plugin's pass does outside of them is an error.
    """
    from cutecc.ir.editing import is_erased
    from cutecc.passes.surroundings import WIDER, Surroundings

    operations = list(_reached(anchors, module.operation) if anchors else _own(pass_.runs_on, module.operation))
    operations = [operation for operation in operations if _runs_on(pass_, operation, anchors)]
    surroundings = Surroundings(module, operations) if operations and pass_.provider == "plugin" else None
    for operation, place in [(each, each.location) for each in operations]:
        if is_erased(operation):
            raise error(place, f"pass {pass_.name} has erased this operation before its turn", hints=[WIDER])
        _run_on(pass_, operation, place)
    if surroundings:
        surroundings.check(pass_.name)


def _run_on(pass_: OperationPass, operation: ir.Operation, place: ir.Location) -> None:
    try:
        pass_.run(operation)
    except Error as failure:
        failure.location = failure.location or nearest_location(place)
        raise
    finally:
        # The next operation may be asked about what is around it, which has changed.
        keep_analyses(pass_.preserves)


def _reached(anchors: tuple[str, ...], module: ir.Operation) -> Iterable[ir.Operation]:
    from cutecc.ir.modules import body_of

    found = [module]
    for anchor in anchors:
        found = [each for holder in found for each in body_of(holder) if anchor in (_ANY, each.name)]
    return found


def _own(runs_on: tuple[str, ...], module: ir.Operation) -> Iterator[ir.Operation]:
    """The operations for a pass that is not nested."""
    from cutecc.ir.modules import body_of

    if not runs_on or module.name in runs_on:
        yield module
        return
    for operation in body_of(module):
        if operation.name in runs_on:
            yield operation
        elif operation.name in _HOLDERS:
            yield from _own(runs_on, operation)


def _runs_on(pass_: OperationPass, operation: ir.Operation, anchors: tuple[str, ...]) -> bool:
    """Whether it does. Raises `PassError` at an operation of the name of an anchor that no pass can run on."""
    if pass_.runs_on:
        return operation.name in pass_.runs_on
    # Others may use values from around them.
    if operation.name == _MODULE or (len(operation.regions) and "sym_name" in operation.attributes):
        return True
    if anchors[-1] == _ANY:
        return False
    raise error(operation, f"pass {pass_.name} runs on modules and functions, not on {operation.name}")
