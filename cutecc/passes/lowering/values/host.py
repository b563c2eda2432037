"""Which side an operation is on."""

from __future__ import annotations

from cutecc.ir.mlir import ir


def is_on_device(operation: ir.Operation) -> bool:
    """Whether `operation` is in a kernel or another function of a `gpu.module`."""
    parent = operation.parent
    while parent is not None:
        if parent.operation.name == "gpu.module":
            return True
        parent = parent.operation.parent
    return False
