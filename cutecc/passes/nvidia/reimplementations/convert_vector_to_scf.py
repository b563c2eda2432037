"""The wheel's `convert-vector-to-scf`, upstream MLIR's pass of that name, where memory is not a memref."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir, rewrite
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.reimplementations.unmodelled import refuse
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class ConvertVectorToScf(ModulePass):
    """Fold and gather constants; refuse a module with vector transfers.

    Upstream's patterns rewrite `vector.transfer_read` and `transfer_write` of memrefs and tensors into loops. The wheel
    has no memref dialect, so what is left of the pass is its greedy driver.
    """

    name: ClassVar[str] = "convert-vector-to-scf"
    provider: ClassVar[Provider] = "reimplementation"

    full_unroll: bool = False
    """Unroll the loops over transfers; without transfers there are none."""
    lower_tensors: bool = False
    """Lower transfers of tensors too; as above."""
    lower_scalable: bool = False
    """Lower scalable vectors too; as above."""
    target_rank: int = 1
    """The rank of vectors that transfers are lowered to; as above."""

    def run(self, module: ir.Module) -> None:
        refuse(module, self.name, {"vector.transfer_read", "vector.transfer_write"})
        rewrite.apply_patterns_and_fold_greedily(module, rewrite.RewritePatternSet().freeze())
