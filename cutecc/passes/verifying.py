"""Having MLIR verify the module that a pass has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.errors import PassError
from cutecc.ir.locations import nearest_location
from cutecc.passes.base import Pass

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


def verify_after(pass_: Pass, module: ir.Module) -> None:
    """Raise `PassError`, at the first invalid operation, when `pass_` has left an invalid module."""
    from cutecc.ir.mlir import ir

    try:
        module.operation.verify()
    except ir.MLIRError as failure:
        first = failure.error_diagnostics[0] if failure.error_diagnostics else None
        raise PassError(
            f"pass {pass_.name} left an invalid module: {first.message if first else failure}",
            location=nearest_location(first.location) if first else None,
            notes=[note.message for note in first.notes] if first else [],
            pass_name=pass_.name,
        ) from None


def verify_result(passes: tuple[Pass, ...], module: ir.Module) -> None:
    """As `verify_after` for what a whole pipeline left; the error says that only its last pass is known."""
    if not passes:
        return
    try:
        verify_after(passes[-1], module)
    except PassError as error:
        message = error.message.removeprefix(f"pass {passes[-1].name} left an invalid module: ")
        error.message = f"the module is invalid after the last pass, {passes[-1].name}: {message}"
        if len(passes) > 1:
            error.hints = ["--verify-each says which pass left it so"]
        raise
