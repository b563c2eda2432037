"""The operation `cuda.binary`, which code generation puts in the place of a device module."""

from __future__ import annotations

from cutecc.backend.llvm.code import target_of
from cutecc.ir.building import at_end, before, located
from cutecc.ir.editing import erase
from cutecc.ir.mlir import cuda, ir
from cutecc.ir.modules import body_of
from cutecc.ir.version import installed_release


def device_modules(module: ir.Module) -> list[ir.Operation]:
    """The device modules of `module`, in order."""
    return [operation for operation in body_of(module.operation) if operation.name == "gpu.module"]


def replace_by_binary(device: ir.Operation, code: bytes, log: str, *, kind: str = "sass") -> None:
    """Put a `cuda.binary` of `code`, of the `kind` `sass` or `ptx`, in the place of the `gpu.module` `device`.

    It has the declarations of the kernels, and the assembler's `log`. It is what the wheel's `cuda-to-binary` leaves,
    which `cuda-to-llvm` reads: the host function refers to kernels by the two names.
    """
    name = device.attributes["sym_name"]
    bytes_type = ir.VectorType.get([len(code)], ir.IntegerType.get_signless(8))
    data = memoryview(code).cast("b")
    content = ir.DenseResourceElementsAttr.get_from_buffer(data, f"{name.value}_cuda_binary", bytes_type)
    with before(device):
        binary = cuda.BinaryOp(name, content)
    binary.attributes["cutlass.ptxas_logs"] = ir.ArrayAttr.get([ir.StringAttr.get(log)])
    binary.attributes["compute_targets"] = _compute_targets(device, kind)
    block = ir.Block.create_at_start(binary.regions[0])
    for operation in body_of(device):
        if operation.name == "llvm.func" and "gpu.kernel" in operation.attributes:
            kept = {each: operation.attributes[each] for each in operation.attributes}
            with at_end(block), located(operation):
                ir.Operation.create("llvm.func", attributes=kept, regions=1)
    erase(device)


def _compute_targets(device: ir.Operation, kind: str) -> ir.Attribute:
    """What the wheel's code generation has told the host of, which older releases do not write on the `gpu.module`."""
    if "compute_targets" in device.attributes:
        return device.attributes["compute_targets"]
    target, _ = target_of(device)
    text = installed_release().binary_targets.format(kind=kind, chip=f"sm_{target.major}{target.minor}")
    return ir.Attribute.parse(text)
