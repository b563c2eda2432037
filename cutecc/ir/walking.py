"""Going through the operations of a module, safely while they are rewritten."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from cutecc.ir.editing import is_erased
from cutecc.ir.mlir import ir, rewrite
from cutecc.ir.names import check_names, matcher


def walk(root: ir.Operation | ir.OpView | ir.Module, *names: str, inside_out: bool = False) -> Iterator[ir.Operation]:
    """The operations in `root`, itself included, in the order they are printed; only those called one of `names`.

    `cute.*` names a whole dialect. With `inside_out`, what is inside an operation comes before it. All are collected
    before the first is handed out, so that the loop's body may rewrite anything: operations that it adds are not
    visited, those that it erases by `cutecc.ir.editing` are left out, with everything inside them. Raises `UsageError`
    for a name that no operation can have.
    """
    check_names(names)
    simple = _without_regions(root.operation, names)
    found = _collected(root.operation, matcher(names), inside_out) if simple is None else simple
    position = 0
    while position < len(found):
        operation, end = found[position]
        position += 1
        if not is_erased(operation):
            yield operation
            if end == position or not is_erased(operation):
                continue
        # It may be gone behind our back, and its insides with it.
        position = end


def _without_regions(root: ir.Operation, names: tuple[str, ...]) -> list[tuple[ir.Operation, int]] | None:
    """The same of names that are few among many: found by MLIR itself, ten times as fast as by asking each operation.

    `None` where it would not be the same: MLIR's driver leaves the root and unreachable blocks out, and comes to
    operations that have regions in another order.
    """
    if not names or root.name in names or any(name.endswith(".*") for name in names) or not _is_structured(root):
        return None
    if root.context.allow_unregistered_dialects:
        # What an operation that nobody knows has is anybody's guess.
        return None
    found: list[ir.Operation] = []
    stray = False

    def collect(view: Any, rewriter: Any) -> bool:
        found.append(view.operation)
        return True  # no match

    def see(view: Any, rewriter: Any) -> bool:
        nonlocal stray
        stray = stray or _has_blocks(view.operation)
        return True

    patterns = rewrite.RewritePatternSet()
    for name in dict.fromkeys(names):
        patterns.add(name, collect)
    for name in _MAY_HAVE_BLOCKS:
        patterns.add(name, see)
    rewrite.walk_and_apply_patterns(root, patterns.freeze())
    if stray or any(len(operation.regions) for operation in found):
        return None
    return [(operation, position) for position, operation in enumerate(found, start=1)]


_MAY_HAVE_BLOCKS = ("scf.execute_region", "gpu.launch", "gpu.all_reduce", "lir.atomic_generic", "lir.warp_reduce")
"""Of what the wheel's dialects have, all that may have more than one block in a region, beside functions."""
_HOLDERS = ("builtin.module", "gpu.module")


def _is_structured(root: ir.Operation) -> bool:
    """Whether no function has more than one block: MLIR's driver does not survive those of which a branch is erased."""
    if root.name in _HOLDERS:
        return all(_is_structured(each.operation) for block in root.regions[0].blocks for each in block.operations)
    return not _has_blocks(root)


def _has_blocks(operation: ir.Operation) -> bool:
    """Whether any of its regions has more than one block."""
    return any(len(list(itertools.islice(region.blocks, 2))) > 1 for region in operation.regions)


def _collected(root: ir.Operation, wanted: Callable[[str], bool], inside_out: bool) -> list[tuple[ir.Operation, int]]:
    """The operations, each with the position behind all that are inside it."""
    found: list[ir.Operation] = []
    on = ir.WalkResult.ADVANCE

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if wanted(operation.name):
            found.append(operation)
        return on

    # The bindings' own walk is twice as fast as one over Python's objects.
    root.walk(collect, ir.WalkOrder.POST_ORDER if inside_out else ir.WalkOrder.PRE_ORDER)
    if inside_out:
        return [(operation, position + 1) for position, operation in enumerate(found)]
    return [
        (operation, position + (_count(operation, wanted) if len(operation.regions) else 1))
        for position, operation in enumerate(found)
    ]


def _count(root: ir.Operation, wanted: Callable[[str], bool]) -> int:
    count = 0

    def add(operation: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += wanted(operation.name)
        return ir.WalkResult.ADVANCE

    root.walk(add, ir.WalkOrder.PRE_ORDER)
    return count
