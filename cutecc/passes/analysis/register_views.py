"""Which registers of a thread's own tensor a view of it is: slices, partitions, other layouts and other types."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, CoordValue, IntTupleValue, MemRef, OpaqueType, Pointer, view
from cutecc.layout import AnyLayout, Layout, crd2idx
from cutecc.layout.facts import LARGEST, offsets
from cutecc.layout.modes import slice_layout
from cutecc.passes.analysis.equality import Equality

ALLOCATIONS = ("cute.memref.alloca", "cute.mma.make_fragment")
_IN_PLACE = (
    *("cute.get_iter", "cute.make_view", "cute.recast_iter", "cute.coalesce", "cute.group_modes", "cute.composition"),
    *("cute.append_to_rank", "cute.prepend_to_rank", "cute.flatten", "cute.filter_zeros", "cute.tiled.copy.retile"),
    *("cute.logical_divide", "cute.zipped_divide", "cute.tiled_divide", "cute.flat_divide"),
)
"""Views that begin where the tensor does that they are made of."""


@dataclass(frozen=True)
class RegisterView:
    """Bits of a tensor in registers."""

    root: ir.Operation
    """What allocates it."""
    bits: int
    """A mask: bit n stands for the tensor's bit n."""
    is_exact: bool
    """Whether these are all accessed; else some of them are, which only the running kernel knows."""
    offset: int | None
    """Where the view begins, in bits; `None` when it is not known."""


class RegisterViews:
    """The views of a kernel."""

    def __init__(self, equality: Equality) -> None:
        self._equality = equality
        self._known: dict[ir.Value, RegisterView | None] = {}

    def of(self, value: ir.Value) -> RegisterView | None:
        """What `value` is a view of, a tensor or a pointer; `None` when it may be one or the other of several."""
        if value not in self._known:
            origin = self._equality.origin(value)
            if origin != value:
                self._known[value] = self.of(origin)
            else:
                self._known[value] = None if isinstance(value.owner, ir.Block) else self._made(value)
        return self._known[value]

    def element(self, tensor: ir.Value, coordinate: ir.Value) -> RegisterView | None:
        """The one element of `tensor` at `coordinate`."""
        found, type_, at = self.of(tensor), view(tensor.type), view(coordinate.type)
        if found is None or not isinstance(type_, MemRef) or not isinstance(at, CoordValue):
            return found
        index = None
        if isinstance(type_.layout, Layout):
            index = crd2idx(at.coordinate, type_.layout.shape, type_.layout.stride)
        if found.offset is None or not isinstance(index, int):
            return RegisterView(found.root, found.bits, is_exact=False, offset=None)
        width = type_.element.bits
        return self._within(found, found.offset + index * width, Layout(1, 0), width)

    def _made(self, value: ir.Value) -> RegisterView | None:
        operation, type_ = value.owner.operation, view(value.type)
        if not isinstance(type_, MemRef | Pointer) or isinstance(type_.element, OpaqueType):
            return None
        if operation.name in ALLOCATIONS:
            bits = _mask(type_.layout, type_.element.bits) if isinstance(type_, MemRef) else None
            return None if bits is None else RegisterView(operation, bits, is_exact=True, offset=0)
        viewed = [each for each in operation.operands if is_in_registers(each)]
        parent = self.of(viewed[0]) if len(viewed) == 1 else None
        if parent is None:
            return None
        offset = _moved(operation, viewed[0], parent.offset)
        whole = self.of(parent.root.results[0])
        assert whole is not None
        if not isinstance(type_, MemRef):
            # What is made of a pointer may reach as far as the tensor does.
            return RegisterView(parent.root, whole.bits, is_exact=False, offset=offset)
        if offset is None:
            return RegisterView(parent.root, parent.bits, is_exact=False, offset=None)
        return self._within(parent, offset, type_.layout, type_.element.bits)

    def _within(self, parent: RegisterView, offset: int, layout: AnyLayout, width: int) -> RegisterView:
        """The view of this layout at a known place."""
        bits = _mask(layout, width)
        whole = self.of(parent.root.results[0])
        assert whole is not None
        if bits is None or offset < 0 or (bits << offset) & ~whole.bits:
            return RegisterView(parent.root, parent.bits, is_exact=False, offset=None)
        return RegisterView(parent.root, bits << offset, is_exact=True, offset=offset)


def _moved(operation: ir.Operation, viewed: ir.Value, offset: int | None) -> int | None:
    """Where what `operation` makes of `viewed` begins, in bits."""
    if offset is None or operation.name in _IN_PLACE:
        return offset
    type_ = view(viewed.type)
    if not isinstance(type_, MemRef | Pointer) or len(operation.operands) != 2:
        return None
    by, width = view(operation.operands[1].type), type_.element.bits
    layout = type_.layout if isinstance(type_, MemRef) else None
    moved: object = None
    if operation.name == "cute.add_offset" and isinstance(by, IntTupleValue):
        moved = by.value
    elif operation.name == "cute.slice" and isinstance(by, CoordValue) and isinstance(layout, Layout):
        _, moved = slice_layout(by.coordinate, layout)
    return offset + moved * width if isinstance(moved, int) else None


def is_in_registers(value: ir.Value) -> bool:
    """Whether `value` is a tensor, or a pointer, of the thread's own."""
    text = str(value.type)
    if not text.startswith(("!cute.memref", "!cute.ptr")):
        return False
    found = view(value.type)
    return isinstance(found, MemRef | Pointer) and found.space == AddressSpace.RMEM


@functools.lru_cache(maxsize=4096)
def _mask(layout: AnyLayout, width: int) -> int | None:
    """The bits of all elements of `layout`, each of `width`; `None` when only the running kernel knows."""
    size = layout.size if isinstance(layout, Layout) and layout.is_static else None
    if not isinstance(size, int) or not 0 < size <= LARGEST:
        return None
    found, element = 0, (1 << width) - 1
    for offset in offsets(layout):
        found |= element << offset * width
    return found
