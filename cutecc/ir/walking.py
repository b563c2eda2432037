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
    # The level of an operation that was erased behind our back, whose insides are gone too.
    gone: int | None = None
    for operation, level in found:
        if gone is not None and level > gone and not inside_out:
            continue
        gone = None
        if not is_erased(operation):
            yield operation
            gone = level if is_erased(operation) else None


def _collected(root: ir.Operation, wanted: Callable[[str], bool], inside_out: bool) -> list[tuple[ir.Operation, int]]:
    """The operations, each with its level below `root`. Loops can nest deeper than Python may recurse."""
    found: list[tuple[ir.Operation, int]] = []
    open_operations = [(root, _inside(root))]
    if not inside_out and wanted(root.name):
        found.append((root, 0))
    while open_operations:
        operation, rest = open_operations[-1]
        inner = next(rest, None)
        if inner is not None:
            if not inside_out and wanted(inner.name):
                found.append((inner, len(open_operations)))
            if len(inner.regions):
                open_operations.append((inner, _inside(inner)))
            elif inside_out and wanted(inner.name):
                found.append((inner, len(open_operations)))
            continue
        open_operations.pop()
        if inside_out and wanted(operation.name):
            found.append((operation, len(open_operations)))
    return found


def _inside(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The operations right below `operation`."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
