"""Where the wheel's conversion goes on from a half-lowered module, its casts and ours meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.lower_cute_types import leaf_at, stored
from cutecc.passes.lowering.values.leaves import CAST, Carried, carried_by
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class JoinCasts(ModulePass):
    """Write casts between a value's leaves and its struct, through the CuTe type that both stand for, as LLVM's.

    The passes of `open` leave casts between values of CuTe's types and their leaves, the wheel's `convert-cute-to-core`
    casts between these values and structs. With this pass behind it, the `nvidia` pipeline goes on from a module that
    some of the passes of `open` have lowered: `cutecc diff-test` looks so for the pass that goes wrong.
    """

    name: ClassVar[str] = "join-casts"

    def run(self, module: ir.Module) -> None:
        for cast in limited(walk(module, CAST)):
            if len(cast.results) == 1 and (carried := carried_by(cast.results[0].type)):
                _join(cast, carried)


def _join(cast: ir.Operation, carried: Carried) -> None:
    """Give the casts of `cast`'s value what it is made of, as they want it."""
    given = list(cast.operands)
    given_types = tuple(value.type for value in given)
    for use in list(cast.results[0].uses):
        user = use.owner.operation
        if user.name != CAST:
            continue
        wanted = tuple(result.type for result in user.results)
        with ir.InsertionPoint(user), user.location:
            if wanted == given_types:
                values = given
            elif given_types == (carried.storage,) and wanted == carried.types:
                pairs = zip(carried.paths, carried.types, strict=True)
                values = [leaf_at(given[0], path, type) for path, type in pairs]
            elif given_types == carried.types and wanted == (carried.storage,):
                values = [stored(carried, given)]
            else:
                continue
        editing.replace(user, values)
    if not any(True for _ in cast.results[0].uses):
        editing.erase(cast)
