"""The zero-column mask of `tcgen05.mma.ws`: 64 bits (PTX ISA, "Zero-Column Mask Descriptor").

N is in one, two or four parts, by M. In each, spans of columns that are used and of columns that count as zeros take
turns. The names of the two spans in the manual's table are reversed against its examples, which are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutecc.emulator.machine.lanes import Array


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """What the bits say."""

    starts: tuple[int, ...] = (0,) * 4
    """Of each part, the columns of the pattern that are left out."""
    begins_with_zeros: tuple[bool, ...] = (False,) * 4
    is_any: bool = False
    """Whether any column is zero."""
    zeros: int = 1
    """Zero columns in a row."""
    used: int = 1
    shift: int = 0
    """From which column of B on it is multiplied."""

    @classmethod
    def decode(cls, bits: int) -> ColumnMask:
        return cls(
            tuple(bits >> 8 * part & 0xFF for part in range(4)),
            tuple(bool(bits >> 32 + part & 1) for part in range(4)),
            bool(bits >> 39 & 1),
            (bits >> 40 & 0xFF) + 1,
            (bits >> 48 & 0xFF) + 1,
            bits >> 56 & 0x3F,
        )

    def is_zero(self, columns: int, parts: int) -> Array:
        """Which columns of B count as zeros."""
        if not self.is_any:
            return np.zeros(columns, np.bool_)
        part, inside = np.divmod(np.arange(columns), columns // parts)
        place = (inside + np.array(self.starts)[part]) % (self.used + self.zeros)
        return np.where(np.array(self.begins_with_zeros)[part], place < self.zeros, place >= self.used)
