"""The values of an expression through cutecc's own passes, to set beside those of the wheel's lowering."""

from __future__ import annotations

from wheel_arithmetic import call
from wheel_oracle import Leaves, Written

from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.lowering.lower_comparisons import LowerComparisons
from cutecc.passes.lowering.lower_cute_types import LowerCuteTypes
from cutecc.passes.lowering.lower_pointers import LowerPointers
from cutecc.passes.lowering.partition_tiles import PartitionTiles
from cutecc.passes.lowering.unfold_layouts import UnfoldLayouts
from cutecc.passes.lowering.unfold_tensors import UnfoldTensors
from cutecc.passes.lowering.values.materialize import evaluate
from cutecc.passes.lowering.values.semantics import SEMANTICS

_PASSES = (
    *(UnfoldLayouts(), UnfoldTensors(), PartitionTiles()),
    *(LowerPointers(), LowerComparisons(), LowerCuteTypes()),
)


def values_of(module: ir.Module, written: Written, leaves: Leaves) -> Leaves:
    """The values of the dynamic leaves of an expression's results, as `wheel_oracle.values` has them.

    `module` is the text of `written`, parsed; it is rewritten. Raises `Error` for what cutecc refuses, also where a
    result is known and differs from what its type says, and `Undefined`.
    """
    for operation in walk(module, *SEMANTICS):
        # The passes do not look at results of which the type says all.
        evaluate(operation, SEMANTICS[operation.name])
    for each in _PASSES:
        each.run(module)
    (function,) = walk(module, "func.func")
    return call(function, written.operands, written.results, leaves)
