"""The descriptor of a matrix in shared memory, and the address of each of its elements.

PTX ISA, 9.7.16.3 "Major-ness supported by Strides", 9.7.16.3.1 "Leading Dimension Stride" with its absolute mode,
9.7.16.3.2 "Stride Dimension Byte Offset", 9.7.16.3.3 "Canonical Layouts", 9.7.16.4.1 "Shared memory descriptor" with
tables 40 and 41, 9.7.16.10.3 "Valid Combinations of Type-Size, Major-ness and Swizzling", 9.7.16.10.4.4 and .6 for
packing, 9.7.16.10.6 "Shared Memory Layout and Swizzling" with table 53.

Everything is in bytes. Swizzling is of the address, not of the place in the matrix: bits of it are exclusive-or'ed with
bits three (two) further up, which is how a descriptor may start within an atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

UNIT = 16
"""Bytes of an element of 128 bits, in which the manual counts rows and columns."""
ABSOLUTE_MODE_BYTES = 48
"""Of K for which `absolute_leading` is."""
_REPETITION = 128


class Swizzle(IntEnum):
    """As bits 61 to 63 have it."""

    NONE = 0
    B128_ATOM_32B = 1
    B128 = 2
    B64 = 4
    B32 = 6

    @property
    def width(self) -> int:
        """Bytes of an atom along its contiguous dimension."""
        return {Swizzle.NONE: 16, Swizzle.B32: 32, Swizzle.B64: 64}.get(self, 128)

    @property
    def pattern(self) -> int:
        """After how many bytes it repeats: where the start has to be aligned for a base offset of zero."""
        return 8 * self.width

    @property
    def atom_lines(self) -> int:
        """Of an MN-major atom, along K: lines of `width` bytes."""
        return 4 if self is Swizzle.B128_ATOM_32B else 8

    def apply(self, address: int, base_offset: int = 0) -> int:
        """The address where the byte really is. `base_offset` moves the start of the pattern, in lines of 128 bytes."""
        line = (address >> 7) - base_offset
        match self:
            case Swizzle.NONE:
                return address
            case Swizzle.B128_ATOM_32B:
                return address ^ (line & 3) << 5
            case Swizzle.B128:
                return address ^ (line & 7) << 4
            case Swizzle.B64:
                return address ^ (line & 3) << 4
            case Swizzle.B32:
                return address ^ (line & 1) << 4


class Major(Enum):
    """Which dimension is contiguous: the transpose bits of the instruction descriptor say it, 0 for K."""

    K = 0
    MN = 1


class Storage(Enum):
    """How elements are packed along their contiguous dimension: bits of one, and how many are in 16 bytes."""

    BITS32 = (32, 4)
    BITS16 = (16, 8)
    BITS8 = (8, 16)
    BITS4 = (4, 32)
    """Of `mxf4` and `mxf4nvf4`: two in a byte, no padding."""
    BITS6_PADDED = (6, 16)
    """Of `f8f6f4` and `mxf8f6f4`: 16 in 12 bytes, and 4 bytes of padding."""
    BITS4_PADDED = (4, 16)
    """Of `f8f6f4` and `mxf8f6f4`: 16 in 8 bytes, and 8 bytes of padding."""

    @property
    def bits(self) -> int:
        return self.value[0]

    @property
    def in_a_unit(self) -> int:
        return self.value[1]

    def place(self, index: int) -> tuple[int, int]:
        """Byte, and first bit in it, of an element; the lower one of two in a byte has the lower index."""
        unit, element = divmod(index, self.in_a_unit)
        byte, bit = divmod(element * self.bits, 8)
        return UNIT * unit + byte, bit


@dataclass(frozen=True)
class SharedDescriptor:
    start: int
    leading: int
    """An offset, or with `absolute_leading` the address of the second chunk."""
    stride: int
    swizzle: Swizzle
    base_offset: int = 0
    absolute_leading: bool = False

    def encode(self) -> int:
        fields = (
            (_encoded(self.start), 0),
            (_encoded(self.leading), 16),
            (_encoded(self.stride), 32),
            (0b001, 46),
            (self.base_offset, 49),
            (int(self.absolute_leading), 52),
            (int(self.swizzle), 61),
        )
        return sum(value << first for value, first in fields)

    @staticmethod
    def decode(bits: int) -> SharedDescriptor:
        """Raises ValueError for what the manual has no meaning for."""
        if bits >> 46 & 0b111 != 0b001 or bits >> 53 & 0xFF or bits >> 14 & 0b11 or bits >> 30 & 0b11:
            raise ValueError(f"fixed or reserved bits of {bits:#x} are others")
        return SharedDescriptor(
            start=(bits & 0x3FFF) << 4,
            leading=(bits >> 16 & 0x3FFF) << 4,
            stride=(bits >> 32 & 0x3FFF) << 4,
            swizzle=Swizzle(bits >> 61),
            base_offset=bits >> 49 & 0b111,
            absolute_leading=bool(bits >> 52 & 1),
        )

    def k_major(self, row: int, byte: int) -> int:
        """The address of a byte of a row, of M or N, whose bytes along K are contiguous but for swizzling.

        Rows are in groups of eight, `stride` apart. Without swizzling, 16 bytes of a row are `leading` apart.
        """
        group, line = divmod(row, 8)
        lines = group * self.stride + line * self.swizzle.width
        unit, within = divmod(byte, UNIT)
        if self.swizzle is Swizzle.NONE:
            return self.start + lines + unit * self.leading + within
        first, offset = self.start, byte
        if self.absolute_leading and self.start % _REPETITION + byte >= _REPETITION:
            # What does not fit into the line of 128 bytes is at the beginning of the second chunk's.
            first, offset = self.leading, self.start % _REPETITION + byte - _REPETITION
        return self.swizzle.apply(first + lines + offset, self.base_offset)

    def mn_major(self, byte: int, k: int) -> int:
        """The address of a byte along M or N, for one index of K: lines of the swizzle's width, one for each k.

        Further lines along M or N are `leading` apart and further groups of K `stride`; without swizzling the other
        way round.
        """
        block, within = divmod(byte, self.swizzle.width)
        group, line = divmod(k, self.swizzle.atom_lines)
        blocks, groups = self.leading, self.stride
        if self.swizzle is Swizzle.NONE:
            blocks, groups = groups, blocks
        address = self.start + block * blocks + group * groups + line * self.swizzle.width + within
        return self.swizzle.apply(address, self.base_offset)

    def element(self, major: Major, storage: Storage, mn: int, k: int) -> tuple[int, int]:
        """Address of the first byte that an element has bits in, and its first bit there.

        An element of 6 bits may have its last ones in the next byte: 16 bytes are contiguous in every layout.
        """
        byte, bit = storage.place(k if major is Major.K else mn)
        return (self.k_major(mn, byte) if major is Major.K else self.mn_major(byte, k)), bit


def refusal_of_layout(storage: Storage, major: Major, swizzle: Swizzle) -> str | None:
    """Why elements of this size may not be so (table 52), or None.

    K-major elements have "all swizzling modes" there; table 53 has no K-major atom for 32-byte atoms.
    """
    if major is Major.K:
        return None
    if storage not in (Storage.BITS8, Storage.BITS16, Storage.BITS32):
        return "elements of 4 and 6 bits are K-major"
    if (storage is Storage.BITS32) != (swizzle is Swizzle.B128_ATOM_32B):
        return "32-byte atoms are for MN-major elements of 32 bits, which have no other"
    return None


def refusal_of_absolute_leading(descriptor: SharedDescriptor, major: Major) -> str | None:
    """Why `absolute_leading` may not be used so (9.7.16.3.1.2.1); only sm_103a has it."""
    if descriptor.swizzle is not Swizzle.B128:
        return "only 128-byte swizzling with 16-byte atoms"
    if major is not Major.K:
        return "only K-major"
    if descriptor.base_offset:
        return "no base offset"
    return None


def base_offset_of(pattern_start: int) -> int:
    return pattern_start >> 7 & 0b111


def _encoded(value: int) -> int:
    return (value & 0x3FFFF) >> 4
