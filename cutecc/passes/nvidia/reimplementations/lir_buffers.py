"""What becomes of `lir.allocate_buffer`."""

from __future__ import annotations

from typing import Any

from cutecc.ir.mlir import ir
from cutecc.passes.nvidia.reimplementations.lir_builder import create, integer
from cutecc.passes.nvidia.reimplementations.lir_layouts import Buffer


def can_allocate(operation: Any) -> bool:
    """Whether the memory of a `lir.allocate_buffer` is known."""
    buffer = Buffer.parse(str(operation.results[0].type))
    if buffer is None:
        return False
    return buffer.space == "rmem" or (buffer.space in ("smem", "tmem") and buffer.bytes_aligned > 0)


def allocate(operation: Any) -> list[Any]:
    """The value that replaces a `lir.allocate_buffer`.

    Registers become a `cute.memref.alloca`, aligned to its size; shared and tensor memory are left to
    `lir-static-memory-allocation`, in bytes and columns.
    """
    old = operation.results[0].type
    buffer = Buffer.parse(str(old))
    assert buffer is not None
    if buffer.space == "rmem":
        aligned = ir.Type.parse(buffer.memref(1 << (buffer.register_bytes - 1).bit_length()))
        value = create("cute.memref.alloca", result=aligned)
        return [value if aligned == old else create("builtin.unrealized_conversion_cast", value, result=old)]
    if buffer.space == "smem":
        memory = create(
            "lir.static_alloc_smem",
            result=f"!cute.ptr<i8, smem, align<{buffer.bytes_aligned}>>",
            num=integer(32, buffer.shared_bytes),
        )
    else:
        attributes = {"is2cta": ir.UnitAttr.get()} if "is2cta" in operation.attributes else {}
        memory = create(
            "lir.static_alloc_tmem",
            result=f"!cute.ptr<i32, tmem, align<{buffer.bytes_aligned}>>",
            columns=integer(32, buffer.tensor_columns),
            **attributes,
        )
    iterator = create("cute.recast_iter", memory, result=buffer.pointer)
    return [create("cute.make_view", iterator, result=old)]
