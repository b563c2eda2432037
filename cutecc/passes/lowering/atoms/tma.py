"""Atoms of Hopper's tensor memory accelerator: boxes of a tensor, by a descriptor."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom
from cutecc.passes.lowering.atoms.table import copies, holds
from cutecc.passes.lowering.values import llvm_types
from cutecc.passes.lowering.values.descriptors import DESCRIPTOR
from cutecc.passes.lowering.values.loops import only_if
from cutecc.passes.lowering.values.memory import Tensor
from cutecc.passes.lowering.values.tensors import Coordinates

_SHARED, _CLUSTER = 3, 7
"""Address spaces, by LLVM's numbers: of a block, and of its cluster."""

holds(
    *(f"non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    state=(("tma_desc", DESCRIPTOR),),
)


@copies(
    "tma_load",
    state=(("tma_desc", "!llvm.ptr"), ("tma_bar", "i32"), ("mcast_mask", "i16"), ("cache_policy", "i64")),
    with_fields=True,
)
def load_box(atom: CopyAtom, source: Coordinates, destination: Tensor, fields: Sequence[ir.Value]) -> None:
    """`cp.async.bulk.tensor`: a box of a tensor into shared memory; the barrier counts its bytes."""
    descriptor, barrier, receivers, policy = fields
    shared = llvm_types.pointer(_SHARED)
    many = bool(atom.parameters.get("mcast"))
    with _one_thread():
        pointer = ir.Operation.create("llvm.inttoptr", [shared], [barrier]).result
        to = destination.address(0)
        if many:
            to = ir.Operation.create("llvm.addrspacecast", [llvm_types.pointer(_CLUSTER)], [to]).result
        place = source.first
        attributes: dict[str, Any] = {
            "isCTAOnly": ir.BoolAttr.get(not many),
            "mode": ir.Attribute.parse("#nvvm.tma_load_mode<tile>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), 1, 0, int(many), 1, 0]),
        }
        operands = [to, descriptor, *place, pointer, *([receivers] if many else []), policy]
        ir.Operation.create("nvvm.cp.async.bulk.tensor.shared.cluster.global", [], operands, attributes=attributes)


@copies("tma_store", state=(("tma_desc", "!llvm.ptr"), ("cache_policy", "i64")), with_fields=True)
def store_box(atom: CopyAtom, source: Tensor, destination: Coordinates, fields: Sequence[ir.Value]) -> None:
    """`cp.async.bulk.tensor`: a box from shared memory into a tensor."""
    _send("nvvm.cp.async.bulk.tensor.global.shared.cta", [1, 0], {}, source, destination, fields)


@copies("tma_reduce", state=(("tma_desc", "!llvm.ptr"), ("cache_policy", "i64")), with_fields=True)
def reduce_box(atom: CopyAtom, source: Tensor, destination: Coordinates, fields: Sequence[ir.Value]) -> None:
    """`cp.reduce.async.bulk.tensor`: a box from shared memory is added to a tensor, or what else its kind says."""
    kind = atom.parameters["reduction"].lower()
    attributes = {"redKind": ir.Attribute.parse(f"#nvvm.tma_redux_kind<{kind}>")}
    _send("nvvm.cp.async.bulk.tensor.reduce", [1], attributes, source, destination, fields)


def _send(
    name: str,
    segments: Sequence[int],
    attributes: dict[str, Any],
    source: Tensor,
    destination: Coordinates,
    fields: Sequence[ir.Value],
) -> None:
    descriptor, policy = fields
    with _one_thread():
        place = destination.first
        attributes |= {
            "mode": ir.Attribute.parse("#nvvm.tma_store_mode<tile>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), *segments]),
        }
        operands = [descriptor, source.address(0), *place, policy]
        ir.Operation.create(name, [], operands, attributes=attributes)


@contextmanager
def _one_thread() -> Generator[None]:
    """Build what one thread of the warp does."""
    elected = ir.Operation.create("nvvm.elect.sync", [ir.IntegerType.get_signless(1)]).result
    with only_if(elected):
        yield
