"""Bytes of a tensor's memory as elements of the tensor: `a[3, 17]`."""

from __future__ import annotations

from dataclasses import dataclass


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

    def describe(self, offset: int) -> str:
        """What is at an offset from the start of the extent.

        Of elements that several coordinates share, it is one of these. What strides leave out is between elements.
        """
        low, high = self.extent
        if offset < 0 or offset >= high - low:
            return self._outside(offset, high - low)
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

    def _outside(self, offset: int, size: int) -> str:
        if offset < 0:
            return f"{self.name} - {_bytes(-offset)}, before its start"
        past = offset - size
        return f"{self.name} + {_bytes(offset)}, {f'{past} past its end' if past else 'just past its end'}"


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"
