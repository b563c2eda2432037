"""Atoms of Hopper's tensor memory accelerator: boxes of a tensor, by a descriptor."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.passes.lowering.atoms.table import Copy, State, copies, holds
from cutecc.passes.lowering.values import llvm_types
from cutecc.passes.lowering.values.descriptors import DESCRIPTOR
from cutecc.passes.lowering.values.loops import only_if

_SHARED, _CLUSTER = 3, 7
"""Address spaces, by LLVM's numbers: of a block, and of its cluster."""

holds(
    *(f"non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    state=(("tma_desc", DESCRIPTOR),),
)


@copies(
    "tma_load",
    state=(("tma_desc", "!llvm.ptr"), ("tma_bar", "i32"), ("mcast_mask", "i16"), ("cache_policy", "i64")),
)
def load_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box of a tensor into shared memory; the barrier counts its bytes."""
    fields = copy.fields
    many = bool(copy.atom.parameters.get("mcast"))
    with one_thread():
        barrier = ir.Operation.create("llvm.inttoptr", [llvm_types.pointer(_SHARED)], [fields["tma_bar"]]).result
        to = copy.destination.address(0)
        if many:
            to = ir.Operation.create("llvm.addrspacecast", [llvm_types.pointer(_CLUSTER)], [to]).result
        place = copy.place
        attributes: dict[str, Any] = {
            "isCTAOnly": ir.BoolAttr.get(not many),
            "mode": ir.Attribute.parse("#nvvm.tma_load_mode<tile>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), 1, 0, int(many), 1, 0]),
        }
        receivers = [fields["mcast_mask"]] if many else []
        operands = [to, fields["tma_desc"], *place, barrier, *receivers, fields["cache_policy"]]
        ir.Operation.create("nvvm.cp.async.bulk.tensor.shared.cluster.global", [], operands, attributes=attributes)


_SENDING: State = (("tma_desc", "!llvm.ptr"), ("cache_policy", "i64"))


@copies("tma_store", state=_SENDING)
def store_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box from shared memory into a tensor."""
    _send("nvvm.cp.async.bulk.tensor.global.shared.cta", [1, 0], {}, copy)


@copies("tma_reduce", state=_SENDING)
def reduce_box(copy: Copy) -> None:
    """`cp.reduce.async.bulk.tensor`: a box from shared memory is added to a tensor, or what else its kind says."""
    kind = copy.atom.parameters["reduction"].lower()
    attributes = {"redKind": ir.Attribute.parse(f"#nvvm.tma_redux_kind<{kind}>")}
    _send("nvvm.cp.async.bulk.tensor.reduce", [1], attributes, copy)


def _send(name: str, segments: Sequence[int], attributes: dict[str, Any], copy: Copy) -> None:
    with one_thread():
        place = copy.place
        attributes |= {
            "mode": ir.Attribute.parse("#nvvm.tma_store_mode<tile>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), *segments]),
        }
        operands = [copy.fields["tma_desc"], copy.source.address(0), *place, copy.fields["cache_policy"]]
        ir.Operation.create(name, [], operands, attributes=attributes)


@contextmanager
def one_thread() -> Generator[None]:
    """Build what one thread of the warp does."""
    elected = ir.Operation.create("nvvm.elect.sync", [ir.IntegerType.get_signless(1)]).result
    with only_if(elected):
        yield
