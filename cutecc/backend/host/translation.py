"""Translating a host function, operation by operation."""

from __future__ import annotations

from typing import Any

from cutecc.backend.host import control, launches, memory_operations, number_operations
from cutecc.backend.host.failure import UntranslatableError, untranslatable
from cutecc.backend.host.layouts import Layouts, PointerType, StructType
from cutecc.backend.host.pruning import pruned
from cutecc.backend.host.state import Handler, Translation
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.record.host_program import HostArgument, HostProgram, Leaf, LeafKind


def translate(module: ir.Module) -> HostProgram:
    """The host program of a module as it is after the pass `core-to-llvm-prepare`.

    The host function is the one that launches kernels. Raises `UntranslatableError`, with the user's line, for what a
    host program cannot say, and for a module in which not exactly one function launches kernels.
    """
    with plain_values():
        symbols = _symbols(module)
        hosts = [operation for operation in symbols.values() if _launches(operation)]
        if len(hosts) != 1:
            names = ", ".join(operation.attributes["sym_name"].value for operation in hosts)
            raise UntranslatableError(
                f"several functions launch kernels: {names}" if hosts else "no function of the module launches a kernel"
            )
        return _translated(hosts[0], symbols)


def launches_kernels(module: ir.Module) -> bool:
    """Whether some function of the module launches a kernel."""
    with plain_values():
        return any(_launches(operation) for operation in _symbols(module).values())


def _symbols(module: ir.Module) -> dict[str, ir.Operation]:
    operations = (view.operation for view in module.body.operations)
    return {
        operation.attributes["sym_name"].value: operation
        for operation in operations
        if "sym_name" in operation.attributes
    }


def _launches(function: ir.Operation) -> bool:
    if function.name not in ("func.func", "llvm.func"):
        return False
    found = False

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or operation.name == "cuda.launch_ex"
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _translated(function: ir.Operation, symbols: dict[str, ir.Operation]) -> HostProgram:
    blocks = function.regions[0].blocks
    if len(blocks) != 1:
        raise untranslatable(function, "branches between blocks")
    state = Translation(symbols)
    arguments: list[HostArgument] = []
    for argument in blocks[0].arguments:
        leaves = _leaves(argument.type, state.layout)
        arguments.append(HostArgument(leaves))
        state.numbers[argument] = state.build.values([leaf.type for leaf in leaves])
    count = len(state.build.types)
    end = _body(state, blocks[0])
    status = [state.one(end, value) for value in end.operands] or [state.build.constant("i32", 0)]
    body, types = pruned(state.build.finish(status), state.build.types, count)
    return HostProgram(
        function=function.attributes["sym_name"].value,
        arguments=arguments,
        types=types,
        kernels=state.kernels,
        body=body,
        allocations=state.allocations,
        strings=state.strings,
    )


def _leaves(type_: Any, layout: Layouts) -> list[Leaf]:
    """What an argument consists of. A struct that begins with a pointer is a tensor: pointer, shape, strides."""
    numbers = layout(type_).types
    if _is_tensor(type_):
        sizes = len(layout(type_.body[1].body[0]).numbers)
        return [
            Leaf("pointer" if index == 0 else "size" if index <= sizes else "stride", number)
            for index, number in enumerate(numbers)
        ]
    kind: LeafKind = "scalar"
    if isinstance(type_, PointerType):
        kind = "pointer"
    elif str(type_) == "!cuda.stream":
        kind = "stream"
    return [Leaf(kind, number) for number in numbers]


def _is_tensor(type_: Any) -> bool:
    if not isinstance(type_, StructType):
        return False
    members = type_.body
    return len(members) == 2 and isinstance(members[0], PointerType) and isinstance(members[1], StructType)


def _body(state: Translation, block: ir.Block) -> ir.Operation:
    """Translate the operations of a block but for the terminator, which is returned."""
    *operations, end = block.operations
    for view in operations:
        operation = view.operation
        handler = _HANDLERS.get(operation.name)
        if handler is None:
            raise untranslatable(operation)
        try:
            handler(state, operation)
        except UntranslatableError as failure:
            failure.location = failure.location or user_location(operation.location)
            raise
    return end.operation


_HANDLERS: dict[str, Handler] = {
    **number_operations.HANDLERS,
    **memory_operations.HANDLERS,
    **control.handlers(_body),
    **launches.HANDLERS,
}
