# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""16 bytes at a time of lines that begin anywhere.

Memory gives 16 bytes at multiples of 16 only. Inside a line, what lies across such a multiple is loaded as the two
vectors that it is part of, and shifted together. Where one of those would begin before the line or end behind it,
elements are loaded one by one.
"""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.kernels.byte_permutation import permuted_bytes
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand

WORDS = WIDEST_ALIGNMENT // 4
_CODES = {8: cutlass.Uint8, 16: cutlass.Uint16, 32: cutlass.Uint32}


class LineVectors:
    """Reads vectors of a tensor (elements of a line, lines, batches), whose lines are contiguous."""

    def __init__(self, operand: Operand):
        self.bytes, self.code = operand.bits // 8, _CODES[operand.bits]
        self.vector, self.alignment = WIDEST_ALIGNMENT // self.bytes, operand.alignment_bytes

    @cute.jit
    def read(self, source, first, lines, batch) -> cute.Tensor:
        """The vectors that begin with the element `first` of some `lines`, as words: (word, line).

        What lies outside of the tensor is zeros; `first` is a multiple of `vector`.
        """
        count = len(lines)
        low, high = self.words(count), self.words(count)
        length, line_count, _ = source.shape
        is_aligned = cutlass.const_expr(self.alignment >= WIDEST_ALIGNMENT)
        # Loads of all lines first, so that they are under way together.
        for i in cutlass.range_constexpr(count):
            begin, shift = self.place(source, first, lines[i], batch)
            if self.is_inside(shift, first, length) & (lines[i] < line_count):
                cute.autovec_copy(_vector_at(begin), low[None, i])
                if cutlass.const_expr(not is_aligned):
                    cute.autovec_copy(_vector_at(begin + WIDEST_ALIGNMENT), high[None, i])
        codes = cute.recast_tensor(low, self.code)
        elements = cute.recast_tensor(source, self.code)
        for i in cutlass.range_constexpr(count):
            _, shift = self.place(source, first, lines[i], batch)
            if cutlass.const_expr(not is_aligned):
                self.shift(low, high, i, shift * self.bytes)
            if (not self.is_inside(shift, first, length)) & (lines[i] < line_count):
                for element in cutlass.range_constexpr(self.vector):
                    if first + element < length:
                        codes[element, i] = elements[first + element, lines[i], batch]
        return low

    def words(self, count: int) -> cute.Tensor:
        """Zeros for `count` vectors."""
        words = cute.make_rmem_tensor((WORDS, count), cutlass.Uint32)
        words.fill(0)
        return words

    def place(self, source, first, line, batch):
        """The multiple of 16 bytes at or before an element's address, and how many elements lie between the two."""
        address = source[None, line, batch].iterator.toint() + cutlass.Int64(first) * self.bytes
        if self.alignment >= WIDEST_ALIGNMENT:
            return address, 0
        before = cutlass.Int32(address & (WIDEST_ALIGNMENT - 1))
        return address - before, before // self.bytes

    def is_inside(self, shift, first, length):
        """Whether the vectors that are loaded lie inside the line."""
        if self.alignment >= WIDEST_ALIGNMENT:
            return first + self.vector <= length
        return (first >= shift) & (first - shift + 2 * self.vector <= length)

    @cute.jit
    def shift(self, low, high, line: cutlass.Constexpr, offset):
        """Keep the 16 bytes from `offset` on of two vectors, in `low`."""
        words = [low[i, line] for i in range(WORDS)] + [high[i, line] for i in range(WORDS)]
        for distance in (2, 1):
            if cutlass.const_expr(self.alignment <= distance * 4):
                is_far = (offset & (distance * 4)) != 0
                pairs = zip(words[distance:], words, strict=False)
                words = [cutlass.Uint32(cutlass.select_(is_far, far, near)) for far, near in pairs]
        if cutlass.const_expr(self.alignment < 4):
            # Of the eight bytes of two words, the four from this one on.
            four = 0x3210 + (offset & 3) * 0x1111
            words = [permuted_bytes(words[i], words[i + 1], four) for i in range(WORDS)]
        for i in cutlass.range_constexpr(WORDS):
            low[i, line] = words[i]


def _vector_at(address) -> cute.Tensor:
    pointer = cute.make_ptr(cutlass.Uint32, address, cute.AddressSpace.gmem, assumed_align=WIDEST_ALIGNMENT)
    return cute.make_tensor(pointer, cute.make_layout((WORDS,)))
