"""Atoms of Hopper's tensor memory accelerator, by a descriptor: boxes of a tensor, pixels of a convolution's images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cutecc.ir.mlir import arith, ir, nvvm
from cutecc.ir.types import CopyAtom
from cutecc.passes.lowering.atoms.registry import copies, holds, prefetches
from cutecc.passes.lowering.atoms.rows import State
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.integers import constant, resize
from cutecc.passes.lowering.values.leaves import DESCRIPTOR
from cutecc.passes.lowering.values.loops import one_thread
from cutecc.passes.lowering.values.pointers import in_cluster, in_shared
from cutecc.target import Target

holds(
    *(f"non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    "non_exec_2d_gather4_tma_load",
    "non_exec_2d_scatter4_tma_store",
    state=(("tma_desc", DESCRIPTOR),),
)
holds(*(f"non_exec_im2col_tma_{what}" for what in ("load", "store")), state=(("im2col_tma_desc", DESCRIPTOR),))

_SECOND_OF_PAIR = 1 << 24
"""Of an address of shared memory in a cluster: whether it is of the second block of a pair, as sm_100 has them."""

_RECEIVING: State = (
    ("tma_descriptor_ptr", "!llvm.ptr"),
    ("tma_bar", "i32"),
    ("mcast_mask", "i16"),
    ("cache_policy", "i64"),
)


def _in_mode(mode: str) -> Callable[[CopyAtom], bool]:
    """Takes atoms whose descriptor is used in a mode: `tiled`, `gather4` or `scatter4`."""
    return lambda atom: atom.parameters["mode"] == mode


def _has_rows(chip: Target) -> bool:
    """Whether a chip gathers and scatters rows."""
    return chip.major >= 10


@copies("tma_load", state=_RECEIVING, takes=_in_mode("tiled"))
def load_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box of a tensor into shared memory; the barrier counts its bytes."""
    with one_thread():
        _load(copy, copy.place, "tile")


@copies("tma_load", state=_RECEIVING, takes=_in_mode("gather4"), chips=_has_rows)
def gather_rows(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.tile::gather4`: a part of four rows, whose numbers the kernel gives."""
    place = [copy.place[0], *copy.rows]
    with one_thread():
        _load(copy, place, "tile_gather4")


@copies("im2col_tma_load", state=_RECEIVING)
def load_pixels(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.im2col`: channels of pixels that follow each other, each at the filter's tap."""
    place, taps = _pixel_and_taps(copy)
    offsets = [resize(tap, 16) for tap in taps]
    with one_thread():
        _load(copy, place, "im2col", offsets)


def _pixel_and_taps(copy: Copy) -> tuple[list[ir.Value], list[ir.Value]]:
    """Channel, pixel and image; and of each mode of pixels how far the tap is."""
    place = copy.place
    modes = (len(place) - 2) // 2
    return place[:-modes], place[-modes:]


def _load(copy: Copy, place: Sequence[ir.Value], mode: str, offsets: Sequence[ir.Value] = ()) -> None:
    fields, parameters = copy.fields, copy.atom.parameters
    many, by_pair = bool(parameters.get("mcast")), parameters["num_cta"] == 2
    address = fields["tma_bar"]
    if by_pair:
        # The barrier of a pair of blocks is in the first of them: the same address without the bit that tells them.
        address = arith.andi(address, constant(~_SECOND_OF_PAIR, 32))
    barrier = in_shared(address)
    # A box is swizzled as the descriptor says; the pointer is to where it begins.
    to = copy.destination.pointer
    if many or by_pair:
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
        is_cta_only=not (many or by_pair),
        group=ir.Attribute.parse("#nvvm.cta_group<cta_2>") if by_pair else None,
    )


@prefetches("tma_load", takes=_in_mode("tiled"))
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


@copies("tma_store", state=_SENDING, takes=_in_mode("tiled"))
def store_box(copy: Copy) -> None:
    """`cp.async.bulk.tensor`: a box from shared memory into a tensor.

    The kernel may have one thread store, or a whole warp, whose threads store the same.
    """
    _store(copy, copy.place, "tile")


@copies("tma_store", state=_SENDING, takes=_in_mode("scatter4"), chips=_has_rows)
def scatter_rows(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.tile::scatter4`: into a part of four rows, whose numbers the kernel gives."""
    _store(copy, [copy.place[0], *copy.rows], "tile_scatter4")


@copies("im2col_tma_store", state=_SENDING)
def store_pixels(copy: Copy) -> None:
    """`cp.async.bulk.tensor` with `.im2col_no_offs`: channels of pixels into a tensor. There is one tap."""
    place, _ = _pixel_and_taps(copy)
    _store(copy, place, "im2col")


def _store(copy: Copy, place: Sequence[ir.Value], mode: str) -> None:
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
