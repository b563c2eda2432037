"""The zero-column mask of `tcgen05.mma.ws`: which columns of B are used, which count as zeros, and the shift.

PTX ISA, 9.7.16.4.3 "Zero-Column Mask Descriptor", tables 45 to 47 and its four examples. The names of the two spans in
the table are the other way round than the examples have it, and than CUTLASS does: in example 2 a skip span of 2 and a
use span of 3 give three zero columns after four that are used. The examples are followed here. Start counts of as many
columns as the first span or more are in none of them; they count on through the pattern here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnMask:
    start_counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    first_spans: tuple[int, int, int, int] = (0, 0, 0, 0)
    """1 where a part begins with zeros."""
    generates: bool = False
    """Whether any column is zero."""
    skip_span: int = 0
    """Zero columns in a row, less 1."""
    use_span: int = 0
    """Used columns in a row, less 1."""
    shift: int = 0

    def encode(self) -> int:
        starts = sum(count << 8 * part for part, count in enumerate(self.start_counts))
        firsts = sum(first << 32 + part for part, first in enumerate(self.first_spans))
        spans = self.skip_span << 40 | self.use_span << 48 | self.shift << 56
        return starts | firsts | self.generates << 39 | spans

    @staticmethod
    def decode(bits: int) -> ColumnMask:
        return ColumnMask(
            start_counts=(bits & 0xFF, bits >> 8 & 0xFF, bits >> 16 & 0xFF, bits >> 24 & 0xFF),
            first_spans=(bits >> 32 & 1, bits >> 33 & 1, bits >> 34 & 1, bits >> 35 & 1),
            generates=bool(bits >> 39 & 1),
            skip_span=bits >> 40 & 0xFF,
            use_span=bits >> 48 & 0xFF,
            shift=bits >> 56 & 0x3F,
        )

    def is_zero(self, m: int, n: int, column: int) -> bool:
        """Whether the column of the product has zeros for B's. N is in one, two or four parts, by M."""
        if not self.generates:
            return False
        part, inside = divmod(column, n // parts(m))
        used, zeros = self.use_span + 1, self.skip_span + 1
        place = (inside + self.start_counts[part]) % (used + zeros)
        return place < zeros if self.first_spans[part] else place >= used

    def source_column(self, column: int) -> int:
        """Which column of B in shared memory the product's has."""
        return column + self.shift


def parts(m: int) -> int:
    return {128: 1, 64: 2, 32: 4}[m]


def most_shifted(m: int) -> int:
    """What the descriptor may shift by; no more than the instruction descriptor announces either."""
    return 16 if m == 32 else 32
