"""Bytes of a tensor's memory as elements of the tensor: `a[3, 17]`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask


@dataclass(frozen=True, slots=True)
class Elements:
    """Where the elements of one tensor lie in its memory."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements, of any sign."""
    bits: int
    """Of one element."""

    @property
    def extent(self) -> tuple[int, int]:
        """First byte, and the one behind the last, counted from the address of element `[0, …, 0]`."""
        if 0 in self.shape:
            return 0, 0
        reach = [(size - 1) * step for size, step in zip(self.shape, self.stride, strict=True)]
        low, high = sum(min(0, each) for each in reach), sum(max(0, each) for each in reach)
        return low * self.bits // 8, -(-(high + 1) * self.bits // 8)

    @property
    def size(self) -> int:
        """Bytes of the extent."""
        low, high = self.extent
        return high - low

    @property
    def has_gaps(self) -> bool:
        """Whether strides leave bytes between elements, as far as that can be told.

        Of elements smaller than a byte, and of coordinates that may share an element, it cannot.
        """
        reach, has = 1, False
        for step, size in self._modes_by_stride:
            if step < reach:
                return False
            has |= step > reach
            reach += (size - 1) * step
        return has and self.bits >= 8

    @property
    def _modes_by_stride(self) -> list[tuple[int, int]]:
        """Steps without their signs, ascending, and sizes, of modes that move at all."""
        modes = zip(self.stride, self.shape, strict=True)
        return sorted((abs(step), size) for step, size in modes if step and size > 1)

    def holds(self, offsets: Array) -> Mask:
        """Which bytes, `int64` offsets from the start of the extent, are part of an element."""
        inside = (offsets >= 0) & (offsets < self.size)
        if self.has_gaps:
            linear = offsets // (self.bits // 8)
            for step, size in reversed(self._modes_by_stride):
                linear = linear - np.minimum(linear // step, size - 1) * step
            inside &= linear == 0
        return inside

    def describe(self, offset: int) -> str:
        """What is at an offset from the start of the extent.

        Of elements that several coordinates share, it is one of these. What strides leave out is between elements.
        """
        if offset < 0 or offset >= self.size:
            return self._outside(offset)
        index, rest = self._index(offset * 8 // self.bits)
        element = f"{self.name}[{', '.join(map(str, index))}]" if self.shape else self.name
        if rest:
            return f"{element} + {_bytes(offset - self._offset(index))}, between elements"
        within = offset - self._offset(index)
        return f"{element} + {_bytes(within)}" if within > 0 else element

    def _index(self, linear: int) -> tuple[list[int], int]:
        """Coordinate of an element counted from the start of the extent, and how far behind it that is."""
        index = [size - 1 if step < 0 else 0 for size, step in zip(self.shape, self.stride, strict=True)]
        modes = [mode for mode, step in enumerate(self.stride) if step and self.shape[mode] > 1]
        for mode in sorted(modes, key=lambda mode: -abs(self.stride[mode])):
            step = abs(self.stride[mode])
            number = min(linear // step, self.shape[mode] - 1)
            linear -= number * step
            index[mode] += -number if self.stride[mode] < 0 else number
        return index, linear

    def _offset(self, index: list[int]) -> int:
        """Of an element's first byte, from the start of the extent."""
        linear = sum(number * step for number, step in zip(index, self.stride, strict=True))
        return linear * self.bits // 8 - self.extent[0]

    def _outside(self, offset: int) -> str:
        text = describe_bytes(self.name, self.size, offset)
        if not self.shape:
            return text
        # Without a step, no coordinate says where it is.
        has_index = 0 not in self.shape and any(self.stride)
        index = f" at [{', '.join(map(str, self._index_outside(offset)))}]" if has_index else ""
        return f"{text},{index} of shape ({', '.join(map(str, self.shape))})"

    def _index_outside(self, offset: int) -> list[int]:
        """The coordinate that has this offset when the mode with the largest step goes on."""
        mode = max(range(len(self.shape)), key=lambda mode: (self.shape[mode] > 1, abs(self.stride[mode])))
        mode = mode if self.stride[mode] else max(range(len(self.shape)), key=lambda mode: abs(self.stride[mode]))
        step = abs(self.stride[mode])
        beyond, linear = divmod(offset * 8 // self.bits, step)
        index, _ = self._index(linear)
        index[mode] += -beyond if self.stride[mode] < 0 else beyond
        return index


def describe_bytes(name: str, size: int, offset: int) -> str:
    """What is at an offset from the start of `size` bytes: `p + 40 bytes`, `p + 40 bytes, 8 past its end`."""
    if offset < 0:
        return f"{name} - {_bytes(-offset)}, before its start"
    text = f"{name} + {_bytes(offset)}"
    if offset < size:
        return text
    return f"{text}, {f'{offset - size} past its end' if offset > size else 'just past its end'}"


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"
