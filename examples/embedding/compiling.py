"""From an expression to a kernel: its module, what the kernel takes, and what is told while cutecc compiles it."""

from __future__ import annotations

import sys
from typing import Any

from building import build
from language import Expression

import cutecc
from cutecc.compilation.events import Event, Failed, Finished, PassFinished, Planned, Said
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context


class Progress(cutecc.Observer):
    """Says on standard error how a compilation goes."""

    def event(self, event: Event) -> None:
        match event:
            case Planned(compilation, _, total):
                self._say(f"{compilation.name} for {compilation.target}: passes 1 to {total}")
            case Said(_, name, remark):
                self._say(f"{remark.location}: {remark.severity}: {remark.message} ({name})")
            case PassFinished(step) if step.seconds > 0.05:
                self._say(f"  {step.name} took {step.seconds:.2f} s")
            case Finished(compilation):
                self._say(f"  made {', '.join(artifact.kind for artifact in compilation.artifacts)}")
            case Failed(error):
                self._say(f"  failed: {type(error).__name__}")
            case _:
                pass

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr)


def compile_expression(expression: Expression, target: str | None, pipeline: str, isolation: Any) -> cutecc.Kernel:
    """The kernel of an expression: called with its numbers, its vectors, and the vector to write."""
    vectors = dict.fromkeys((*expression.vectors, "out"), "f32[?N]")
    signature = cutecc.Signature.of("expression", **dict.fromkeys(expression.numbers, "f32"), **vectors)
    # Only where the DSL may have been imported are values something else than plain ones.
    with fresh_context(), plain_values():
        module = build(expression)
        return cutecc.compile_module(
            module, target, pipeline, [Progress()], name="expression", signature=signature, isolation=isolation
        )
