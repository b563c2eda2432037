"""Where the wheel's conversion goes on from a half-lowered module, its casts and ours meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.lower_cute_types import leaf_at, stored
from cutecc.passes.lowering.values.leaves import CAST, carried_by, definition
from cutecc.passes.registry import register
from cutecc.passes.rewriting import Rewriter, rewrite, rewrites


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
        rewrite(module, [_join, _erase_unused])


@rewrites(CAST)
def _join(user: ir.Operation, rewriter: Rewriter) -> None:
    """Give a cast what the value is made of that it casts, as it wants it."""
    cast = definition(user.operands[0]) if len(user.operands) == 1 else None
    carried = carried_by(user.operands[0].type) if cast is not None and cast.name == CAST else None
    if cast is None or carried is None or len(cast.results) != 1:
        return
    given = list(cast.operands)
    given_types, wanted = (tuple(value.type for value in values) for values in (given, user.results))
    if wanted == given_types:
        rewriter.replace(user, given)
    elif given_types == (carried.storage,) and wanted == carried.types:
        rewriter.replace(
            user, [leaf_at(given[0], path, type) for path, type in zip(carried.paths, wanted, strict=True)]
        )
    elif given_types == carried.types and wanted == (carried.storage,):
        rewriter.replace(user, stored(carried, given))


@rewrites(CAST)
def _erase_unused(cast: ir.Operation, rewriter: Rewriter) -> None:
    if len(cast.results) == 1 and carried_by(cast.result.type) and not any(True for _ in cast.result.uses):
        rewriter.erase(cast)
