"""Swizzles of shared memory, and where a matrix is that a wgmma descriptor names (PTX ISA, "Matrix Descriptor Format").

All layouts move whole chunks of 16 bytes. The canonical layouts, in chunks, as functions of a row of M or N and a chunk
along K (K-major), or of a chunk along M or N and a column of K (MN-major); `w` is the swizzle's width in chunks:

| major | swizzle | layout |
|---|---|---|
| K  | none    | `((8,m),k):((1,SBO),LBO)` |
| K  | w chunks | `((8,m),k):((w,SBO),1)` |
| MN | none    | `(m,(8,k)):(SBO,(1,LBO))` |
| MN | w chunks | `((w,m),(8,k)):((1,LBO),(w,SBO))` |

The swizzle is applied to the address itself: it flips bits 4… of the address by its bits 7…, one, two or three of them.
`tcgen05` has the same layouts, and one whose swizzle of 128 bytes leaves 32 together: there MN-major columns of K are
in groups of 4, not 8.
A base offset shifts where the pattern of those rows begins. On sm_103a the leading offset of a K-major matrix may be an
address: that of the lines in which those bytes along K are that do not fit into the lines of 128 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from cutecc.emulator.machine.lanes import Array

CHUNK: Final = 16
"""Bytes that stay together."""
PATTERN: Final = 1024
"""Bytes after which all patterns repeat."""
_LINE: Final = 128
"""Bytes of the widest rows."""
_VERSION_BIT: Final = 46
"""Of descriptors of `tcgen05`: the first of three that are always the same."""
_WIDTHS: Final = {0: 0, 1: 128, 2: 64, 3: 32}
"""Bytes, by the mode in bits 62 and 63 of a descriptor."""
_TENSOR_SWIZZLES: Final = {0: (0, CHUNK), 1: (128, 2 * CHUNK), 2: (128, CHUNK), 4: (64, CHUNK), 6: (32, CHUNK)}
"""Widths and atoms in bytes, by the mode in bits 61 to 63 of a descriptor of `tcgen05`."""


def swizzle(addresses: Array, width: int, base_offset: int = 0, atom: int = CHUNK) -> Array:
    """Where bytes of a pattern of `width` bytes (128, 64, 32; 0 for none) lie: `addresses` with bits 4 to 6 flipped.

    With a base offset, the pattern begins at an address whose bits 7 to 9 are that offset. `atom` bytes stay together:
    with 32 of them bits 5 and 6 are flipped.
    """
    if not width:
        return addresses
    rows = (addresses >> 7) - base_offset
    return addresses ^ ((rows & (width // atom - 1)) * atom)


@dataclass(frozen=True, slots=True)
class MatrixDescriptor:
    """What the 64 bits of a matrix descriptor say."""

    start: int
    """Shared address in bytes, of 18 bits."""
    leading: int
    """Leading dimension byte offset."""
    stride: int
    """Stride dimension byte offset."""
    base_offset: int
    width: int
    """Of the swizzle, in bytes; 0 for none."""
    atom: int = CHUNK
    """Bytes that the swizzle leaves together."""
    is_absolute: bool = False
    """Whether `leading` is an address."""

    @classmethod
    def decode(cls, bits: int) -> MatrixDescriptor:
        return cls(
            (bits & 0x3FFF) << 4,
            (bits >> 16 & 0x3FFF) << 4,
            (bits >> 32 & 0x3FFF) << 4,
            bits >> 49 & 7,
            _WIDTHS[bits >> 62 & 3],
        )

    @classmethod
    def decode_tcgen05(cls, bits: int) -> MatrixDescriptor | str:
        """The same of `tcgen05` (PTX ISA, "Shared memory descriptor"); or what is wrong with it."""
        swizzling = _TENSOR_SWIZZLES.get(bits >> 61)
        if swizzling is None:
            text = f"names swizzle {bits >> 61}, which there is not"
            return f"{text}\nbits 61 to 63 are one of {', '.join(map(str, _TENSOR_SWIZZLES))}"
        if bits >> _VERSION_BIT & 7 != 1:
            text = f"has {bits >> _VERSION_BIT & 7} in bits 46 to 48, where tcgen05 has 1: it reads as one of wgmma"
            return f"{text}\nset bit 46"
        found = cls(
            (bits & 0x3FFF) << 4,
            (bits >> 16 & 0x3FFF) << 4,
            (bits >> 32 & 0x3FFF) << 4,
            bits >> 49 & 7,
            *swizzling,
            bool(bits >> 52 & 1),
        )
        if found.is_absolute and (swizzling != (128, CHUNK) or found.base_offset):
            text = "has an absolute leading offset, which is for swizzles of 128 bytes without base offset alone"
            return f"{text}\nclear bit 52, and give the distance instead"
        return found

    def chunks(self, major: Literal["k", "mn"], outer: int, inner: int) -> tuple[int, Array]:
        """Where the chunks of a matrix lie: an address, a multiple of `PATTERN`, and `int64` offsets from there.

        K-major: offsets have the shape `(outer, inner)`, rows by chunks along K. MN-major: `outer` columns of K by
        `inner` chunks along M or N.
        """
        phase = self.start % PATTERN
        swizzling = self.base_offset, self.width, self.atom
        leading = self.leading - (self.start - phase) if self.is_absolute else self.leading
        offsets = _chunks(phase, leading, self.stride, swizzling, self.is_absolute, major, outer, inner)
        return self.start - phase, offsets


@lru_cache(maxsize=512)
def _chunks(
    phase: int,
    leading: int,
    stride: int,
    swizzling: tuple[int, int, int],
    is_absolute: bool,
    major: Literal["k", "mn"],
    outer: int,
    inner: int,
) -> Array:
    base_offset, width, atom = swizzling
    line, chunk = np.arange(outer)[:, None], np.arange(inner)[None, :]
    wide = width // CHUNK
    if not width and major == "k":
        linear = line % 8 * CHUNK + line // 8 * stride + chunk * leading
    elif not width:
        linear = line % 8 * CHUNK + line // 8 * leading + chunk * stride
    elif major == "k":
        along = chunk * CHUNK
        if is_absolute:
            beyond = phase % _LINE + along - _LINE
            along = np.where(beyond < 0, along, leading - phase + beyond)
        linear = line % 8 * width + line // 8 * stride + along
    else:
        lines = 8 * CHUNK // atom
        linear = line % lines * width + line // lines * stride + chunk % wide * CHUNK + chunk // wide * leading
    return swizzle(phase + linear, width, base_offset, atom)
