"""What the user's source calls a kernel's memory: `tile[3, 17]` for a place in shared memory, `sums` for registers.

Known of kernels that were compiled with line info (`cutecc.record.variables`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutecc.errors import SourceLocation
from cutecc.record.variables import Variable


@dataclass(frozen=True)
class Names:
    """Those of one kernel."""

    variables: tuple[Variable, ...] = ()

    @classmethod
    def of(cls, variables: Iterable[Variable], kernel: str) -> Names:
        """Those of the kernel with this symbol."""
        return cls(tuple(each for each in variables if each.kernel == kernel))

    def shared(self, address: int, start: int) -> str | None:
        """What lies at an address of shared memory; `start` is that of dynamic shared memory.

        `tile[3, 17]`, `tile[3, 17] + 2 bytes` inside of an element, `tile + 540 bytes` where no element is.
        """
        offset = address - start
        for each in self.variables:
            if each.space == "shared" and each.offset <= offset < each.offset + each.bytes:
                if each.swizzle is not None:
                    offset = _swizzled(address, *each.swizzle) - start
                return _element(each, offset - each.offset)
        return None

    def fragments(self, location: SourceLocation | None, accumulates: bool) -> list[Variable]:
        """The fragments that a line reads or writes; with `accumulates` those that it adds to, if it does."""
        if location is None:
            return []
        line = f"{location.file}:{location.line}:"
        there = [each for each in self.variables if any(use.startswith(line) for use in each.uses)]
        adding = [each for each in there if any(use.startswith(line) for use in each.accumulates)]
        return adding if accumulates and adding else there


def _swizzled(address: int, bits: int, base: int, shift: int) -> int:
    """Where a swizzle, which is its own inverse, puts an address."""
    flips = address & ((1 << bits) - 1) << base + max(shift, 0)
    return address ^ (flips >> shift if shift >= 0 else flips << -shift)


def _element(variable: Variable, offset: int) -> str:
    """By the byte of the variable."""
    if not variable.modes:
        return f"{variable.name} + {offset} bytes" if offset else variable.name
    index, bit = divmod(8 * offset, variable.element_bits)
    places = np.zeros((1,) * 0, np.int64)
    for mode in variable.modes:
        places = np.add.outer(places, _mode(mode))
    found = np.argwhere(places == index)
    if not len(found):
        return f"{variable.name} + {offset} bytes"
    inside = f" + {bit // 8} bytes" if bit >= 8 else ""
    return f"{variable.name}[{', '.join(map(str, found[0].tolist()))}]{inside}"


def _mode(parts: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The offset of each coordinate of a mode, counted through the modes inside, leftmost first."""
    found = np.zeros(1, np.int64)
    for size, stride in parts:
        found = np.add.outer(np.arange(size) * stride, found).reshape(-1)
    return found
