"""Every tensor in shared memory gets its place, and the launch its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import Error
from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, MemRef, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.values.arithmetic import constant
from cutecc.passes.lowering.values.host import device_functions, host_functions, name_of
from cutecc.passes.lowering.values.leaves import Leaves, pointer_type
from cutecc.passes.lowering.values.pointers import element_pointer
from cutecc.passes.registry import register

_VARIABLE = "__dynamic_shmem__0"
"""What the wheel calls it too: assembly in a kernel may name it."""
_ALIGNMENT = 1024
"""Bytes, of the first byte of dynamic shared memory: what a TMA swizzle of 128 bytes asks for."""
_ALLOCATIONS = ("cute.memref.alloca", "cute.memref.alloc_smem", "cute_nvgpu.arch.get_dyn_smem")
_SIZE = "cute.kernel_smem_size"


@register
@dataclass(frozen=True)
class PlaceSharedMemory(ModulePass):
    """Lay the shared memory tensors of a kernel out one behind the other, each aligned as its type says.

    They are parts of the block's dynamic shared memory. `cute.kernel_smem_size` in the host function becomes their sum,
    in bytes.
    """

    name: ClassVar[str] = "place-shared-memory"
    lowers: ClassVar[tuple[str, ...]] = (*_ALLOCATIONS, _SIZE)

    def run(self, module: ir.Module) -> None:
        sizes: dict[str, int] = {}
        for device, kernel in device_functions(module):
            sizes[name_of(device, kernel)] = _place(device, kernel)
        asking = [asked for function in host_functions(module) for asked in walk(function, "cute.kernel_smem_size")]
        for asked in asking:
            name = str(asked.attributes["kernel_name"])
            if name not in sizes:
                raise error(asked, f"there is no kernel {name}")
            with ir.InsertionPoint(asked), asked.location:
                size = constant(sizes[name], ir.IntegerType(asked.results[0].type).width)
            editing.replace(asked, size)


def _place(device: ir.Operation, kernel: ir.Operation) -> int:
    """Place the shared memory of one kernel; its size in bytes."""
    leaves = Leaves()
    end = 0
    base: ir.Value | None = None
    for allocation in walk(kernel, *_ALLOCATIONS):
        type_view = view(allocation.results[0].type)
        if isinstance(type_view, MemRef) and type_view.space is not AddressSpace.SMEM:
            continue
        if base is None:
            base = _base(device, kernel)
        place = base
        if isinstance(type_view, MemRef):
            try:
                size = _bytes(type_view)
            except Error as failure:
                raise error(allocation, failure.message) from failure
            alignment = type_view.alignment or 1
            end = -(-end // alignment) * alignment
            with ir.InsertionPoint(allocation), allocation.location:
                place = element_pointer(base, ir.IntegerType.get_signless(8), [], [end])
            end += size
        leaves.replace(allocation, [[place]])
    return end


def _bytes(tensor: MemRef) -> int:
    size = tensor.layout.cosize
    if not isinstance(size, int):
        raise Error(f"shared memory of {size} elements: how many has to be known")
    return -(-size * tensor.element.bits // 8)


def _base(device: ir.Operation, kernel: ir.Operation) -> ir.Value:
    """The address of dynamic shared memory, at the start of the kernel. It is the same for all threads."""
    _declare(device)
    pointer = pointer_type(view(ir.Type.parse("!cute.ptr<i8, smem>")))  # pyright: ignore[reportArgumentType]
    with ir.InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]), kernel.location:
        name: dict[str, Any] = {"global_name": ir.FlatSymbolRefAttr.get(_VARIABLE)}
        return ir.Operation.create("llvm.mlir.addressof", [pointer], attributes=name).result


def _declare(device: ir.Operation) -> None:
    block = device.regions[0].blocks[0]
    for operation in block.operations:
        if operation.operation.name == "llvm.mlir.global" and operation.attributes["sym_name"].value == _VARIABLE:
            return
    text = (
        f"llvm.mlir.global external @{_VARIABLE}() "
        f"{{addr_space = 3 : i32, alignment = {_ALIGNMENT} : i64, dso_local}} : !llvm.array<0 x i8> loc(unknown)"
    )
    with ir.InsertionPoint.at_block_begin(block), device.location:
        declared = ir.Operation.parse(text)
        ir.InsertionPoint.at_block_begin(block).insert(declared)
