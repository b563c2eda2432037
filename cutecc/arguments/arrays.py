"""Arrays of any library, by what they offer: none is imported, and nothing is read from their memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.arguments.specs import Dynamic, Mode, TensorSpec
from cutecc.errors import SpecError

_LARGEST_ALIGNMENT = 16
"""Bytes: the widest access of one thread. More would tie the compiled kernel to one address."""


@dataclass(frozen=True)
class Array:
    """The layout of a real array."""

    dtype: str
    """The element type as the library calls it."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements."""
    address: int
    """Of the first element; 0 when there is none."""


def read_array(value: Any) -> Array | None:
    """The layout of an array of torch, numpy, cupy or a library that describes its arrays alike; else `None`."""
    if callable(getattr(value, "data_ptr", None)) and callable(getattr(value, "stride", None)):
        name = str(value.dtype).removeprefix("torch.")
        return _unpacked(Array(name, tuple(value.shape), tuple(value.stride()), value.data_ptr()))
    # A numpy scalar has the interface of an array, but is none.
    interface: Any = getattr(value, "__cuda_array_interface__", None)
    if interface is None and hasattr(value, "__dlpack__"):
        interface = getattr(value, "__array_interface__", None)
    if interface is None:
        return None
    shape, itemsize = tuple(interface["shape"]), int(value.dtype.itemsize)
    strides: tuple[int, ...] | None = interface.get("strides")
    if strides is None:
        stride = _row_major(shape)
    elif any(step % itemsize for step in strides):
        raise SpecError(f"strides of {strides} bytes are not whole elements of {itemsize} bytes")
    else:
        stride = tuple(step // itemsize for step in strides)
    return Array(str(value.dtype.name), shape, stride, int(interface["data"][0]))


def describe_array(array: Array) -> TensorSpec:
    """The spec of a real array, for a kernel that takes others like it.

    Every size is dynamic, with its present value. Of the strides, 0 and the 1 of the leading mode stay static, as the
    DSL's own `mark_layout_dynamic` has it. The alignment is that of the address, up to 16 bytes. The space is global
    memory, wherever the array lives. Raises `SpecError` for an element type that CuTe does not have.
    """
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise SpecError(f"CuTe has no element type {array.dtype}")
    leading = _leading_mode(array)
    stride: list[Mode] = []
    for mode, step in enumerate(array.stride):
        static = step == 0 or mode == leading
        stride.append(step if static else Dynamic(bits=64, value=step))
    align = min(array.address & -array.address, _LARGEST_ALIGNMENT) or None
    return TensorSpec(dtype, tuple(Dynamic(value=size) for size in array.shape), tuple(stride), align=align)


def _leading_mode(array: Array) -> int | None:
    """The mode of stride 1; of several, one with more than one element."""
    unit = [mode for mode, step in enumerate(array.stride) if step == 1]
    long = [mode for mode in unit if array.shape[mode] > 1]
    return (long or unit or [None])[-1]


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.insert(0, step)
        step *= size
    return tuple(stride)


def _unpacked(array: Array) -> Array:
    """Torch counts pairs of 4-bit floats as one element; CuTe counts each of them."""
    if array.dtype != "float4_e2m1fn_x2":
        return array
    leading = _leading_mode(array)
    shape = tuple(2 * size if mode == leading else size for mode, size in enumerate(array.shape))
    stride = tuple(step if mode == leading else 2 * step for mode, step in enumerate(array.stride))
    return Array("float4_e2m1fn", shape, stride, array.address)
