"""Register fragments are told apart before equal operations become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, MemRef, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.registry import register

MAKES_FRAGMENT = ("cute.mma.make_fragment", "cute.copy.make_fragment")


@register
@dataclass(frozen=True)
class NumberFragments(ModulePass):
    """Give each fragment in registers a number, so that `cse` leaves two of one type two.

    To MLIR the operations that make them only compute something. Descriptors, which they make of shared memory, do.
    """

    name: ClassVar[str] = "number-fragments"

    def run(self, module: ir.Module) -> None:
        integer = ir.IntegerType.get_signless(32)
        made = [each for each in walk(module, *MAKES_FRAGMENT) if _is_in_registers(each.results[0])]
        for number, operation in enumerate(limited(made)):
            operation.attributes["fragment"] = ir.IntegerAttr.get(integer, number)


def _is_in_registers(fragment: ir.Value) -> bool:
    tensor = view(fragment.type)
    return isinstance(tensor, MemRef) and tensor.space is AddressSpace.RMEM
