"""How many bits one instruction of a copy moves, how many it could, and what keeps it from that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal

from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, CopyAtom, MemRef, Pointer, TiledCopy, view
from cutecc.ir.types.elements import natural_alignment
from cutecc.layout import ComposedLayout, Layout, coalesce, divisibility, leaves
from cutecc.layout.layout import Layout as PlainLayout

Reason = Literal["predicate", "stride", "alignment", "divisibility", "atom", "layout", "order"]

LARGEST_BITS = 128
"""What one load or store of a thread moves at most on every target; some of 256 bits exist from sm_100 on."""
_SPACES = {AddressSpace.GMEM: "global", AddressSpace.SMEM: "shared"}
_ATOMS = ("universal_copy", "simt_async_copy")
_ASYNC_BITS = 32
"""The narrowest `cp.async`."""


@dataclass(frozen=True)
class Narrowing:
    """An access that is narrower than it could be."""

    bits: int
    """What one instruction moves."""
    possible_bits: int
    element: str
    element_bits: int
    space: str
    reason: Reason
    why: str
    """What keeps it from the possible width, and what to do."""


def copy_width(operation: ir.Operation) -> Narrowing | None:
    """What is to say of a copy; `None` for one that is as wide as it can be, or none of global or shared memory."""
    operands = list(operation.operands)
    is_plain = operation.name != "cute.copy"
    atom = None if is_plain else _atom(operands.pop(0))
    if not is_plain and (atom is None or atom.kind not in _ATOMS):
        return None
    tensors = [(value, side) for value in operands[:2] if isinstance(side := view(value.type), MemRef)]
    memory = [(value, side) for value, side in tensors if side.space in _SPACES]
    if len(tensors) != 2 or not memory:
        return None
    value, side = min(memory, key=lambda each: contiguous(each[1]))
    element_bits = side.element.bits
    wanted = min(LARGEST_BITS, *(contiguous(each) * element_bits for _, each in memory))
    allowed = min(wanted, *(_aligned_bits(each) for _, each in memory))
    predicate = view(operands[2].type) if len(operands) > 2 else None
    bits, by_atom = _used(atom, tensors[0][1], isinstance(predicate, MemRef), allowed)
    if wanted <= element_bits:
        return _strided(value, side) if bits < LARGEST_BITS else None
    if bits >= wanted:
        return None
    if allowed < wanted and bits >= allowed:
        value, side = min(memory, key=lambda each: _aligned_bits(each[1]))
        reason, why = why_misaligned(value, side, wanted)
    else:
        reason, why = _why(atom, isinstance(predicate, MemRef), by_atom, bits, wanted, element_bits)
    return Narrowing(bits, wanted, str_of(side), element_bits, _SPACES[side.space], reason, why)


def contiguous(tensor: MemRef) -> int:
    """How many elements from the first on are adjacent in memory, in the order of the layout: a power of two."""
    layout, limit = _plain(tensor)
    flat = coalesce(layout)
    sizes, strides = list(leaves(flat.shape)), list(leaves(flat.stride))
    first = next((index for index, size in enumerate(sizes) if size != 1), None)
    if first is None or strides[first] != 1 or not isinstance(sizes[first], int):
        return 1
    found = sizes[first] & -sizes[first]
    return min(found, limit) if limit else found


def alignment_of(tensor: MemRef) -> int:
    """Bytes to which the tensor's first element, and each later vector of its layout, is known to be aligned."""
    layout, _ = _plain(tensor)
    flat = coalesce(layout)
    known = tensor.alignment or natural_alignment(tensor.element) or 1
    for size, stride in zip(leaves(flat.shape), leaves(flat.stride), strict=True):
        if size != 1 and stride not in (0, 1):
            known = gcd(known, max(1, divisibility(stride) * tensor.element.bits // 8))
    return known


def str_of(tensor: MemRef) -> str:
    """The element's name."""
    return getattr(tensor.element, "name", str(tensor.element))


def why_misaligned(value: ir.Value, tensor: MemRef, wanted_bits: int) -> tuple[Reason, str]:
    """Why no more is known of the alignment of `value`: what it was made from had less, or the way there lost it."""
    wanted = wanted_bits // 8
    if (tensor.alignment or 0) >= wanted:
        return "divisibility", f"its strides {_strides(tensor)} are not known to be multiples of {wanted} bytes"
    origin = tensor
    for each in _origins(value):
        if (each.alignment or 0) >= wanted:
            return (
                "divisibility",
                f"it begins at an offset that is not known to be a multiple of {wanted} bytes: the tensor's "
                f"strides are {_strides(each)}",
            )
        origin = each
    known = origin.alignment or 1
    return (
        "alignment",
        f"the tensor is known to be aligned to {known} byte{'' if known == 1 else 's'} only; "
        f"say align={wanted} in its spec, or assumed_align={wanted}"
        if origin.space == AddressSpace.GMEM
        else f"the tensor is known to be aligned to {known} bytes only; allocate it with an alignment of {wanted}",
    )


def _used(atom: CopyAtom | None, source: MemRef, predicated: bool, allowed: int) -> tuple[int, bool]:
    """Bits that an instruction moves, and whether the atom says so."""
    if atom is None:
        return allowed, False
    element_bits = source.element.bits
    copy_bits = atom.parameters.get("copy_bits")
    # The first mode holds what the atom copies at once, or several times that.
    first = _first_mode(source) * element_bits
    if copy_bits:
        return min(int(copy_bits), max(first, element_bits), LARGEST_BITS), True
    if atom.kind == "simt_async_copy":
        return max(_ASYNC_BITS, element_bits), True
    # Without a width, the atom copies one element; the compiler joins those of the first mode unless each has a
    # predicate.
    return (element_bits, True) if predicated else (min(allowed, max(first, element_bits)), False)


def _why(
    atom: CopyAtom | None, predicated: bool, by_atom: bool, bits: int, wanted: int, element_bits: int
) -> tuple[Reason, str]:
    """Why a copy is narrower than what it copies is aligned for."""
    if predicated and bits == element_bits:
        return (
            "predicate",
            f"each element has a predicate of its own; give {wanted // element_bits} elements one predicate, which "
            "takes bounds that are multiples of that",
        )
    if by_atom and atom is not None and atom.parameters.get("copy_bits") == bits:
        return "atom", f"the copy atom is made for {bits} bits; make it with num_bits_per_copy={wanted}"
    return (
        "layout",
        f"the first mode of the copied tensors, which an instruction copies at once, has {bits // element_bits} "
        f"element{'s' if bits > element_bits else ''}; put {wanted // element_bits} adjacent ones into it, or use "
        "cute.autovec_copy",
    )


def _strided(value: ir.Value, tensor: MemRef) -> Narrowing | None:
    """A copy of several elements of which no two are adjacent, whatever a swizzle does to them."""
    layout, _ = _plain(tensor)
    count = layout.size
    flat = coalesce(layout)
    if not isinstance(count, int) or count < 2 or _broadcasts(layout) or next(leaves(flat.stride)) == 1:
        return None
    element_bits = tensor.element.bits
    possible = min(LARGEST_BITS, (count & -count) * element_bits)
    if possible <= element_bits:
        return None
    why = f"the {count} elements of a thread are not adjacent, their strides are {_strides(tensor)}; let a thread's "
    why += "elements run along the mode of stride 1"
    return Narrowing(element_bits, possible, str_of(tensor), element_bits, _SPACES[tensor.space], "stride", why)


def _broadcasts(layout: PlainLayout) -> bool:
    return not any(
        stride != 0 and size != 1 for size, stride in zip(*map(leaves, (layout.shape, layout.stride)), strict=True)
    )


def _aligned_bits(tensor: MemRef) -> int:
    return max(alignment_of(tensor) * 8, tensor.element.bits)


def _first_mode(tensor: MemRef) -> int:
    """Adjacent elements in the first mode of the tensor, a power of two."""
    layout, limit = _plain(tensor)
    shape = layout.shape
    mode = layout[0] if isinstance(shape, tuple) and shape else layout
    flat = coalesce(mode)
    sizes, strides = list(leaves(flat.shape)), list(leaves(flat.stride))
    if not sizes or strides[0] != 1 or not isinstance(sizes[0], int):
        return 1
    found = sizes[0] & -sizes[0]
    return min(found, limit) if limit else found


def _plain(tensor: MemRef) -> tuple[PlainLayout, int]:
    """The layout without its swizzle, and how many elements from an aligned one on that leaves in order; 0 for all."""
    layout, limit = tensor.layout, 0
    if isinstance(layout, ComposedLayout):
        swizzle = layout.inner
        limit = 1 << getattr(swizzle, "base", 0)
        layout = layout.outer
    assert isinstance(layout, Layout)
    if tensor.swizzle is not None:
        # A pointer's swizzle counts bytes.
        limit = max(1, (1 << tensor.swizzle.base) * 8 // tensor.element.bits)
    return layout, limit


def _strides(tensor: MemRef) -> str:
    from cutecc.layout import show

    return show(_plain(tensor)[0].stride)


def _atom(value: ir.Value) -> CopyAtom | None:
    match view(value.type):
        case CopyAtom() as atom:
            return atom
        case TiledCopy(atom=atom):
            return atom
        case _:
            return None


def _origins(value: ir.Value) -> Iterator[MemRef]:
    """The tensors that `value` was made from, nearest first."""
    while not isinstance(value.owner, ir.Block):
        for operand in value.owner.operation.operands:
            found = view(operand.type)
            if isinstance(found, MemRef | Pointer):
                break
        else:
            return
        value = operand
        if isinstance(found, MemRef):
            yield found
