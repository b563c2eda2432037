"""Everything in shared memory gets its place, and the launch its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import Error
from cutecc.ir import editing, llvm_types
from cutecc.ir.building import at_start, before, located
from cutecc.ir.mlir import ir, llvm, nvvm
from cutecc.ir.modules import body_of
from cutecc.ir.types import AddressSpace, MemRef, Pointer, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.values.failing import building_before
from cutecc.passes.lowering.values.host import device_functions, host_functions, name_of
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.lowering.values.pointers import array_of, bytes_of, element_pointer
from cutecc.passes.registry import register

_DYNAMIC, _STATIC = "__dynamic_shmem__0", "__static_shmem__"
"""What the wheel calls the variables too, static ones with a number behind: assembly in a kernel may name them."""
_ALIGNMENT = 1024
"""Bytes, of the first byte of dynamic shared memory: what a TMA swizzle of 128 bytes asks for."""
_SHARED = 3
"""The address space, by LLVM's number."""
_PLACED = "cute.memref.alloca"
_DECLARED = ("cute.memref.alloc_smem", "cute_nvgpu.arch.alloc_smem")
_BEGIN, _GIVEN = "cute_nvgpu.arch.get_dyn_smem", "cute_nvgpu.arch.get_dyn_smem_size"
_SIZE = "cute.kernel_smem_size"


@register
@dataclass(frozen=True)
class PlaceSharedMemory(ModulePass):
    """Lay the shared memory tensors of a kernel out one behind the other, each aligned as its type says.

    They are parts of the block's dynamic shared memory. `cute.kernel_smem_size` in the host function becomes their sum,
    in bytes. A kernel whose launch says how much there is takes the first byte, `get_dyn_smem`, and reads the size from
    a register, `get_dyn_smem_size`. What `alloc_smem` allocates is static: a variable of its own, which no launch has
    to ask for.
    """

    name: ClassVar[str] = "place-shared-memory"
    lowers: ClassVar[tuple[str, ...]] = (_PLACED, *_DECLARED, _BEGIN, _GIVEN, _SIZE)

    def run(self, module: ir.Module) -> None:
        sizes: dict[str, int] = {}
        for device, kernel in device_functions(module):
            sizes[name_of(device, kernel)] = _place(device, kernel)
        for asked in [asked for function in host_functions(module) for asked in walk(function, _SIZE)]:
            name = str(asked.attributes["kernel_name"])
            if name not in sizes:
                raise error(asked, f"there is no kernel {name}")
            with before(asked):
                size = constant(sizes[name], ir.IntegerType(asked.results[0].type).width)
            editing.replace(asked, size)


def _place(device: ir.Operation, kernel: ir.Operation) -> int:
    """Place the shared memory of one kernel; how many bytes of it are dynamic."""
    leaves = Leaves()
    end = 0
    base: ir.Value | None = None
    for operation in walk(kernel, _PLACED, *_DECLARED, _BEGIN, _GIVEN):
        type = operation.results[0].type
        type_view = view(type)
        if operation.name == _PLACED and not (isinstance(type_view, MemRef) and type_view.space is AddressSpace.SMEM):
            continue
        with building_before(operation):
            if operation.name == _GIVEN:
                found = nvvm.read_ptx_sreg_dynamic_smem_size(type)
            elif operation.name in _DECLARED:
                found = _variable(device, operation)
            else:
                found = base = base or _address_of_dynamic(kernel)
            if operation.name == _PLACED:
                assert isinstance(type_view, MemRef)
                element, count = array_of(type_view.element, _count(operation))
                alignment = type_view.alignment or 1
                end = -(-end // alignment) * alignment
                found = element_pointer(found, ir.IntegerType.get_signless(8), [], [end])
                end += count * bytes_of(element)
        leaves.convert(operation, [[found]])
    leaves.settle()
    if base is not None:
        _declare(device, _DYNAMIC, "external", _ALIGNMENT, "!llvm.array<0 x i8>")
    return end


def _count(operation: ir.Operation) -> int:
    """How many elements an allocation has."""
    type_view = view(operation.results[0].type)
    count = type_view.layout.cosize if isinstance(type_view, MemRef) else operation.attributes["input"].value
    if not isinstance(count, int):
        raise Error(f"shared memory of {count} elements: how many has to be known")
    if count < 0:
        # The operation's verifier complains, and lets it pass.
        raise Error(f"shared memory of {count} elements")
    return count


def _variable(device: ir.Operation, allocation: ir.Operation) -> ir.Value:
    """The address of a variable that holds what `alloc_smem` allocates, built here."""
    type_view = view(allocation.results[0].type)
    assert isinstance(type_view, MemRef | Pointer)
    element, count = array_of(type_view.element, _count(allocation))
    declared = [each for each in _symbols(device) if each.startswith(_STATIC)]
    name = f"{_STATIC}{len(declared)}"
    _declare(device, name, "internal", type_view.alignment or 1, f"!llvm.array<{count} x {element}>")
    return _address(name)


def _address_of_dynamic(kernel: ir.Operation) -> ir.Value:
    """The address of dynamic shared memory, at the start of the kernel. It is the same for all threads."""
    with at_start(kernel.regions[0].blocks[0]), located(kernel):
        return _address(_DYNAMIC)


def _address(variable: str) -> ir.Value:
    return llvm.mlir_addressof(llvm_types.pointer(_SHARED), variable)


def _declare(device: ir.Operation, name: str, linkage: str, alignment: int, type: str) -> None:
    """Declare a variable in shared memory, where it is not declared already."""
    if name in _symbols(device):
        return
    of = ir.Type.parse(type)
    linked = ir.Attribute.parse(f"#llvm.linkage<{linkage}>")
    with at_start(device.regions[0].blocks[0]), located(ir.Location.unknown()):
        llvm.mlir_global(of, name, linked, dso_local=True, alignment=alignment, addr_space=_SHARED)


def _symbols(device: ir.Operation) -> set[str]:
    """The names of the variables of a `gpu.module`."""
    return {each.attributes["sym_name"].value for each in body_of(device) if each.name == "llvm.mlir.global"}
