"""Members of LLVM structs, taken out and put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecc.ir.mlir import ir, llvm


def member(struct: ir.Value, *path: int) -> ir.Value:
    """The member of a struct, or of those inside it, that a path of indices leads to."""
    type: Any = struct.type
    for index in path:
        type = type.body[index]
    return llvm.extractvalue(type, struct, path)


def members(struct: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The members of a struct, which are of `types`."""
    found: list[ir.Value] = []
    for index, type in enumerate(types):
        # A product of four warps has 256: the builder takes three times as long.
        position: dict[str, ir.Attribute] = {"position": ir.DenseI64ArrayAttr.get([index])}
        found.append(ir.Operation.create("llvm.extractvalue", [type], [struct], attributes=position).result)
    return found


def with_member(struct: ir.Value, value: ir.Value, *path: int) -> ir.Value:
    """The struct, or array, with `value` where a path of indices leads."""
    return llvm.insertvalue(struct, value, path)


def with_members(struct: ir.Value, values: Sequence[ir.Value]) -> ir.Value:
    """A struct, such as one of poison, with these as its members."""
    for index, value in enumerate(values):
        struct = with_member(struct, value, index)
    return struct
