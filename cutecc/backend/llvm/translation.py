"""A lowered `gpu.module` as LLVM IR text, by the bindings' own translation."""

from __future__ import annotations

from cutecc.errors import ToolError
from cutecc.ir.bindings import load
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir

_NUMBERS = "i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
DATA_LAYOUT = f"e-p6:32:32-{_NUMBERS}"
"""Of NVPTX in LLVM 22.

Accesses that name no alignment get their type's by it; LLVM's own default aligns an i64 to four bytes.
"""
SHORT_POINTERS = f"e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-{_NUMBERS}"
"""The same with `-nvptx-short-ptr`: pointers to shared, constant and local memory take 32 bits."""


def to_llvm_ir(device: ir.Operation, data_layout: str = DATA_LAYOUT) -> str:
    """The LLVM IR of the `gpu.module` operation `device`, in the form of the wheel's LLVM.

    Rewrites `device` on the way, gives it the data layout and makes the successors of a branch distinct: give it a
    copy. Raises `ToolError` when an operation of another dialect than LLVM's is left.
    """
    check_lowered(device)
    with device.context:
        device.attributes["llvm.data_layout"] = ir.StringAttr.get(data_layout)
    return load()._mlirDialectsLLVM.translate_module_to_llvmir(device)


def check_lowered(device: ir.Operation) -> None:
    """Raise `ToolError` at the first operation that is not LLVM's: the translation would end the process over it."""

    def check(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.partition(".")[0] in ("llvm", "nvvm") or operation.name == "gpu.module":
            return ir.WalkResult.ADVANCE
        strangers.append(operation)
        return ir.WalkResult.INTERRUPT

    strangers: list[ir.Operation] = []
    with plain_values():
        device.walk(check, ir.WalkOrder.PRE_ORDER)
    if strangers:
        name = device.attributes["sym_name"].value
        raise ToolError(
            f"gpu.module @{name} cannot be translated to LLVM IR: {strangers[0].name} is left in it",
            location=user_location(strangers[0].location),
        )
