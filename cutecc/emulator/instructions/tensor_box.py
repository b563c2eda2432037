"""The box that a tensor copy moves: which elements of the tensor, and where in shared memory.

Modes are innermost first. In shared memory a box is packed, and its chunks of 16 bytes are moved by the swizzle, which
flips bits 4 to 6 of addresses by bits 7 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.numbers.swizzle import CHUNK, PATTERN, swizzle
from cutecc.emulator.tensor_map import ELEMENT_TYPES, ElementType
from cutecc.runtime.launch import TensorMap

_WIDTHS: Final = (0, 32, 64, 128)
"""Bytes of the swizzles, by `CUtensorMapSwizzle`."""
_NAN: Final = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}
"""What fills the outside when it is to be NaN."""
_TF32_BITS: Final = 13
"""Bits that an `f32` has and a `tf32` has not."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box at one place of a tensor."""

    tensor: TensorMap
    element: ElementType
    counts: tuple[int, ...]
    """Elements by mode."""
    start: tuple[int, ...]
    """Of those, the first inside of the tensor."""
    stop: tuple[int, ...]
    """And the one behind the last."""
    steps: tuple[int, ...]
    """Bytes from element to element."""
    address: int
    """Of the first element inside."""

    @classmethod
    def at(cls, tensor: TensorMap, coordinates: Sequence[int]) -> Box:
        """The tensor's box whose first element has these coordinates."""
        element = ELEMENT_TYPES[tensor.data_type]
        # Without interleaving the innermost mode is always taken whole.
        apart = tensor.element_strides if tensor.interleave else (1, *tensor.element_strides[1:])
        counts = tuple(-(-size // stride) for size, stride in zip(tensor.box, apart, strict=True))
        start: list[int] = []
        stop: list[int] = []
        for place, size, count, stride in zip(coordinates, tensor.sizes, counts, apart, strict=True):
            first = min(count, -(min(place, 0) // stride))
            start.append(first)
            stop.append(max(first, min(count, -((place - size) // stride))))
        pitches = (element.size, *tensor.strides)
        address = tensor.address
        for place, first, stride, pitch in zip(coordinates, start, apart, pitches, strict=True):
            address += (place + first * stride) * pitch
        steps = tuple(pitch * stride for pitch, stride in zip(pitches, apart, strict=True))
        return cls(tensor, element, counts, tuple(start), tuple(stop), steps, address)

    @property
    def size(self) -> int:
        """Bytes in shared memory."""
        return math.prod(self.counts) * self.element.size

    @property
    def inside(self) -> tuple[int, ...]:
        """Elements inside of the tensor, by mode."""
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))

    @property
    def is_outside(self) -> bool:
        """Whether no element lies inside of the tensor."""
        return not all(self.inside)

    @property
    def extent(self) -> int:
        """Bytes of global memory from the first element inside to the last."""
        return self.element.size + sum((size - 1) * step for size, step in zip(self.inside, self.steps, strict=True))

    def elements(self, data: Array, offset: int) -> Array:
        """The elements inside, outermost mode first, as they lie in an allocation's bytes: a view."""
        return np.ndarray(self.inside[::-1], self._dtype, data, offset, self.steps[::-1])

    @property
    def addresses(self) -> tuple[Array, int]:
        """Of the rows of elements inside, or of the elements where those are apart; and bytes of each."""
        packed = self.steps[0] == self.element.size
        total = np.array([self.address], np.uint64)
        for mode in range(len(self.counts) - 1, 0 if packed else -1, -1):
            steps = np.arange(self.inside[mode], dtype=np.uint64) * np.uint64(self.steps[mode])
            total = (total[:, None] + steps).reshape(-1)
        return total, self.inside[0] * self.element.size if packed else self.element.size

    def fill(self, inside: Array | None) -> Array:
        """The box's bytes in order, `inside` in its place, what is outside of the tensor filled."""
        shape = self.counts[::-1]
        if inside is not None and inside.shape == shape:
            whole = np.ascontiguousarray(inside)
        else:
            value = _NAN.get(self.element.name, 0) if self.tensor.fill else 0
            whole = np.full(shape, value, self._dtype)
            if inside is not None:
                whole[self._slices] = inside
        return _converted(self.element, whole).reshape(-1).view(np.uint8)

    def take(self, packed: Array) -> Array:
        """The elements inside, of the box's bytes in order; the shape is that of `elements`."""
        return packed.view(self._dtype).reshape(self.counts[::-1])[self._slices]

    @property
    def _slices(self) -> tuple[slice, ...]:
        return tuple(slice(start, stop) for start, stop in zip(self.start[::-1], self.stop[::-1], strict=True))

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(f"u{self.element.size}")


def chunks(size: int, mode: int, phase: int) -> Array | None:
    """Where the chunks of `size` bytes lie, in chunks from the 1024 bytes on in which the first one lies.

    `phase` is how many bytes behind those the box begins. `None` when the bytes are in order.
    """
    width = _WIDTHS[mode]
    return _chunks(size, width, phase) if width else None


@lru_cache(maxsize=256)
def _chunks(size: int, width: int, phase: int) -> Array:
    return swizzle(phase + CHUNK * np.arange(-(-size // CHUNK)), width) // CHUNK


def write_box(shared: Array, index: int, mode: int, data: Array) -> None:
    """Put a box's bytes into shared memory, swizzled."""
    places = chunks(len(data), mode, index % PATTERN)
    if places is None:
        shared[index : index + len(data)] = data
    else:
        _as_chunks(shared)[index // PATTERN * (PATTERN // CHUNK) + places] = _as_chunks(data)


def read_box(shared: Array, index: int, mode: int, size: int) -> Array:
    """A box's bytes in order, from swizzled shared memory."""
    places = chunks(size, mode, index % PATTERN)
    if places is None:
        return shared[index : index + size].copy()
    return _as_chunks(shared)[index // PATTERN * (PATTERN // CHUNK) + places].view(np.uint8)


def _as_chunks(data: Array) -> Array:
    """NumPy moves 16-byte elements as fast as it moves any; complex numbers are just their name."""
    return data.view(np.complex128)


def _converted(element: ElementType, values: Array) -> Array:
    """What a load makes of elements on their way: subnormal numbers may become zeros, and `f32` may become `tf32`."""
    if element.flushes:
        values = np.where(values & 0x7F800000 == 0, values & np.uint32(0x80000000), values)
    if element.rounds_to_tf32:
        half = np.uint32(1 << (_TF32_BITS - 1))
        odd = values >> _TF32_BITS & np.uint32(1)
        is_finite = values & np.uint32(0x7F800000) != 0x7F800000
        rounded = values + (half - np.uint32(1)) + odd
        values = np.where(is_finite, rounded, values) & np.uint32(0xFFFFFFFF << _TF32_BITS & 0xFFFFFFFF)
    return values
