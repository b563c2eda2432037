"""Errors of the layout algebra and of atoms, at the operation that they are about."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from cutecc.errors import Error, PassError
from cutecc.ir.mlir import ir
from cutecc.passes.diagnostics import error


@contextlib.contextmanager
def building_before(operation: ir.Operation) -> Generator[None]:
    """Build before `operation`, with its location; an `Error` inside is a `PassError` at it."""
    # As `before`, without a second context for each operation of a module.
    with ir.InsertionPoint(operation), operation.location:
        try:
            yield
        except PassError:
            raise
        except Error as failure:
            message = f"{operation.name}: {failure.message}"
            raise error(operation, message, notes=failure.notes, hints=failure.hints) from failure
