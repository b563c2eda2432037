"""The error for what a host program cannot say."""

from __future__ import annotations

from cutecc.errors import Error
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir


class UntranslatableError(Error):
    """The host function does something that a host program has no instruction for."""


def untranslatable(operation: ir.Operation, what: str | None = None) -> UntranslatableError:
    """The error for `operation`; `what` says more than its name, as the end of "the host function …"."""
    return UntranslatableError(
        f"the host function {what}" if what else f"the host function has an operation `{operation.name}`",
        location=user_location(operation.location),
    )
