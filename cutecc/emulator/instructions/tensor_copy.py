"""Copies of boxes of tensors, by descriptor: `cp.async.bulk.tensor`, its reductions and prefetches (TMA).

`tile::gather4` and `tile::scatter4` are of four boxes of one row each, with one column and four rows as coordinates.
`im2col::w` and `im2col::w::128` are as `tensor_box.AlongW` reads the manual; no GPU of these was at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.instructions.atomics import REDUCTIONS, Reduce, reduction
from cutecc.emulator.instructions.issuer import Issuer, alike, issuers, misaligned
from cutecc.emulator.instructions.operation import Operation, Reader
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tensor_box import (
    AlongW,
    Box,
    ShapeInShared,
    boxes_at,
    place_of,
    read_box,
    write_box,
)
from cutecc.emulator.instructions.transfer import (
    SharedOperand,
    SharedPlace,
    Transfer,
    destinations,
    global_bytes,
    post_to_group,
    post_to_mbarriers,
)
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.spaces import APERTURE_SHIFT, PARAM_APERTURE
from cutecc.emulator.tensor_map import CORNER_BITS, ELEMENT_TYPES, FLIPPED, ElementType, Im2colMap, decode
from cutecc.ptx.syntax import Address, Operand
from cutecc.runtime.launch import TENSOR_MAP_BYTES, TensorMap
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.emulator.checks.finding import FindingKind
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine

_DIMENSIONS = "{1d,2d,3d,4d,5d}"
_IM2COL_DIMENSIONS = "{3d,4d,5d}"
_LOADED = "{im2col,im2col::w,im2col::w::128}"
_STORED = "{im2col_no_offs,im2col_no_offs::w}"
_GROUPS = "{cta_group::1,cta_group::2}?.L2::cache_hint?"
_SHARED_ALIGNMENT = 128
_ROWS = 4
"""Of a gather or scatter."""
_HALOS = {"im2col::w": 512, "im2col::w::128": 32}
_W_OFFSETS = 32
"""A halo, and an offset along W, is less."""
_ALONG_W = (*_HALOS, "im2col_no_offs::w")
_IM2COL = ("im2col", "im2col_no_offs", *_ALONG_W)
_FIRST_ALONG_W = 10
"""The compute capability, of any minor version."""
_BITWISE = ("and", "or", "xor")
_REDUCED = {
    "u32": REDUCTIONS,
    "s32": ("add", "min", "max", *_BITWISE),
    "u64": ("add", "min", "max", *_BITWISE),
    "s64": ("min", "max"),
    "f16": ("add", "min", "max"),
    "bf16": ("add", "min", "max"),
    "f32": ("add",),
    "f64": ("add",),
}
"""What an H200 reduces, by the type of elements; anything else is an illegal instruction there."""
_DESCRIPTOR_ALIGNMENT = 64
_WORDS = 8
"""Of 8 bytes, that are read of a descriptor at a time."""
_PARAM = PARAM_APERTURE >> APERTURE_SHIFT
_DESCRIPTORS: WeakKeyDictionary[Machine, dict[int, TensorMap | Im2colMap]] = WeakKeyDictionary()
"""Of parameters, which never change, by their generic addresses."""


@instruction(
    f"cp.async.bulk.prefetch.tensor.{_DIMENSIONS}.L2.global.tile?.L2::cache_hint?",
    f"cp.async.bulk.prefetch.tensor.{_IM2COL_DIMENSIONS}.L2.global.{_LOADED}.L2::cache_hint?",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::cache_hint?",
)
def prefetch(operation: Operation) -> Step:
    """Caches are not modelled."""
    return lambda gang, lanes: None


@instruction(
    f"cp.async.bulk.tensor.{_DIMENSIONS}.{{shared::cluster,shared::cta}}.global.tile?"
    f".mbarrier::complete_tx::bytes.multicast::cluster?.{_GROUPS}",
    "cp.async.bulk.tensor.2d.{shared::cluster,shared::cta}.global.tile::gather4"
    f".mbarrier::complete_tx::bytes.multicast::cluster?.{_GROUPS}",
    f"cp.async.bulk.tensor.{_IM2COL_DIMENSIONS}.{{shared::cluster,shared::cta}}.global.{_LOADED}"
    f".mbarrier::complete_tx::bytes.multicast::cluster?.{_GROUPS}",
)
def load(operation: Operation) -> Step:
    """From global memory to shared memory of one block, or of several at the same place."""
    target, source, mbarrier, *rest = operation.operands
    read_target, read_mbarrier = operation.address(target), operation.address(mbarrier)
    read_source, read_coordinates = operation.address(source), _coordinates(operation, source)
    mode, multicast = _im2col_mode(operation), operation.form.has("multicast::cluster")
    pairs = operation.form.has("cta_group::2")
    # The halo and the offset; or an offset of each mode but the channels and the images.
    taps = 2 if mode in _HALOS else _dimensions(operation) - 2
    read_offsets: Reader | None = operation.vector_reader(rest.pop(0), "u16", taps) if mode else None
    read_mask: Reader | None = operation.reader(rest[0], "u16") if multicast else None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        to, ends = (SharedOperand(gang, lanes, read(gang)) for read in (read_target, read_mbarrier))
        masks = None if read_mask is None else np.broadcast_to(read_mask(gang), gang.shape)
        offsets = None if read_offsets is None else [np.broadcast_to(each, gang.shape) for each in read_offsets(gang)]
        for issuer, tensor, coordinates in _copies(operation, gang, lanes, read_source, read_coordinates):
            taken = [int(each[issuer.at]) for each in offsets or ()]
            if refusal := _too_far(mode, taken):
                issuer.fault("out-of-bounds", refusal)
                continue
            how = AlongW(*taken, is_fixed=mode == "im2col::w::128") if mode in _HALOS else taken
            boxes = _boxes(tensor, coordinates, how)
            shape = place_of(boxes)
            place, barrier = to.place(issuer, shape.extent, _SHARED_ALIGNMENT), ends.mbarrier(issuer)
            if place is None or barrier is None:
                continue
            _check_barrier(issuer, place, barrier, pairs)
            places = destinations(issuer, place.index, masks)
            barriers = destinations(issuer, barrier, masks, of_pairs=pairs)
            _load(issuer, boxes, shape, places, barriers, f"a tensor copy of {shape.size} bytes to {place.text}")

    return step


def _too_far(mode: str, taken: Sequence[int]) -> str | None:
    """Why pixels cannot be offset by so much, or have such a halo; `None` when they can."""
    if mode in _HALOS:
        halo, offset = taken
        if halo < _HALOS[mode] and offset < _W_OFFSETS:
            return None
        text = f"copies by {mode} with a halo of {halo} pixels and an offset of {offset}"
        return f"{text}: they have to be less than {_HALOS[mode]} and {_W_OFFSETS}"
    # Hardware drops the rest, or adds it to the next mode.
    if taken and max(taken) >> (bits := CORNER_BITS[len(taken) + 2]):
        return f"offsets pixels by {taken}: of {len(taken)} modes each has {bits} bits"
    return None


def _check_barrier(issuer: Issuer, place: SharedPlace, barrier: int, pairs: bool) -> None:
    """The mbarrier is of the block that is copied to, or with `.cta_group::2` of the other one of its pair."""
    machine = issuer.machine
    to, of = (machine.blocks[index // machine.memory.shared_stride] for index in (place.index, barrier))
    if of is not to and not (pairs and of.cluster is to.cluster and of.rank ^ 1 == to.rank):
        text = f"copies to {to.name} and ends at an mbarrier of {of.name}"
        issuer.report("mbarrier", f"{text}: it has to be one of the block{' or its pair' if pairs else ''}")


def _load(
    issuer: Issuer, boxes: list[Box], shape: ShapeInShared, places: list[int], barriers: list[int], what: str
) -> None:
    def action(transfer: Transfer) -> None:
        parts = [_read(transfer, box) for box in boxes]
        data = parts[0] if len(parts) == 1 else np.concatenate(parts)
        for place, barrier in zip(places, barriers, strict=True):
            write_box(issuer.machine.memory.shared, place, shape, data)
            if issuer.machine.watch.listens:
                issuer.machine.watch.layout(transfer.agent, shape.layout)
                transfer.shared("write", *shape.pieces(place))
            transfer.complete(barrier, shape.size)

    post_to_mbarriers(issuer, action, what)


def _read(transfer: Transfer, box: Box) -> Array:
    """A box's bytes."""
    issuer = transfer.issuer
    found = None if box.is_outside else global_bytes(issuer, box.address, box.extent, writes=False)
    if found is not None and issuer.machine.watch.listens:
        addresses, size = box.addresses
        transfer.main("read", lambda: addresses, size)
    return box.fill(None if found is None else box.elements(*found))


_REDUCED_BY = f"{{{','.join(REDUCTIONS)}}}"


@instruction(
    f"cp.async.bulk.tensor.{_DIMENSIONS}.global.shared::cta.tile?.bulk_group.L2::cache_hint?",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint?",
    f"cp.async.bulk.tensor.{_IM2COL_DIMENSIONS}.global.shared::cta.{_STORED}.bulk_group.L2::cache_hint?",
    f"cp.reduce.async.bulk.tensor.{_DIMENSIONS}.global.shared::cta.{_REDUCED_BY}.tile?.bulk_group.L2::cache_hint?",
    f"cp.reduce.async.bulk.tensor.{_IM2COL_DIMENSIONS}.global.shared::cta.{_REDUCED_BY}.{_STORED}.bulk_group"
    ".L2::cache_hint?",
)
def store(operation: Operation) -> Step:
    """From shared to global memory, copied or reduced into what is there; what is outside is dropped.

    To an H200 a store that begins before the tensor, in any mode, is an illegal instruction; so is to an H100 one whose
    descriptor's pixels go beyond the tensor's. It takes whole chunks of 16 bytes, so what is behind the end of a row in
    the row's last chunk is written, or reduced into, too. Where that is behind the memory that the kernel was given,
    checks report it; without them it is left out.
    """
    target, source, *_ = operation.operands
    read_source = operation.address(source)
    read_target, read_coordinates = operation.address(target), _coordinates(operation, target)
    name = operation.form.one_of(*REDUCTIONS) if operation.form.modifiers[0] == "reduce" else None
    along_w = AlongW() if _im2col_mode(operation) in _ALONG_W else ()

    @cache
    def reduce_of(data_type: int) -> Reduce | None:
        return None if name is None else _reduction(operation, name, ELEMENT_TYPES[data_type])

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        of = SharedOperand(gang, lanes, read_source(gang))
        same = [of.indices] if name is None else None
        for issuer, tensor, coordinates in _copies(operation, gang, lanes, read_target, read_coordinates, same):
            if min(coordinates) < 0:
                issuer.fault("trap", f"stores a box that begins at {coordinates}: below 0, which only loads may")
                continue
            if isinstance(tensor, Im2colMap) and not tensor.is_inside:
                text = f"stores pixels from {tensor.lower} to before {tensor.ends}, as its descriptor says: "
                text += f"beyond an image of {tensor.tensor.sizes[1:-1]}, where only loads may go"
                issuer.fault("trap", text)
                continue
            plain = _plain(tensor)
            if refusal := _unstored(plain, name):
                issuer.fault("trap", refusal)
                continue
            boxes = _boxes(tensor, coordinates, along_w)
            shape = place_of(boxes)
            place = of.place(issuer, shape.extent, _SHARED_ALIGNMENT)
            if place is not None:
                boxes = [_in_chunks(issuer, box) for box in boxes]
                _store(issuer, boxes, shape, place, reduce_of(plain.data_type))

    return step


def _unstored(tensor: TensorMap, reduced_by: str | None) -> str | None:
    """Why there is no store, or reduction, of what a descriptor says; `None` when there is."""
    element = ELEMENT_TYPES[tensor.data_type]
    if reduced_by is not None and reduced_by not in _REDUCED.get(element.name, ()):
        return f"reduces elements of type {element.name} by {reduced_by}, which there is not"
    if element.name == "b4x16_p64":
        return "stores elements of type b4x16_p64, which only loads may have"
    if tensor.swizzle == FLIPPED:
        return "stores with a swizzle that flips 8 bytes, which only loads may have"
    return None


def _in_chunks(issuer: Issuer, box: Box) -> Box:
    """The box as hardware stores it."""
    whole, machine = box.in_chunks(), issuer.machine
    fits = box.is_outside or machine.memory.global_view(whole.address, whole.extent) is not None
    return whole if fits or machine.collect is not None else box


def _reduction(operation: Operation, name: str, element: ElementType) -> Reduce:
    type_ = f"b{8 * element.size}" if name in _BITWISE else element.name
    # Unlike `red`, an addition of `f32` in global memory keeps subnormal numbers, unless the descriptor says otherwise.
    return reduction(operation, name, type_, "global" if element.flushes else "shared")


def _store(issuer: Issuer, boxes: list[Box], shape: ShapeInShared, place: SharedPlace, reduce: Reduce | None) -> None:
    def action(transfer: Transfer) -> None:
        data = read_box(issuer.machine.memory.shared, place.index, shape)
        if issuer.machine.watch.listens:
            transfer.shared("read", *shape.pieces(place.index))
        ends = np.cumsum([box.size for box in boxes])
        for box, part in zip(boxes, np.split(data, ends[:-1]), strict=True):
            _write(transfer, box, part, reduce)

    post_to_group(issuer, action, f"a tensor copy of {shape.size} bytes from {place.text}")


def _write(transfer: Transfer, box: Box, data: Array, reduce: Reduce | None) -> None:
    """Copy or reduce a box's bytes into the tensor."""
    issuer = transfer.issuer
    found = None if box.is_outside else global_bytes(issuer, box.address, box.extent, writes=True)
    if found is None:
        return
    elements, new = box.elements(*found), box.take(data)
    if reduce is None:
        elements[...] = new
    else:
        # Where rows overlap each of them is added.
        rows = np.ndindex(elements.shape[:-1]) if box.overlaps else [()]
        for row in rows:
            part = elements[row]
            old = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            done = reduce(old, np.ascontiguousarray(new[row]).reshape(-1).view(np.uint8))
            part[...] = done.view(part.dtype).reshape(part.shape)
    if issuer.machine.watch.listens:
        addresses, size = box.addresses
        transfer.main("write" if reduce is None else "atomic", lambda: addresses, size)


def _coordinates(operation: Operation, operand: Operand) -> Reader:
    """Reads the coordinates behind a descriptor's address, innermost first; of four rows one after the other."""
    if not isinstance(operand, Address) or operand.coordinates is None:
        raise operation.error("a tensor copy needs coordinates behind the address of its descriptor")
    count = 1 + _ROWS if _is_of_rows(operation) else _dimensions(operation)
    return operation.vector_reader(operand.coordinates, "s32", count)


def _is_of_rows(operation: Operation) -> bool:
    return operation.form.has("tile::gather4") or operation.form.has("tile::scatter4")


def _im2col_mode(operation: Operation) -> str:
    """Empty for tiles."""
    return operation.form.one_of(*_IM2COL)


def _boxes(
    tensor: TensorMap | Im2colMap, coordinates: Sequence[int], offsets: Sequence[int] | AlongW = ()
) -> list[Box]:
    """What a copy moves, in the order of shared memory."""
    column, *others = coordinates
    if len(others) < len(_plain(tensor).sizes):
        return boxes_at(tensor, coordinates, offsets)
    return [box for row in others for box in boxes_at(tensor, (column, row))]


def _plain(tensor: TensorMap | Im2colMap) -> TensorMap:
    return tensor.tensor if isinstance(tensor, Im2colMap) else tensor


def _dimensions(operation: Operation) -> int:
    return int(operation.form.one_of("1d", "2d", "3d", "4d", "5d")[0])


def _copies(
    operation: Operation,
    gang: Gang,
    lanes: Lanes,
    read_address: Reader,
    read_coordinates: Reader,
    same: Sequence[Array] | None = None,
) -> list[tuple[Issuer, TensorMap | Im2colMap, list[int]]]:
    """For each thread its descriptor and coordinates; threads whose descriptor is none are left out with a fault.

    Threads of a warp whose boxes and other operands, `same`, are equal are one issuer.
    """
    addresses = read_address(gang)
    lanes = misaligned(operation, gang, lanes, addresses, _DESCRIPTOR_ALIGNMENT, "generic", "a descriptor's address")
    if not lanes.any():
        return []
    coordinates = [np.broadcast_to(each, gang.shape) for each in read_coordinates(gang)]
    mode = _im2col_mode(operation)
    _check_target(operation, mode, gang.machine.shape.target)
    known = _DESCRIPTORS.setdefault(gang.machine, {})
    words: Array | None = None
    found: list[tuple[Issuer, TensorMap | Im2colMap, list[int]]] = []
    for issuer in (
        issuers(operation, gang, lanes)
        if same is None
        else alike(operation, gang, lanes, [addresses, *coordinates, *same])
    ):
        at, address = issuer.at, int(addresses[issuer.at])
        tensor = known.get(address)
        if tensor is None:
            if words is None:
                words = read_descriptors(operation, gang, lanes, "generic", addresses)
            tensor = _decoded(words[:, *at].tobytes())
            if tensor is not None and address >> APERTURE_SHIFT == _PARAM:
                known[address] = tensor
        if tensor is None or isinstance(tensor, Im2colMap) != bool(mode):
            text = f"finds no descriptor of a tensor for {'im2col' if mode else 'tiles'}"
            issuer.fault("trap", text, gang.machine.memory.describe("generic", address))
            continue
        place = [int(each[at]) for each in coordinates]
        if misfit := _misfit(operation, tensor, place[: _dimensions(operation)], mode):
            issuer.fault(*misfit, gang.machine.memory.describe("generic", address))
            continue
        found.append((issuer, tensor, place))
    return found


def _check_target(operation: Operation, mode: str, target: str) -> None:
    if mode in _ALONG_W and Target.of_ptx(target).major < _FIRST_ALONG_W:
        raise operation.error(f"{target} has no copies by {mode}: sm_100 and newer have")


def _misfit(
    operation: Operation, tensor: TensorMap | Im2colMap, place: Sequence[int], mode: str
) -> tuple[FindingKind, str] | None:
    """The fault of a copy of the box at a place, which its tensor has none of; `None` when it has."""
    plain = _plain(tensor)
    if len(plain.sizes) != len(place):
        text = f"copies by a descriptor for {len(place)} dimensions, and finds a tensor of rank {len(plain.sizes)}"
        return "trap", text
    if isinstance(tensor, Im2colMap):
        refusal = _misfit_along_w(tensor, place[1], mode) if mode in _ALONG_W else _misfit_of_pixels(tensor, place)
        if refusal is not None:
            return "trap", refusal
    if _is_of_rows(operation) and (plain.box[1] != 1 or plain.interleave):
        return "trap", f"copies single rows by a descriptor whose box has {plain.box[1]}, or is interleaved"
    element = ELEMENT_TYPES[plain.data_type]
    if not plain.interleave and place[0] % element.alignment:
        text = f"copies a box that begins {element.bytes(place[0])} bytes into the tensor's rows: no multiple of "
        return "misaligned", text + str(element.bytes(element.alignment))
    return None


def _misfit_of_pixels(images: Im2colMap, place: Sequence[int]) -> str | None:
    """The first pixel, without the offsets of a tap, has to be one of the box of pixels."""
    if all(lower <= at < end for lower, at, end in zip(images.lower, place[1:-1], images.ends, strict=True)):
        return None
    text = f"copies pixels from {tuple(place[1:-1])} on: its descriptor has those from {images.lower} to "
    return text + f"before {images.ends}"


def _misfit_along_w(images: Im2colMap, first: int, mode: str) -> str | None:
    """The first pixel may be beside the box on its left; where that is in the other modes does not matter."""
    plain, lower, end = images.tensor, images.lower[0], images.ends[0]
    if plain.interleave or plain.swizzle in (0, FLIPPED):
        what = "interleaved channels" if plain.interleave else f"swizzle {plain.swizzle}"
        return f"copies by {mode} and a descriptor with {what}: there has to be a swizzle, and one that flips nothing"
    if max(lower, first) >= end:
        return f"copies pixels from {first} on along W: its descriptor has those from {lower} to before {end}"
    return None


def read_descriptors(operation: Operation, gang: Gang, lanes: Lanes, space: str, addresses: Array) -> Array:
    """The descriptors at these addresses, as 16 words of 8 bytes, `(16, warps, 32)`."""
    memory = gang.machine.memory
    first = memory.load(operation, gang, lanes, space, addresses, 8, _WORDS)
    # The second half says nothing: kernels that copy descriptors leave it as it is.
    half = 8 * _WORDS
    parts = memory.locate(operation, gang, lanes, space, addresses + np.uint64(half), half, "read", tell=False)
    return np.stack([*first, *memory.fetch(parts, gang.shape, 8, _WORDS)])


@lru_cache(maxsize=256)
def _decoded(data: bytes) -> TensorMap | Im2colMap | None:
    assert len(data) == TENSOR_MAP_BYTES
    return decode(data)
