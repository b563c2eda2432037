"""Having a row write its instructions, and finding one from outside that stores nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecc.errors import Error
from cutecc.ir.editing import erase
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.types import AddressSpace
from cutecc.passes.lowering.atoms.rows import Row
from cutecc.passes.lowering.atoms.uses import Copy, Product
from cutecc.passes.lowering.values.tensors import Operand
from cutecc.passes.lowering.values.vector_accesses import Tensor


def write(row: Row[Any], use: Copy | Product, result: Operand) -> None:
    """Have `row` write a use of its atom, of whose operands `result` is stored into.

    Raises `Error` where a row from outside stores nothing into registers. Other memory is not looked at: instructions
    may write it by what a descriptor or a field says.
    """
    if row.is_own or not isinstance(result, Tensor) or result.space != AddressSpace.RMEM:
        row.write(use)
        return
    # Another value for the address has the row's uses alone.
    address = llvm.bitcast(result.pointer.type, result.pointer)
    operands = tuple(_moved(each, result.pointer, address) for each in use.operands)
    row.write(replace(use, operands=operands))
    stores = _is_stored_to(address)
    address.replace_all_uses_with(result.pointer)
    erase(address.owner)
    if not stores:
        where = "D" if isinstance(use, Product) else "the destination"
        name = row.lower.__qualname__
        raise Error(f"the row {name} stored nothing: {where} stays as it was", notes=[f"{name} is at {row.beginning}"])


def _moved(operand: Operand, pointer: ir.Value, to: ir.Value) -> Operand:
    """An operand, at `to` where it is at `pointer`."""
    is_there = isinstance(operand, Tensor) and operand.pointer == pointer
    return replace(operand, pointer=to) if is_there else operand


def _is_stored_to(pointer: ir.Value) -> bool:
    """Whether anything has `pointer`, or one made of it, that does more than load."""
    users: list[ir.Operation] = [use.owner.operation for use in pointer.uses]
    others = [user for user in users if user.name != "llvm.load"]
    return any(user.name != "llvm.getelementptr" or _is_stored_to(user.results[0]) for user in others)
