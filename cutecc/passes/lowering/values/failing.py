"""Errors of the layout algebra and of atoms, at the operation that they are about."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from cutecc.errors import Error, PassError
from cutecc.ir.building import before
from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import ir
from cutecc.passes.diagnostics import error


@contextlib.contextmanager
def building_before(operation: ir.Operation) -> Generator[None]:
    """Build before `operation`, with its location; an `Error` inside is a `PassError` at it."""
    with before(operation):
        try:
            yield
        except Error as failure:
            raise error_at(operation, failure) from failure


def error_at(operation: ir.Operation, failure: Error) -> PassError:
    """`failure` as one of a pass, at `operation`; one that says already where it is stays there, and notes this."""
    if isinstance(failure, PassError):
        return failure
    if failure.location:
        place = nearest_location(operation.location)
        notes = [*failure.notes, *([f"it is met at {place}, by {operation.name}"] if place else [])]
        return PassError(failure.message, failure.location, notes, failure.hints)
    return error(operation, f"{operation.name}: {failure.message}", notes=failure.notes, hints=failure.hints)
