"""What an analysis is: a pass that changes nothing and says what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cutecc.ir.pass_context import PassState
from cutecc.passes.base import ModulePass

if TYPE_CHECKING:
    from collections.abc import Callable

    from cutecc.ir.mlir import ir
    from cutecc.record import Judged

judging: PassState[Callable[[Judged], None]] = PassState()
"""Who hears what analyses judge."""


@dataclass(frozen=True)
class AnalysisPass(ModulePass):
    """A pass that leaves the module as it is, and calls `cutecc.passes.remark` or `warning` with its numbers.

    It can stand in a pipeline as any pass, but is meant to run beside one: `cutecc check` and reports run it on the
    module after the pass that it `looks_after`, and its findings go to `Compilation.analyses`, never to a step.
    """

    preserves: ClassVar[tuple[type, ...]] = (object,)
    looks_after: ClassVar[str | None] = None
    """The selector of the pass, in the `nvidia` pipeline, whose result it looks at; `None`: the traced module."""
    in_open: ClassVar[str | None] = None
    """The pass of the pipeline `open` that it looks after, where that has none of the other name."""

    def look_at_traced(self, module: ir.Module) -> None:
        """Keep what it needs of the traced module and the one that it looks at does not say any more."""

    def judge(self, judged: Judged) -> None:
        """Say how many of all that it has looked at are right."""
        if listener := judging.get():
            listener(judged)
