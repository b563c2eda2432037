"""Atoms of Hopper's tensor memory accelerator, by a descriptor: boxes of a tensor, pixels of a convolution's images."""

from __future__ import annotations

from cutecc.ir.mlir import ir, nvvm
from cutecc.passes.lowering.atoms.registry import State, copies, holds, prefetches
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.descriptors import DESCRIPTOR
from cutecc.passes.lowering.values.integers import resize
from cutecc.passes.lowering.values.loops import one_thread
from cutecc.passes.lowering.values.pointers import in_cluster, in_shared

holds(
    *(f"non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    *(f"non_exec_im2col_tma_{what}" for what in ("load", "store")),
    state=(("descriptor", DESCRIPTOR),),
)

_RECEIVING: State = (
    ("tma_descriptor_ptr", "!llvm.ptr"),
    ("tma_bar", "i32"),
    ("mcast_mask", "i16"),
    ("cache_policy", "i64"),
)


@copies("tma_load", state=_RECEIVING)
def load_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box of a tensor into shared memory; the barrier counts its bytes."""
    _load(copy, copy.place, [], "tile")


@copies("im2col_tma_load", state=_RECEIVING)
def load_pixels(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.im2col`: channels of pixels that follow each other, each at the filter's tap."""
    place, taps = _pixel_and_taps(copy)
    _load(copy, place, [resize(tap, 16) for tap in taps], "im2col")


def _pixel_and_taps(copy: Copy) -> tuple[list[ir.Value], list[ir.Value]]:
    """Channel, pixel and image; and of each mode of pixels how far the tap is."""
    modes = (len(copy.place) - 2) // 2
    return copy.place[:-modes], copy.place[-modes:]


def _load(copy: Copy, place: list[ir.Value], offsets: list[ir.Value], mode: str) -> None:
    fields = copy.fields
    many = bool(copy.atom.parameters.get("mcast"))
    with one_thread():
        barrier = in_shared(fields["tma_bar"])
        # A box is swizzled as the descriptor says; the pointer is to where it begins.
        to = copy.destination.pointer
        if many:
            to = in_cluster(to)
        nvvm.cp_async_bulk_tensor_shared_cluster_global(
            to,
            fields["tma_descriptor_ptr"],
            place,
            barrier,
            offsets,
            multicast_mask=fields["mcast_mask"] if many else None,
            l2_cache_hint=fields["cache_policy"],
            mode=ir.Attribute.parse(f"#nvvm.tma_load_mode<{mode}>"),
            is_cta_only=not many,
        )


@prefetches("tma_load")
def prefetch_box(copy: Copy) -> None:
    """`cp.async.bulk.prefetch.tensor`: a box of a tensor into the L2 cache, by whichever threads ask for it."""
    nvvm.cp_async_bulk_tensor_prefetch(
        copy.fields["tma_descriptor_ptr"],
        copy.place,
        [],
        l2_cache_hint=copy.fields["cache_policy"],
        mode=ir.Attribute.parse("#nvvm.tma_load_mode<tile>"),
    )


_SENDING: State = (("tma_descriptor_ptr", "!llvm.ptr"), ("cache_policy", "i64"))


@copies("tma_store", state=_SENDING)
def store_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box from shared memory into a tensor.

    The kernel may have one thread store, or a whole warp, whose threads store the same.
    """
    _store(copy, copy.place, "tile")


@copies("im2col_tma_store", state=_SENDING)
def store_pixels(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.im2col_no_offs`: channels of pixels into a tensor. There is one tap."""
    place, _ = _pixel_and_taps(copy)
    _store(copy, place, "im2col")


def _store(copy: Copy, place: list[ir.Value], mode: str) -> None:
    nvvm.cp_async_bulk_tensor_global_shared_cta(
        copy.fields["tma_descriptor_ptr"],
        copy.source.pointer,
        place,
        l2_cache_hint=copy.fields["cache_policy"],
        mode=_store_mode(mode),
    )


@copies("tma_reduce", state=_SENDING)
def reduce_box(copy: Copy) -> None:
    """`cp.reduce.async.bulk.tensor`: a box from shared memory is added to a tensor, or what else its kind says."""
    kind = copy.atom.parameters["reduction"].lower()
    with one_thread():
        nvvm.cp_async_bulk_tensor_reduce(
            copy.fields["tma_descriptor_ptr"],
            copy.source.pointer,
            ir.Attribute.parse(f"#nvvm.tma_redux_kind<{kind}>"),
            copy.place,
            l2_cache_hint=copy.fields["cache_policy"],
            mode=_store_mode("tile"),
        )


def _store_mode(mode: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#nvvm.tma_store_mode<{mode}>")
