"""Which side of a module operations are on."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.ir.mlir import ir
from cutecc.ir.modules import body_of

_FUNCTIONS = ("cuda.kernel", "gpu.func", "func.func")


def device_modules(module: ir.Module) -> Iterator[ir.Operation]:
    """The `gpu.module`s of a module."""
    return (operation for operation in list(body_of(module.operation)) if operation.name == "gpu.module")


def device_functions(module: ir.Module) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Kernels, and other functions that run on the device, each behind the `gpu.module` that it is in."""
    for device in device_modules(module):
        for operation in list(body_of(device)):
            if operation.name in _FUNCTIONS:
                yield device, operation


def kernels(module: ir.Module) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Of these, what the host launches: `cuda.kernel`, and a function that the experimental API has before 4.8."""
    for device, function in device_functions(module):
        if function.name == "cuda.kernel" or "gpu.kernel" in function.attributes:
            yield device, function


def host_functions(module: ir.Module) -> Iterator[ir.Operation]:
    """Functions that run on the host."""
    return (operation for operation in list(body_of(module.operation)) if operation.name == "func.func")


def name_of(device: ir.Operation, function: ir.Operation) -> str:
    """What a launch calls a kernel: `@kernels::@add`."""
    return f"@{device.attributes['sym_name'].value}::@{function.attributes['sym_name'].value}"


def is_on_device(operation: ir.Operation) -> bool:
    """Whether `operation` is in a kernel or another function of a `gpu.module`."""
    parent = operation.parent
    while parent is not None:
        if parent.operation.name == "gpu.module":
            return True
        parent = parent.operation.parent
    return False
