"""Going through the operations of a module, safely while they are rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cutecc.ir.editing import is_erased
from cutecc.ir.mlir import ir


def walk(root: ir.Operation | ir.OpView | ir.Module, *names: str, inside_out: bool = False) -> Iterator[ir.Operation]:
    """The operations in `root`, itself included, in the order they are printed; only those called one of `names`.

    `cute.*` names a whole dialect. With `inside_out`, what is inside an operation comes before it. All are collected
    before the first is handed out, so that the loop's body may rewrite anything: operations that it adds are not
    visited, those that it erases (`cutecc.ir.editing.erase`, `replace`, or the one at hand by its own `erase`) are left
    out, with everything inside them.
    """
    wanted = matcher(names)
    found: list[tuple[ir.Operation, int]] = []
    _collect(root.operation, wanted, inside_out, 0, found)
    # The level of an operation that was erased behind our back, whose insides are gone too.
    gone: int | None = None
    for operation, level in found:
        if gone is not None and level > gone and not inside_out:
            continue
        gone = None
        if not is_erased(operation):
            yield operation
            gone = level if is_erased(operation) else None


def matcher(names: tuple[str, ...]) -> Callable[[str], bool]:
    """A test for operation names: one of `names`, where `cute.*` is every operation of a dialect; without any, all."""
    exact = {name for name in names if not name.endswith(".*")}
    dialects = tuple(name[:-1] for name in names if name.endswith(".*"))
    return lambda name: not names or name in exact or (bool(dialects) and name.startswith(dialects))


def _collect(
    operation: ir.Operation,
    wanted: Callable[[str], bool],
    inside_out: bool,
    level: int,
    found: list[tuple[ir.Operation, int]],
) -> None:
    mine = wanted(operation.name)
    if mine and not inside_out:
        found.append((operation, level))
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _collect(inner.operation, wanted, inside_out, level + 1, found)
    if mine and inside_out:
        found.append((operation, level))
