"""What the host function asks for when it launches a kernel: dynamic shared memory, where it is a constant."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir

_DYNAMIC_SHARED_FIELD = 2
"""The field of the launch configuration, which in the lowered module is the `CUlaunchConfig`-like structure
{grid[3], block[3], i64 dynamic shared bytes, stream, attributes, number of attributes}."""


def dynamic_shared_bytes(module: ir.Module) -> dict[str, int | None]:
    """The dynamic shared memory, in bytes per block, that each kernel is launched with.

    `module` is the lowered module before code generation, where the host function fills a launch configuration in
    memory and passes it to `cuda.launch_ex`. A kernel's value is `None` when it is computed from the arguments, when
    two launches of it differ, or when the configuration is written in a way not understood here: never a guess.
    Kernels that nothing launches are absent.
    """
    found: dict[str, set[int | None]] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "cuda.launch_ex":
            found.setdefault(_kernel_name(operation), set()).add(_shared_bytes(operation))
        return ir.WalkResult.ADVANCE

    with plain_values():
        module.operation.walk(visit)
    return {kernel: values.pop() if len(values) == 1 else None for kernel, values in found.items()}


def _kernel_name(launch: ir.Operation) -> str:
    return launch.attributes["callee"].value[-1]


class _NotUnderstood(Exception):
    """The configuration is used in a way that this file does not follow."""


def _shared_bytes(launch: ir.Operation) -> int | None:
    try:
        holder = _defining(
            _defining(launch.operands[0], "builtin.unrealized_conversion_cast").operands[0], "llvm.alloca"
        )
        stores = {store for pointer in _configuration(holder) for store in _field_stores(pointer)}
        if len(stores) != 1:
            return None
        value = _defining(stores.pop().operands[0], "llvm.mlir.constant").attributes["value"]
    except _NotUnderstood:
        return None
    return int(value.value) if isinstance(value, ir.IntegerAttr) else None


def _configuration(holder: ir.Operation) -> Iterator[ir.Value]:
    """Every pointer to the structure that `holder`, an array of one pointer, holds: the first one and its reloads."""
    for slot in _users(holder.results[0]):
        if slot.name == "builtin.unrealized_conversion_cast":
            continue
        if slot.name != "llvm.getelementptr" or _constant_indices(slot) != (0, 0):
            raise _NotUnderstood
        for user in _users(slot.results[0]):
            if user.name == "llvm.store" and user.operands[1] == slot.results[0]:
                yield _defining(user.operands[0], "llvm.alloca").results[0]
            elif user.name == "llvm.load":
                yield user.results[0]
            else:
                raise _NotUnderstood


def _field_stores(pointer: ir.Value) -> Iterator[ir.Operation]:
    """The stores to the field for dynamic shared memory, through one pointer to the structure."""
    for user in _users(pointer):
        if user.name == "llvm.store" and user.operands[0] == pointer:
            continue  # Into the holder, where `_configuration` finds it again.
        if user.name != "llvm.getelementptr":
            raise _NotUnderstood
        indices = _constant_indices(user)
        if len(indices) < 2 or indices[0] != 0:
            raise _NotUnderstood
        if indices[1] != _DYNAMIC_SHARED_FIELD:
            continue
        for access in _users(user.results[0]):
            if access.name == "llvm.store" and access.operands[1] == user.results[0]:
                yield access
            elif access.name != "llvm.load":
                raise _NotUnderstood


def _constant_indices(element: ir.Operation) -> tuple[int, ...]:
    """The indices of a `getelementptr` without dynamic ones."""
    if len(element.operands) != 1:
        raise _NotUnderstood
    return tuple(int(index) for index in element.attributes["rawConstantIndices"])


def _users(value: ir.Value) -> Iterator[ir.Operation]:
    return (use.owner.operation for use in value.uses)


def _defining(value: ir.Value, name: str) -> ir.Operation:
    if not isinstance(value.owner, ir.Block) and value.owner.operation.name == name:
        return value.owner.operation
    raise _NotUnderstood
