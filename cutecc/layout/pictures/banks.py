"""The banks of shared memory: which one an element lies in."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.errors import LayoutError

COUNT = 32
BITS = 32
"""The width of a bank: 4 bytes. Word `i` of shared memory lies in bank `i % 32`, on every GPU since sm_50."""


@dataclass(frozen=True)
class Banks:
    """Elements of `element_bits` in shared memory, offset 0 at the beginning of bank 0."""

    element_bits: int

    def __post_init__(self) -> None:
        if self.element_bits not in (1, 2, 4, 6, 8, 16, 32, 64, 128):
            raise LayoutError(f"elements have 1, 2, 4, 6, 8, 16, 32, 64 or 128 bits, not {self.element_bits}")

    def first(self, offset: int) -> int:
        """The bank that the element at `offset` begins in."""
        return offset * self.element_bits // BITS % COUNT

    def label(self, offset: int) -> str:
        """The bank of the element at `offset`, or the banks, `4-7`."""
        first = self.first(offset)
        wide = self.element_bits // BITS
        return str(first) if wide <= 1 else f"{first}-{first + wide - 1}"
