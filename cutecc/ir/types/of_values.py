"""The questions that passes ask of values most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.errors import Error
from cutecc.ir.types.reading import view
from cutecc.ir.types.values import (
    ComposedLayoutValue,
    CoordTensor,
    LayoutValue,
    MemRef,
    Pointer,
    SmemDescriptorView,
)
from cutecc.layout import AnyLayout

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


def layout_of(value: ir.Value) -> AnyLayout:
    """The layout that `value` is, or that it has: a layout, a tensor, a coordinate tensor, a descriptor view.

    Raises `Error` for a value of another type.
    """
    match view(value.type):
        case LayoutValue(layout) | ComposedLayoutValue(layout):
            return layout
        case MemRef(layout=layout) | CoordTensor(layout=layout) | SmemDescriptorView(layout=layout):
            return layout
        case _:
            raise Error(f"a value of type '{value.type}' has no layout")


def element_bits(value: ir.Value) -> int:
    """Bits of one element of the memory that `value`, a tensor or a pointer, leads to. Raises `Error` for another."""
    match view(value.type):
        case MemRef(element=element) | Pointer(element=element):
            return element.bits
        case _:
            raise Error(f"a value of type '{value.type}' is neither tensor nor pointer")


def is_static(value: ir.Value) -> bool:
    """Whether the type of `value` knows every integer in it: it has no `?`."""
    return "?" not in str(value.type)
