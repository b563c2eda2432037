"""Printing the module between passes, as MLIR's tools do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cutecc.errors import UsageError
from cutecc.ir.modules import to_text
from cutecc.opt.request import Form, PrintChoice, Printed
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


class ModulePrinter(Observer):
    """Prints the module before and after the chosen passes. `started` raises `UsageError` for one that is not there."""

    def __init__(
        self, choice: PrintChoice, emit: Callable[[Printed], None], *, locations: bool = False, generic: bool = False
    ) -> None:
        self._choice = choice
        self._emit = emit
        self._locations = locations
        self._generic = generic
        self._selectors: list[str] = []
        self._after: set[int] = set()
        self._before: set[int] = set()
        self._input = ""
        """The text before the pass that runs, where changes are asked for."""

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        after = self._choice.after or (["all"] if self._choice.only_changed else [])
        self._selectors = pipeline.selectors()
        self._after = _chosen(pipeline, after)
        self._before = _chosen(pipeline, self._choice.before)

    def before(self, position: Position, module: ir.Module) -> None:
        if self._choice.only_changed and position.index in self._after:
            self._input = self._text(module)
        if position.index in self._before:
            self._print("Before", position, self._text(module))

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        if position.index not in self._after:
            return
        text = self._text(module)
        if not self._choice.only_changed or text != self._input:
            self._print("After", position, text)

    def _text(self, module: ir.Module) -> str:
        return to_text(module, locations=self._locations, generic=self._generic)

    def _print(self, when: str, position: Position, text: str) -> None:
        selector = self._selectors[position.index - 1]
        self._emit(Printed(f"// -----// IR Dump {when} {selector} //----- //\n{text}\n"))


def check_choice(choice: PrintChoice, pipeline: Pipeline, form: Form) -> None:
    """Raise `UsageError` for a pass that `pipeline` does not have, or that does not run when `form` is wanted."""
    reached = len(pipeline)
    if form not in ("mlir", "bytecode"):
        from cutecc.opt.code import before_code

        reached = len(before_code(pipeline)) + (form != "llvm")
    for selector in (*choice.after, *choice.before):
        if selector != "all" and min(pipeline.positions(selector)) >= reached:
            raise UsageError(f"pass '{selector}' is not reached: code is generated before it, for --emit={form}")


def _chosen(pipeline: Pipeline, selectors: Sequence[str]) -> set[int]:
    """The positions, from 1, of the passes that `selectors` mean."""
    if "all" in selectors:
        return set(range(1, len(pipeline) + 1))
    return {index + 1 for selector in selectors for index in pipeline.positions(selector)}
