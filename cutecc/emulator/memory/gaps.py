"""What strides leave between the elements of tensors: bytes of a tensor's extent that are none of its elements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask
from cutecc.emulator.memory.allocations import Allocation, elements_of
from cutecc.emulator.memory.elements import Elements
from cutecc.emulator.memory.region import Region


class Gaps:
    """The gaps of one region that is made of tensors alone, at least one of which has some."""

    def __init__(self, tensors: list[tuple[int, Elements]]) -> None:
        """Each tensor with the offset of its extent in the region."""
        self._tensors = tensors

    @classmethod
    def of(cls, region: Region, allocations: Iterable[Allocation]) -> Gaps | None:
        """Those of a region, made of some of these allocations; `None` when every byte may be an element."""
        tensors: list[tuple[int, Elements]] = []
        for each in allocations:
            offset = each.base - int(region.start)
            if each.size and 0 <= offset < region.size:
                elements = elements_of(each)
                if elements is None or (not elements.has_gaps and each.size == region.size):
                    return None
                tensors.append((offset, elements))
        return cls(tensors) if any(elements.has_gaps for _, elements in tensors) else None

    def inside(self, offsets: Array, size: int) -> Mask:
        """Which accesses of `size` bytes, at offsets in the region, touch no element of any tensor."""
        outside = np.ones(offsets.shape, np.bool_)
        for start, elements in self._tensors:
            # An element that is touched holds the first or last byte, or one that is whole elements from the first.
            steps = {*range(0, size, max(1, elements.bits // 8)), size - 1}
            for step in steps:
                outside &= ~elements.holds(offsets - start + step)
        return outside

    def tensor_at(self, offset: int) -> str:
        """The name of the tensor whose gap it is."""
        return next(elements.name for start, elements in self._tensors if 0 <= offset - start < elements.size)
