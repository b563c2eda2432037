"""The memory that a buffer of the `lir` dialect takes, read off the text of its type."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_MEMREF = re.compile(
    r"!cute\.memref<(?P<element>[\w.]+), (?P<space>\w+)(?:, align<(?P<alignment>\d+)>)?(?P<swizzle>, S<[\d,-]+>)?, "
    r'"(?P<shape>[\d(),]+):(?P<stride>[\d(),]+)">'
)
_WIDTH = re.compile(r"(?:[su]?i|t?f|bf)(\d+)(?:E\d+M\d+\w*)?")


@dataclass(frozen=True)
class Buffer:
    """A `!cute.memref` with a static layout, its elements whole bytes or parts of one."""

    element: str
    """The element type's text."""
    bits: int
    """How wide an element is."""
    space: str
    """`rmem`, `smem`, `tmem`."""
    alignment: int | None
    """In bytes, where the type says it; an element's size where it does not."""
    swizzle: str
    """What the pointer's type says about swizzling, with the comma before it; empty for none."""
    layout: str
    """Shape and stride, as CuTe prints them."""

    @classmethod
    def parse(cls, text: str) -> Buffer | None:
        """The buffer whose type is `text`; `None` when it is no memref, or one whose layout is not known here."""
        match = _MEMREF.fullmatch(text)
        width = match and _WIDTH.fullmatch(match["element"])
        if not match or not width:
            return None
        bits = int(width[1])
        alignment = int(match["alignment"]) if match["alignment"] else None
        layout = f"{match['shape']}:{match['stride']}"
        if bits == 1:
            bits = 8  # memory holds a truth value in a byte
        return cls(match["element"], bits, match["space"], alignment, match["swizzle"] or "", layout)

    @property
    def bytes_aligned(self) -> int:
        """The alignment in bytes; 0 where it is not known."""
        return self.alignment or (0 if self.bits % 8 else self.bits // 8)

    @property
    def elements(self) -> int:
        """How many elements the layout maps."""
        return math.prod(self._modes()[0])

    @property
    def extent(self) -> int:
        """One more than the largest offset, in elements."""
        shape, stride = self._modes()
        return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))

    @property
    def shared_bytes(self) -> int:
        """How much shared memory holds the extent; elements that are parts of a byte lie in groups of whole bytes."""
        group = math.lcm(self.bits, 8)
        return -(-self.extent // (group // self.bits)) * group // 8

    @property
    def register_bytes(self) -> int:
        """How much a thread's own memory holds the elements, each in whole bytes."""
        return self.elements * -(-self.bits // 8)

    @property
    def tensor_columns(self) -> int:
        """How many 32-bit columns of tensor memory the extent reaches; its upper 16 bits count lanes."""
        return -(-self.extent * self.bits // 32) % 65536

    def memref(self, alignment: int) -> str:
        """The same type with another alignment."""
        return f'!cute.memref<{self.element}, {self.space}, align<{alignment}>{self.swizzle}, "{self.layout}">'

    @property
    def pointer(self) -> str:
        """The type of the memref's iterator."""
        return f"!cute.ptr<{self.element}, {self.space}, align<{self.bytes_aligned}>{self.swizzle}>"

    def _modes(self) -> tuple[list[int], list[int]]:
        shape, stride = self.layout.split(":")
        return [int(size) for size in re.findall(r"\d+", shape)], [int(step) for step in re.findall(r"\d+", stride)]
