"""Atoms of Hopper's tensor memory accelerator: boxes of a tensor, by a descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.passes.lowering.atoms.registry import State, copies, holds, prefetches
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.descriptors import DESCRIPTOR
from cutecc.passes.lowering.values.loops import one_thread
from cutecc.passes.lowering.values.pointers import in_cluster, in_shared

holds(
    *(f"non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    state=(("descriptor", DESCRIPTOR),),
)


@copies(
    "tma_load",
    state=(("tma_descriptor_ptr", "!llvm.ptr"), ("tma_bar", "i32"), ("mcast_mask", "i16"), ("cache_policy", "i64")),
)
def load_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box of a tensor into shared memory; the barrier counts its bytes."""
    fields = copy.fields
    many = bool(copy.atom.parameters.get("mcast"))
    with one_thread():
        barrier = in_shared(fields["tma_bar"])
        # A box is swizzled as the descriptor says; the pointer is to where it begins.
        to = copy.destination.pointer
        if many:
            to = in_cluster(to)
        place = copy.place
        attributes: dict[str, Any] = {
            "isCTAOnly": ir.BoolAttr.get(not many),
            "mode": ir.Attribute.parse("#nvvm.tma_load_mode<tile>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), 1, 0, int(many), 1, 0]),
        }
        receivers = [fields["mcast_mask"]] if many else []
        operands = [to, fields["tma_descriptor_ptr"], *place, barrier, *receivers, fields["cache_policy"]]
        ir.Operation.create("nvvm.cp.async.bulk.tensor.shared.cluster.global", [], operands, attributes=attributes)


@prefetches("tma_load")
def prefetch_box(copy: Copy) -> None:
    """`cp.async.bulk.prefetch.tensor`: a box of a tensor into the L2 cache, by whichever threads ask for it."""
    place = copy.place
    attributes: dict[str, Any] = {
        "mode": ir.Attribute.parse("#nvvm.tma_load_mode<tile>"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(place), 0, 1]),
    }
    operands = [copy.fields["tma_descriptor_ptr"], *place, copy.fields["cache_policy"]]
    ir.Operation.create("nvvm.cp.async.bulk.tensor.prefetch", [], operands, attributes=attributes)


_SENDING: State = (("tma_descriptor_ptr", "!llvm.ptr"), ("cache_policy", "i64"))


@copies("tma_store", state=_SENDING)
def store_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box from shared memory into a tensor.

    The kernel may have one thread store, or a whole warp, whose threads store the same.
    """
    _send("nvvm.cp.async.bulk.tensor.global.shared.cta", [1, 0], {}, copy)


@copies("tma_reduce", state=_SENDING)
def reduce_box(copy: Copy) -> None:
    """`cp.reduce.async.bulk.tensor`: a box from shared memory is added to a tensor, or what else its kind says."""
    kind = copy.atom.parameters["reduction"].lower()
    attributes = {"redKind": ir.Attribute.parse(f"#nvvm.tma_redux_kind<{kind}>")}
    with one_thread():
        _send("nvvm.cp.async.bulk.tensor.reduce", [1], attributes, copy)


def _send(name: str, segments: Sequence[int], attributes: dict[str, Any], copy: Copy) -> None:
    place = copy.place
    attributes |= {
        "mode": ir.Attribute.parse("#nvvm.tma_store_mode<tile>"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(place), *segments]),
    }
    operands = [copy.fields["tma_descriptor_ptr"], copy.source.pointer, *place, copy.fields["cache_policy"]]
    ir.Operation.create(name, [], operands, attributes=attributes)
