"""Whose operation an intrinsic is that LLVM has no instruction for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecc.backend.llvm.legalize import mended
from cutecc.backend.llvm.newer_operations import replace_newer_operations
from cutecc.backend.llvm.translation import to_llvm_ir
from cutecc.errors import ToolError
from cutecc.ir.building import at_end
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir

CALLED = re.compile(r"@(llvm\.[\w.]+)\(")


def unsupported(device: ir.Operation, names: Iterable[str], *, later_than: int | None = None) -> ToolError:
    """The error for the intrinsics called `names`, at the first operation of `device` that becomes one of them.

    LLVM has no instruction for them, or only one `later_than` the chosen PTX version, times 10.
    """
    wanted = set(names)
    found: list[tuple[ir.Operation, str]] = []
    seen: dict[str, str | None] = {}

    def look(operation: ir.Operation) -> ir.WalkResult:
        if len(operation.regions) or len(operation.successors):
            return ir.WalkResult.ADVANCE
        kind = _kind(operation)
        if kind not in seen:
            seen[kind] = _becomes(operation, wanted)
        if name := seen[kind]:
            found.append((operation, name))
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    device.walk(look, ir.WalkOrder.PRE_ORDER)
    hints = ["--backend nvvm may have one"]
    what = found[0][0].name if found else ", ".join(sorted(wanted))
    message = f"LLVM 22 has no instruction for {what}"
    if later_than is not None:
        message = f"LLVM 22 cannot select an instruction for {what} in PTX {later_than / 10}, only in a later version"
        hints = ["the version is the one that the module's target asks for, or the newest that ptxas takes"]
    if not found:
        return ToolError(f"{message} on this target", hints=hints)
    operation, name = found[0]
    location = user_location(operation.location)
    return ToolError(f"{message}: it becomes the intrinsic {name}", location=location, hints=hints)


def _kind(operation: ir.Operation) -> str:
    """What all operations have in common that become the same intrinsic."""
    types = [str(value.type) for value in (*operation.operands, *operation.results)]
    attributes = [f"{name}={operation.attributes[name]}" for name in operation.attributes]
    return f"{operation.name} {types} {attributes}"


def _becomes(operation: ir.Operation, wanted: set[str]) -> str | None:
    """Which of the intrinsics `wanted` the translation makes of `operation`."""
    dialect, _, name = operation.name.partition(".")
    if operation.name == "llvm.call_intrinsic":
        called = operation.attributes["intrin"].value
        return called if called in wanted else None
    if dialect == "llvm":
        intrinsic = f"llvm.{name.removeprefix('intr.')}."
        return next((each for each in wanted if name.startswith("intr.") and each.startswith(intrinsic)), None)
    return next(iter(wanted & _intrinsics(operation)), None) if dialect == "nvvm" else None


def _intrinsics(operation: ir.Operation) -> set[str]:
    """The intrinsics that `operation`, of the NVVM dialect, becomes: alone in a function, which is translated."""
    parameters = ", ".join(f"%{index}: {value.type}" for index, value in enumerate(operation.operands))
    text = f"gpu.module @alone {{ llvm.func @alone({parameters}) {{ llvm.return }} }}"
    # What the module holds lives as long as the module.
    module = ir.Module.parse(text, operation.context)
    device = module.body.operations[0].operation
    block = device.regions[0].blocks[0].operations[0].operation.regions[0].blocks[0]
    values: list[ir.Value] = list(block.arguments)
    with at_end(block):
        for index, operand in enumerate(operation.operands):
            # Some intrinsics take constants alone.
            if isinstance(operand.owner, ir.Operation) and operand.owner.name == "llvm.mlir.constant":
                values[index] = operand.owner.clone().operation.results[0]
        copy = operation.clone().operation
    for index, value in enumerate(values):
        copy.operands[index] = value
    replace_newer_operations(device)
    return set(CALLED.findall(mended(to_llvm_ir(device))))
