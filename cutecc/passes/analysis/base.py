"""What an analysis is: a pass that changes nothing and says what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.passes.base import ModulePass


@dataclass(frozen=True)
class AnalysisPass(ModulePass):
    """A pass that leaves the module as it is, and calls `cutecc.passes.remark` or `warning` with its numbers.

    It can stand in a pipeline as any pass, but is meant to run beside one: `cutecc check` and reports run it on the
    module after the pass that it `looks_after`, and its findings go to `Compilation.analyses`, never to a step.
    """

    looks_after: ClassVar[str | None] = None
    """The selector of the pass, in the `nvidia` pipeline, whose result it looks at; `None`: the traced module."""
    in_open: ClassVar[str | None] = None
    """The pass of the pipeline `open` that it looks after, where that has none of the other name."""
