"""Passes of LLVM in a record, as the commands name them: `llvm:LICM`, `llvm:InstCombine#2`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cutecc.cli.records import StageText
from cutecc.errors import RecordError, UsageError
from cutecc.passes.generation.choice import PASSES
from cutecc.record import Compilation
from cutecc.record.llvm_passes import LlvmPass, LlvmPasses, llvm_passes
from cutecc.report.stage_text import Position
from cutecc.support.locations import Place
from cutecc.support.spelling import did_you_mean

PREFIX = "llvm:"
"""What the selector of such a pass begins with."""
_CLOSED = "NVIDIA's compiler generates the code in one closed step"


def is_of_llvm(selector: str) -> bool:
    """Whether `selector` means a pass of LLVM."""
    return selector.startswith(PREFIX)


def check_no_function(function: str | None) -> None:
    """Raise `UsageError` where a `function` is asked for beside a pass of LLVM."""
    if function is not None:
        raise UsageError("--function is for modules of the pipeline: LLVM's code is shown whole")


def code_after(compilation: Compilation, selector: str) -> tuple[StageText, list[Place]]:
    """The code after the pass of LLVM that `selector` means, and the table of its places.

    Raises `UsageError` when there is none.
    """
    module, each = _choose(compilation, selector)
    return _text(compilation, each), module.table


def code_before(compilation: Compilation, selector: str) -> StageText:
    """The code before that pass, as the pass before it that changed something has left it.

    Raises `UsageError` for the first one: what it was given is the record's LLVM IR.
    """
    module, each = _choose(compilation, selector)
    earlier = module.before(each)
    if earlier is None:
        raise UsageError(
            f"{selector} is the first of LLVM's passes that has such code",
            hints=["cutecc show --llvm prints the LLVM IR that LLVM was given"],
        )
    return _text(compilation, earlier)


def llvm_lines(compilation: Compilation) -> Iterator[str]:
    """LLVM's passes, one a line."""
    for module in llvm_passes(compilation):
        for each in module.passes:
            yield f"     {PREFIX + each.selector:<40}{each.text.count(chr(10)):>7} lines"
        if module.partly:
            yield click.style("     of so large a module, the most important of LLVM's passes", dim=True)


def _text(compilation: Compilation, each: LlvmPass) -> StageText:
    step = compilation.step(PASSES["llvm"])
    position = Position(step.index if step else 0, PREFIX + each.selector, 0)
    return StageText(position, each.text.split("\n")[:-1], 0, each.places)


def _choose(compilation: Compilation, selector: str) -> tuple[LlvmPasses, LlvmPass]:
    modules = [*llvm_passes(compilation)]
    name = selector.removeprefix(PREFIX)
    found = [(module, each) for module in modules for each in module.passes if name in (each.selector, each.name)]
    exact = [(module, each) for module, each in found if each.selector == name]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if found:
        names = ", ".join(PREFIX + each.selector for _, each in found)
        raise UsageError(f"{selector} changed something {len(found)} times: {names}")
    names = [PREFIX + each.selector for module in modules for each in module.passes]
    if names:
        raise UsageError(f"no pass {selector} of LLVM changed anything", hints=did_you_mean(selector, names))
    if compilation.step(PASSES["nvvm"]) is not None:
        raise RecordError(
            f"the record of {compilation.name} has no passes of LLVM: {_CLOSED}",
            hints=["--pipeline open or --backend llvm has LLVM generate it"],
        )
    raise RecordError(
        f"the record of {compilation.name} has no passes of LLVM", hints=["--dump-after=all or --report keeps them"]
    )
