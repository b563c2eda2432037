"""Loads and stores of wide vectors, such as whole register tensors, as those of several vectors.

Of an array that is loaded as a whole once LLVM makes one value (SROA), of each access of fewer elements shuffles of all
of them, and then simplifies their chains again and again (InstCombine). Of an attention kernel with accumulators of 64
numbers in a thread, LLVM's optimisation took six times as long, for the same code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_WIDE_BITS = 512
"""What LLVM may get whole: such chains are short."""
_PIECE_BITS = 128
"""What one instruction moves at most."""
_WIDE_BYTES_BITS = 32
"""Of bytes, both: they are stored by twos, as conversions make them, and loaded one by one, which LLVM makes values of
in a whole register, but not in a vector of two bytes each. Of four bytes that go through an array whole, one integer:
LLVM would take the last four of a vector apart and put them together again."""
_BITS = {"float": 32, "half": 16, "bfloat": 16, "double": 64, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
# Arrays in registers are in the generic address space.
_ACCESS = re.compile(
    r"  (?:(?P<loaded>%[\w.]+) = load|store) <(?P<count>\d+) x (?P<element>\w+)>(?: (?P<stored>.+))?"
    r", ptr (?P<pointer>%[\w.]+), align (?P<alignment>\d+)(?P<metadata>.*)"
)


def split_wide_accesses(text: str) -> str:
    """LLVM IR with loads and stores of more than 64 bytes as several of 16 bytes, and of more than four `i8` by fours,
    as one integer where all are such fours.

    Volatile ones stay as they are.
    """
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        found = _ACCESS.fullmatch(line) if ", align" in line else None
        if found and int(found["count"]) * _BITS.get(found["element"], 0) > _most_bits(found["element"], _WIDE_BITS):
            access = _Access(
                *(f"%wide.{number}", int(found["count"]), found["element"], found["pointer"], int(found["alignment"])),
                _most_bits(found["element"], _PIECE_BITS),
            )
            split = access.loads(found["loaded"]) if found["loaded"] else access.stores(found["stored"])
            lines += [f"  {each}{found['metadata']}" for each in split]
        else:
            lines.append(line)
    return "\n".join(lines)


def _most_bits(element: str, usual: int) -> int:
    return _WIDE_BYTES_BITS if element == "i8" else usual


@dataclass(frozen=True)
class _Access:
    """A load or store of a wide vector; its methods give instructions for it."""

    prefix: str
    """Of the names of new values."""
    count: int
    element: str
    pointer: str
    alignment: int
    """Bytes."""
    piece_bits: int

    def loads(self, name: str) -> Iterator[str]:
        """Load the vector, as a value called `name`."""
        if words := self._words():
            yield from words.loads(f"{self.prefix}.words")
            yield f"{name} = bitcast {words.type} {self.prefix}.words to {self.type}"
            return
        whole = "poison"
        for begin, end in self._pieces():
            type, piece = self._vector(end - begin), f"{self.prefix}.piece.{begin}"
            address, place = self._place(begin)
            yield address
            yield f"{piece} = load {type}, {place}"
            for index in range(begin, end):
                element, joined = f"{self.prefix}.element.{index}", f"{self.prefix}.to.{index}"
                if index == self.count - 1:
                    joined = name
                yield f"{element} = extractelement {type} {piece}, i64 {index - begin}"
                yield self._insert(joined, self.count, whole, element, index)
                whole = joined

    def stores(self, value: str) -> Iterator[str]:
        """Store the vector `value`."""
        if words := self._words():
            yield f"{self.prefix}.words = bitcast {self.type} {value} to {words.type}"
            yield from words.stores(f"{self.prefix}.words")
            return
        for begin, end in self._pieces():
            piece = "poison"
            for index in range(begin, end):
                element, joined = f"{self.prefix}.element.{index}", f"{self.prefix}.from.{begin}.{index}"
                yield f"{element} = extractelement {self.type} {value}, i64 {index}"
                yield self._insert(joined, end - begin, piece, element, index - begin)
                piece = joined
            address, place = self._place(begin)
            yield address
            yield f"store {self._vector(end - begin)} {piece}, {place}"

    @property
    def type(self) -> str:
        """Of the whole vector."""
        return self._vector(self.count)

    def _words(self) -> _Access | None:
        """The same bytes as integers of four each."""
        if self.element == "i8" and self.count % 4 == 0:
            return replace(self, count=self.count // 4, element="i32")
        return None

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """The first element of each piece, and the one behind its last."""
        length = self.piece_bits // _BITS[self.element]
        for begin in range(0, self.count, length):
            yield begin, min(begin + length, self.count)

    def _place(self, begin: int) -> tuple[str, str]:
        """What computes the address of an element, and how a load or store names it."""
        offset = begin * _BITS[self.element] // 8
        name = f"{self.prefix}.at.{begin}"
        address = f"{name} = getelementptr i8, ptr {self.pointer}, i64 {offset}"
        return address, f"ptr {name}, align {math.gcd(self.alignment, offset)}"

    def _vector(self, count: int) -> str:
        return f"<{count} x {self.element}>"

    def _insert(self, name: str, count: int, vector: str, element: str, index: int) -> str:
        return f"{name} = insertelement {self._vector(count)} {vector}, {self.element} {element}, i64 {index}"
