"""Launches and TMA descriptors: the operations of the `cuda` dialect."""

from __future__ import annotations

from typing import Any, cast

from cutecc.backend.host.failure import untranslatable
from cutecc.backend.host.layouts import DESCRIPTOR, Layout, aligned
from cutecc.backend.host.memory_operations import allocate, displaced, load
from cutecc.backend.host.state import Configuration, Handler, Translation
from cutecc.ir.mlir import ir
from cutecc.record.host_program import (
    AttributeName,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    ParameterWrite,
    TensorMapSite,
)

_ATTRIBUTES: dict[str, AttributeName] = {
    "cuda.launch_cfg.cluster_dim": "cluster",
    "cuda.launch_cfg.preferred_cluster_dim": "preferred_cluster",
    "cuda.launch_cfg.cooperative": "cooperative",
    "cuda.launch_cfg.programmatic_stream_serialization_allowed": "programmatic_serialization",
    "cuda.launch_cfg.programmatic_event": "programmatic_event",
    "cuda.launch_cfg.launch_completion_event": "launch_completion_event",
}


def _create(state: Translation, operation: ir.Operation) -> None:
    x, y, z, shared, grid_x, grid_y, grid_z, stream = state.operands(operation)
    state.configurations[state.result(operation)] = Configuration(
        state.build.open_block, (x, y, z), shared, (grid_x, grid_y, grid_z), stream
    )


def _configuration(state: Translation, operation: ir.Operation) -> Configuration:
    found = state.configurations.get(operation.operands[0])
    if found is None:
        raise untranslatable(operation, "chooses between launch configurations")
    return found


def _attribute(state: Translation, operation: ir.Operation) -> None:
    configuration = _configuration(state, operation)
    if configuration.block is not state.build.open_block:
        raise untranslatable(operation, "sets an attribute of a launch under a condition")
    name = _ATTRIBUTES[operation.name]
    values = [state.one(operation, value) for value in list(operation.operands)[1:]]
    configuration.attributes[name] = LaunchAttribute(name, values)


def _launch(state: Translation, operation: ir.Operation) -> None:
    configuration = _configuration(state, operation)
    *_, name = operation.attributes["callee"].value
    if name not in state.kernel_numbers:
        _add_kernel(state, operation, operation.attributes["callee"].value)
    number = state.kernel_numbers[name]
    entry = state.kernels[number]
    arguments = list(operation.operands)[1:]
    writes: list[ParameterWrite] = []
    for parameter, argument in zip(entry.parameters, arguments, strict=True):
        for value, (offset, _) in zip(state.of(operation, argument), state.layout(argument.type).numbers, strict=True):
            writes.append(ParameterWrite(parameter.offset + offset, value))
    site = LaunchSite(
        kernel=number,
        grid=configuration.grid,
        block=configuration.block_size,
        shared_bytes=configuration.shared_bytes,
        stream=configuration.stream,
        attributes=list(configuration.attributes.values()),
        parameters=writes,
    )
    status = state.build.value("i32")
    state.build.append(Instruction("launch", [], [status], launch=site))
    state.numbers[state.result(operation)] = (status,)


def _add_kernel(state: Translation, operation: ir.Operation, path: list[str]) -> None:
    kernel = _definition(state, operation, path)
    attributes = kernel.attributes
    types = cast("Any", attributes["function_type"]).value.inputs
    notes: list[Any] = list(attributes["arg_attrs"]) if "arg_attrs" in attributes else [{}] * len(types)
    parameters: list[KernelParameter] = []
    end = 0
    for index, (type_, note) in enumerate(zip(types, notes, strict=True)):
        by_value = "llvm.byval" in note
        layout: Layout = state.layout(note["llvm.byval"].value if by_value else type_)
        # Of a pointer it tells of what is pointed to.
        align = note["llvm.align"].value if by_value and "llvm.align" in note else layout.align
        if state.layout(operation.operands[1 + index].type).numbers != layout.numbers:
            raise untranslatable(operation, f"passes a struct to {path[-1]} that its parameter {index} is not")
        if layout is DESCRIPTOR and "cuda.grid_constant" not in note:
            # The stock compiler passes the address of host memory then.
            raise untranslatable(operation, f"passes {path[-1]} a TMA descriptor that is no grid constant")
        end = aligned(end, align)
        parameters.append(KernelParameter(end, layout.size, align))
        end += layout.size
    rules: Any = attributes.get("cu_attrs") or ()
    state.kernel_numbers[path[-1]] = len(state.kernels)
    state.kernels.append(
        KernelEntry(
            name=path[-1],
            parameters=parameters,
            parameter_bytes=end,
            raise_shared_limit="max_dynamic_shared_size_bytes" in rules,
            non_portable_cluster="non_portable_cluster_size_allowed" in rules,
        )
    )


def _definition(state: Translation, operation: ir.Operation, path: list[str]) -> ir.Operation:
    holder = state.symbols.get(path[0])
    for inner in holder.regions[0].blocks[0].operations if holder and len(path) == 2 else ():
        kernel = inner.operation
        if "sym_name" in kernel.attributes and kernel.attributes["sym_name"].value == path[-1]:
            return kernel
    raise untranslatable(operation, f"launches {'::'.join(path)}, which the module does not define")


def _encode_tensor_map(state: Translation, operation: ir.Operation) -> None:
    data_type, rank, address, sizes, strides, box, element_strides, *choices = operation.operands
    modes = state.constant(operation, rank)
    interleave, swizzle, l2_promotion, fill = (state.constant(operation, value) for value in choices)

    def array(pointer: ir.Value, count: int, size: int) -> list[int]:
        start = state.one(operation, pointer)
        kind = "i64" if size == 8 else "i32"
        return [state.build.effect("load", kind, displaced(state, start, size * index)) for index in range(count)]

    site = TensorMapSite(
        data_type=state.constant(operation, data_type),
        address=state.one(operation, address),
        sizes=array(sizes, modes, 8),
        strides=array(strides, modes - 1, 8),
        box=array(box, modes, 4),
        element_strides=array(element_strides, modes, 4),
        interleave=interleave,
        swizzle=swizzle,
        l2_promotion=l2_promotion,
        fill=fill,
    )
    status_result, map_result = operation.results
    destination = allocate(state, DESCRIPTOR.size, DESCRIPTOR.align)
    status = state.build.value("i32")
    state.build.append(Instruction("encode_tensor_map", [destination], [status], tensor_map=site))
    state.numbers[status_result] = (status,)
    state.numbers[map_result] = load(state, destination, DESCRIPTOR)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_ATTRIBUTES, _attribute),
    "cuda.launch_cfg.create": _create,
    "cuda.launch_ex": _launch,
    "cuda.tensor_map_encode_tiled": _encode_tensor_map,
}
