"""What can be taken out of a module, or made simpler in it: the kinds of edits of operations.

Each kind of edit has *sites* in a module, numbered from 0 in the order of the text. Editing takes a set of them. What
comes of it may be invalid, which MLIR's verifier says.
"""

from __future__ import annotations

from collections.abc import Collection

from cutecc.ir.mlir import ir
from cutecc.workbench.reduction.attributes import ATTRIBUTES
from cutecc.workbench.reduction.control_flow import CONTROL_FLOW
from cutecc.workbench.reduction.placeholders import Kind, is_placeholder, operations_of, sweep
from cutecc.workbench.reduction.removal import REMOVAL, REPLACEMENT
from cutecc.workbench.reduction.slots import SIGNATURES

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*REMOVAL, *CONTROL_FLOW, *REPLACEMENT, *SIGNATURES, *ATTRIBUTES)}
"""In the order in which they are tried."""


def count_operations(module: ir.Module) -> int:
    """How many operations a module holds, without itself and the placeholders."""
    return sum(not is_placeholder(each) for each in operations_of(module))


def count_sites_of(module: ir.Module, kind: str) -> int:
    """How many sites a kind of edit has in a module."""
    return len(KINDS[kind].sites(module))


def edit(module: ir.Module, kind: str, chosen: Collection[int]) -> ir.Module:
    """What comes of `module`, which changes, by an edit to some of its sites. MLIR has verified it.

    Raises `ir.MLIRError`, `ValueError`, `RuntimeError` or `IndexError` for what cannot be done, or is invalid.
    """
    chosen_kind = KINDS[kind]
    chosen_kind.apply(module, chosen_kind.sites(module), chosen)
    if chosen_kind.incomplete:
        module = ir.Module.parse(module.operation.get_asm(print_generic_op_form=True))
    sweep(module)
    module.operation.verify()
    return module
