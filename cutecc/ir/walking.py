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
        if is_erased(operation) and not inside_out:
            # It may be gone behind our back, and its insides with it.
            position = end


def _collected(root: ir.Operation, wanted: Callable[[str], bool], inside_out: bool) -> list[tuple[ir.Operation, int]]:
    """The operations, each with the position behind all that are inside it. Loops can nest deeper than Python may."""
    found: list[tuple[ir.Operation, int]] = []
    starts: list[int | None] = []
    open_operations: list[tuple[ir.Operation, Iterator[ir.Operation]]] = []

    def enter(operation: ir.Operation) -> None:
        takes = not inside_out and wanted(operation.name)
        if takes:
            found.append((operation, len(found) + 1))
        if len(operation.regions):
            starts.append(len(found) - 1 if takes else None)
            open_operations.append((operation, _inside(operation)))
        elif inside_out and wanted(operation.name):
            found.append((operation, 0))

    enter(root)
    while open_operations:
        operation, rest = open_operations[-1]
        inner = next(rest, None)
        if inner is not None:
            enter(inner)
            continue
        open_operations.pop()
        start = starts.pop()
        if start is not None:
            found[start] = (operation, len(found))
        if inside_out and wanted(operation.name):
            found.append((operation, 0))
    return found


def _inside(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The operations right below `operation`."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
