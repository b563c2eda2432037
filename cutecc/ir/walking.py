"""Going through the operations of a module, safely while they are rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cutecc.ir.editing import is_erased
from cutecc.ir.mlir import ir
from cutecc.ir.names import check_names, matcher


def walk(root: ir.Operation | ir.OpView | ir.Module, *names: str, inside_out: bool = False) -> Iterator[ir.Operation]:
    """The operations in `root`, itself included, in the order they are printed; only those called one of `names`.

    `cute.*` names a whole dialect. With `inside_out`, what is inside an operation comes before it. All are collected
    before the first is handed out, so that the loop's body may rewrite anything: operations that it adds are not
    visited, those that it erases by `cutecc.ir.editing` are left out, with everything inside them. Raises `UsageError`
    for a name that no operation can have.
    """
    check_names(names)
    found = _collected(root.operation, matcher(names), inside_out)
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
