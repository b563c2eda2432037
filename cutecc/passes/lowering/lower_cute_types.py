"""What values of CuTe's types are outside of the operations on them: parameters, and what loops carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import PassError
from cutecc.ir import editing
from cutecc.ir.building import after, before
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.names import matcher
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.inline_static_arguments import InlineStaticArguments
from cutecc.passes.lowering.values.host import kernels
from cutecc.passes.lowering.values.integers import poison
from cutecc.passes.lowering.values.leaves import (
    CAST,
    Carried,
    Leaves,
    carried_by,
    definition,
    is_lowered,
    pack,
    takes_leaves,
)
from cutecc.passes.registry import register

_PASSING = ("scf.*", "func.*", "cuda.*", "cf.*", "arith.select")
"""Operations that pass values on, whatever they are."""
_passes_on = matcher(_PASSING)


@register
@dataclass(frozen=True)
class LowerCuteTypes(ModulePass):
    """Pass values of CuTe's types on as LLVM structs: in parameters, in launches, and through loops and conditions.

    A tensor is a struct of its pointer and of the sizes and strides that its type does not say, nested as the type is;
    a number alone is that number. Afterwards nothing of CuTe is left. What still is, the open lowering does not know,
    or another pass should have lowered before.
    """

    name: ClassVar[str] = "lower-cute-types"

    def run(self, module: ir.Module) -> None:
        _check_parameters(module)
        leaves = Leaves()
        passing = list(walk(module, *_PASSING, inside_out=True))
        for operation in passing:
            _convert_operands(operation, leaves)
        for operation in passing:
            _convert_results(operation)
        _sweep(module)
        if left := list(walk(module, "cute.*", "cute_nvgpu.*", "lir.*")):
            raise _is_left(left)


def _check_parameters(module: ir.Module) -> None:
    """Raise `PassError` at a kernel with a parameter that carries nothing, which no code generator takes."""
    for _, kernel in kernels(module):
        for argument in kernel.regions[0].blocks[0].arguments:
            carried = carried_by(argument.type)
            if carried is not None and not carried.types:
                name = InlineStaticArguments.name
                message = f"an argument of type {argument.type} is left, which {name} drops"
                raise error(kernel, message, hints=[f"put it before {LowerCuteTypes.name}"])


def _convert_operands(operation: ir.Operation, leaves: Leaves) -> None:
    for index, operand in enumerate(operation.operands):
        if (carried := carried_by(operand.type)) is not None:
            known = leaves.of(operand)
            whole = _taken_from(known, carried)
            if whole is None:
                with before(operation):
                    whole = stored(carried, known)
            operation.operands[index] = whole


def _taken_from(leaves: Sequence[ir.Value], carried: Carried) -> ir.Value | None:
    """The value that all these leaves were taken out of, which another operation passes on in the same storage.

    Passed on as it is, a loop is seen not to change it.
    """
    taking = definition(leaves[0]) if leaves else None
    if taking is None or list(taking.results) != list(leaves) or not takes_leaves(taking, carried):
        return None
    (source,) = taking.operands
    other, passing = carried_by(source.type), definition(source)
    if other is None or other.storage != carried.storage or (passing is not None and not _passes_on(passing.name)):
        return None
    return source


def stored(carried: Carried, leaves: Sequence[ir.Value]) -> ir.Value:
    """All leaves of a value in one."""
    if carried.paths == ((),):
        return leaves[0]
    struct = poison(carried.storage)
    for path, leaf in zip(carried.paths, leaves, strict=True):
        struct = llvm.insertvalue(struct, leaf, path)
    return struct


def _convert_results(operation: ir.Operation) -> None:
    for result in operation.results:
        _convert_value(result)
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                _convert_value(argument)
    if "function_type" in operation.attributes:
        type = ir.FunctionType(operation.attributes["function_type"].value)
        inputs, results = ([_storage(each) for each in part] for part in (type.inputs, type.results))
        operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _storage(type: ir.Type) -> ir.Type:
    carried = carried_by(type)
    return carried.storage if carried else type


def _convert_value(value: ir.Value) -> None:
    """Give a result or block argument its storage's type; its users get the leaves, or the value of these."""
    old = value.type
    carried = carried_by(old)
    if carried is None:
        return
    uses = [use.owner.operation for use in value.uses]
    value.set_type(carried.storage)
    with after(value):
        leaves = [leaf_at(value, path, type) for path, type in zip(carried.paths, carried.types, strict=True)]
        packed: ir.Value | None = None
        for user in uses:
            if takes_leaves(user, carried):
                for taken, leaf in zip(user.results, leaves, strict=True):
                    taken.replace_all_uses_with(leaf)
                editing.erase(user)
                continue
            if _passes_on(user.name):
                continue
            packed = packed or pack(old, leaves)
            for index, operand in enumerate(user.operands):
                if operand == value:
                    user.operands[index] = packed


def leaf_at(value: ir.Value, path: tuple[int, ...], type: ir.Type) -> ir.Value:
    """The leaf that is at `path` in all leaves of a value in one."""
    return llvm.extractvalue(type, value, path) if path else value


_ATOM = "cute.make_atom"
_PURE = (CAST, "cute.static", _ATOM, "cute.make_tiled_copy", "cute.make_tiled_mma")
LowerCuteTypes.lowers = _PURE[1:]


def _sweep(module: ir.Module) -> None:
    """Take away what nobody uses any more: casts, and values that a type says in full."""
    for operation in reversed(list(walk(module, *_PURE))):
        if not any(True for result in operation.results for _ in result.uses):
            editing.erase(operation)


def _is_left(operations: Sequence[ir.Operation]) -> PassError:
    """The error for the first of `operations` that no pass knows, or whose atom none does, or else for the first that
    one should have taken."""
    from cutecc.passes.lookup import registered_passes

    lowered_by = {each: name for name, pass_ in registered_passes().items() for each in pass_.lowers}
    unknown = [(each, each.name) for each in operations if each.name not in lowered_by]
    # The operation of an atom is known, whatever the atom is.
    atoms = [(each, each.results[0].type) for each in operations if each.name == _ATOM]
    unknown += [(each, str(type)) for each, type in atoms if not is_lowered(type)]
    if unknown:
        operation, what = unknown[0]
        return error(
            operation,
            f"the open lowering does not know {what} yet",
            hints=["--pipeline nvidia compiles it", "cutecc coverage says what the open lowering knows"],
        )
    operation = next((each for each in operations if each.name not in _PURE), operations[0])
    name = lowered_by[operation.name]
    hint = f"put it before {LowerCuteTypes.name}" if name != LowerCuteTypes.name else "another pass uses its value"
    return error(operation, f"{operation.name} is left, which {name} lowers", hints=[hint])
