"""Arguments of a kernel whose type is their whole value go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.ir import editing
from cutecc.ir.building import at_start, before, located
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.host import host_functions, kernels, name_of
from cutecc.passes.lowering.values.leaves import carried_by, pack
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class InlineStaticArguments(ModulePass):
    """Drop kernel arguments whose type says all, such as a static layout or a tiled copy, from kernel and launch.

    Inside, `cute.static` makes them.
    """

    name: ClassVar[str] = "inline-static-arguments"

    def run(self, module: ir.Module) -> None:
        kept: dict[str, list[bool]] = {}
        for device, kernel in kernels(module):
            kept[name_of(device, kernel)] = _inline(kernel)
        for function in host_functions(module):
            for launch in walk(function, "cuda.launch_ex"):
                keeps = kept.get(str(launch.attributes["callee"]))
                if keeps is not None and not all(keeps):
                    _drop(launch, keeps)


def _inline(kernel: ir.Operation) -> list[bool]:
    """Take static arguments out of a kernel; for each one whether it stays."""
    block = kernel.regions[0].blocks[0]
    carried = [carried_by(argument.type) for argument in block.arguments]
    keeps = [each is None or bool(each.types) for each in carried]
    with at_start(block), located(kernel):
        for argument, stays in zip(block.arguments, keeps, strict=True):
            if not stays:
                argument.replace_all_uses_with(pack(argument.type, []))
    for index in reversed(range(len(keeps))):
        if not keeps[index]:
            block.erase_argument(index)
    type = ir.FunctionType(kernel.attributes["function_type"].value)
    inputs = [each for each, stays in zip(type.inputs, keeps, strict=True) if stays]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, type.results))
    if "arg_attrs" in kernel.attributes:
        attributes = [each for each, stays in zip(kernel.attributes["arg_attrs"], keeps, strict=True) if stays]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    return keeps


def _drop(launch: ir.Operation, keeps: list[bool]) -> None:
    configuration, *arguments = launch.operands
    operands = [configuration, *(each for each, stays in zip(arguments, keeps, strict=True) if stays)]
    attributes: dict[str, Any] = {name: launch.attributes[name] for name in launch.attributes}
    with before(launch):
        new = ir.Operation.create(launch.name, [each.type for each in launch.results], operands, attributes=attributes)
    editing.replace(launch, list(new.results))
