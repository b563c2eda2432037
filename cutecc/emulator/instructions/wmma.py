"""`wmma`: matrices that a warp loads, multiplies and stores, and whose place in registers only it knows (PTX ISA, "Warp
Level Matrix Load Instruction: wmma.load", and its neighbours).

Products are those of `mma`, summed as on an H200 likewise. Rows, or columns, of a matrix begin at multiples of its
fragment's size, says the manual; CUDA C++ takes multiples of 16 bytes (`nvcuda::wmma`, `ldm`): the smaller of the two
is what is asked for here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.mma import Multiplication, multiplying
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.numbers.code import Rounding
from cutecc.emulator.numbers.fragments import Major, MatrixFragment, MatrixShape
from cutecc.emulator.numbers.matrix_sums import WIDE, Sum, aligned_to_largest, in_steps
from cutecc.emulator.numbers.wmma_fragments import Role, fragment
from cutecc.ptx.syntax import Immediate, Operand
from cutecc.ptx.types import TYPE_BITS

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_SHAPE: Final = r"m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)"
_TRANSFER: Final = re.compile(
    rf"(?:load|store)\.(?P<role>[abcd])\.sync\.(?:aligned\.)?(?P<major>row|col)\.{_SHAPE}"
    r"(?:\.(?P<space>global|shared|shared::cta))?\.(?P<type>\w+)"
)
_PRODUCT: Final = re.compile(
    r"mma\.(?:(?P<combine>xor|and)\.popc\.)?sync\.(?:aligned\.)?(?P<major_a>row|col)\.(?P<major_b>row|col)"
    rf"\.{_SHAPE}(?:\.(?:rn|rz|rm|rp))?\.(?P<d>[a-z]+\d+)(?:\.(?P<a>\w+)\.(?P<b>\w+))?\.(?P<c>[a-z]+\d+)"
    r"(?:\.satfinite|\.(?:rn|rz|rm|rp))?"
)
"""The manual has the rounding before the types, compilers have it behind them."""
_MOST_ALIGNED: Final = 16
"""Bytes."""
_WORD: Final = 4
"""Bytes."""


# Products.


@dataclass(frozen=True)
class WarpMultiplication(Multiplication):
    """What a form of `wmma.mma` says."""

    @classmethod
    def parse(cls, form: Form) -> WarpMultiplication | None:
        match = _PRODUCT.fullmatch(".".join(form.modifiers))
        if match is None:
            return None
        found = cls(
            _shape(match),
            # `f16` is not said.
            (match["d"], match["a"] or "f16", match["b"] or "f16", match["c"]),
            cast("tuple[Major, Major]", (match["major_a"], match["major_b"])),
            sparse=False,
            saturate=form.has("satfinite"),
            combine=match["combine"] or "",
            rounding=cast(Rounding, form.one_of("rn", "rz", "rm", "rp", default="rn")),
            kind="",
            scales=None,
            scale_type="",
        )
        return found if found._has_types() and found._has_shape() else None

    def _has_shape(self) -> bool:
        d, a, b, c = self.types
        of_both = zip("abcd", (a, b, c, d), (*self.majors, "row", "row"), strict=True)
        return all(fragment(cast(Role, role), self.shape, *each) is not None for role, *each in of_both)

    @cached_property
    def a(self) -> MatrixFragment:
        return _known(fragment("a", self.shape, self.types[1], self.majors[0]))

    @cached_property
    def b(self) -> MatrixFragment:
        return _known(fragment("b", self.shape, self.types[2], self.majors[1]))

    @property
    def sum(self) -> Sum:
        """As the instructions that ptxas makes of it for sm_90: one for all of K, whose D is of `f32` if C is, and of
        `tf32` two of half of K each."""
        d, a, b, c = self.types
        if (d, c) == ("f16", "f32"):
            return aligned_to_largest(WIDE, ("f32", a, b, c))
        if a == "tf32":
            return in_steps(aligned_to_largest(WIDE, ("f32", a, b, c)), self.shape[2] // 2)
        return super().sum

    def result(self, type_: str) -> MatrixFragment:
        return _known(fragment("c", self.shape, type_, "row"))


def _known(found: MatrixFragment | None) -> MatrixFragment:
    assert found is not None
    return found


def _shape(match: re.Match[str]) -> MatrixShape:
    return int(match["m"]), int(match["n"]), int(match["k"])


@instruction("wmma.mma.**")
def multiply(operation: Operation) -> Step:
    form = WarpMultiplication.parse(operation.form)
    if form is None:
        raise operation.unmodelled()
    return multiplying(operation, form)


# Loads and stores.


@dataclass(frozen=True)
class _Piece:
    """Elements of each thread that are neighbours in memory and in its fragment."""

    first: int
    """Of the fragment's elements."""
    count: int
    lines: Array
    """In which row each thread's first one is, or column of a matrix that lies by columns; by lane."""
    places: Array
    """Where in that it is."""


@dataclass(frozen=True)
class _Transfer:
    """What a load or store says."""

    fragment: MatrixFragment
    major: Major
    type: str
    space: str

    @classmethod
    def parse(cls, form: Form) -> _Transfer | None:
        match = _TRANSFER.fullmatch(".".join(form.modifiers))
        if match is None or (form.has("store") != (match["role"] == "d")) or match["type"] not in TYPE_BITS:
            return None
        major = cast(Major, match["major"])
        found = fragment(cast(Role, match["role"]), _shape(match), match["type"], major)
        return None if found is None else cls(found, major, match["type"], match["space"] or "generic")

    @property
    def bits(self) -> int:
        """Of an element."""
        return TYPE_BITS[self.type]

    @property
    def word(self) -> str:
        """The type of a register."""
        return "b64" if self.type == "f64" else "b32"

    @property
    def alignment(self) -> int:
        """Bytes."""
        return min(_MOST_ALIGNED, self.fragment.registers * (8 if self.type == "f64" else _WORD))

    @property
    def width(self) -> int:
        """Elements from the start of a line to that of the next one, unless a stride is given."""
        return self.fragment.shape[1 if self.major == "row" else 0]

    def pieces(self) -> Iterator[_Piece]:
        """All elements, without second copies."""
        rows, columns = (
            np.moveaxis(each, 2, 1).reshape(-1, WARP) for each in (self.fragment.rows, self.fragment.columns)
        )
        lines, places = (rows, columns) if self.major == "row" else (columns, rows)
        own = self.fragment.shape[0] * self.fragment.shape[1] // WARP
        starts = [
            item
            for item in range(own)
            if not item or (lines[item] != lines[item - 1]).any() or (places[item] != places[item - 1] + 1).any()
        ]
        for start, end in zip(starts, [*starts[1:], own], strict=True):
            yield _Piece(start, end - start, lines[start], places[start])

    def reader(self, operation: Operation, base: Operand, stride: list[Operand]) -> Callable[[Gang, Array], Array]:
        """Reads where a line begins of each thread, which are given by lane."""
        address = operation.address(base)
        read_stride = operation.reader(stride[0] if stride else Immediate("integer", self.width), "u32")

        def starts(gang: Gang, lines: Array) -> Array:
            elements = lines.astype(np.uint64) * read_stride(gang).astype(np.uint64)
            return address(gang) + _bytes(elements, self.bits)

        return starts


def _bytes(elements: Array, bits: int) -> Array:
    return elements.astype(np.uint64) * np.uint64(bits) // np.uint64(8)


@instruction("wmma.load.**")
def load(operation: Operation) -> Step:
    """Each thread loads what it holds."""
    form = _transfer(operation)
    destination, base, *stride = operation.operands
    registers = form.fragment.registers
    write = operation.vector_writer(destination, form.word, registers)
    starts = form.reader(operation, base, stride)
    pieces = list(form.pieces())
    word = f"u{TYPE_BITS[form.word] // 8}"

    def execute(gang: Gang, lanes: Lanes) -> None:
        units: list[Array] = []
        for piece in pieces:
            begin = starts(gang, piece.lines)
            there = _aligned(operation, form, gang, lanes, begin)
            size, count = _units(piece.count, form.bits)
            addresses = begin + _bytes(piece.places, form.bits)
            units += gang.machine.memory.load(
                operation, gang, there, form.space, addresses, size, count, min(size * count, _MOST_ALIGNED)
            )
        # One behind the other in memory is one behind the other in registers, the lowest bits first.
        words = np.stack(units, axis=-1).view(word)
        own = [np.ascontiguousarray(words[..., each]) for each in range(words.shape[-1])]
        write(gang, lanes, [own[each % len(own)] for each in range(registers)])

    return aligned(operation, execute)


@instruction("wmma.store.d.**")
def store(operation: Operation) -> Step:
    """Each thread stores what it holds."""
    form = _transfer(operation)
    base, source, *stride = operation.operands
    read = operation.vector_reader(source, form.word, form.fragment.registers)
    starts = form.reader(operation, base, stride)
    pieces = list(form.pieces())

    def execute(gang: Gang, lanes: Lanes) -> None:
        words = np.stack([np.broadcast_to(each, gang.shape) for each in read(gang)], axis=-1)
        for piece in pieces:
            begin = starts(gang, piece.lines)
            there = _aligned(operation, form, gang, lanes, begin)
            size, count = _units(piece.count, form.bits)
            units, first = words.view(f"u{size}"), piece.first * form.bits // (8 * size)
            values = [np.ascontiguousarray(units[..., first + each]) for each in range(count)]
            addresses = begin + _bytes(piece.places, form.bits)
            gang.machine.memory.store(operation, gang, there, form.space, addresses, values)

    return aligned(operation, execute)


def _aligned(operation: Operation, form: _Transfer, gang: Gang, lanes: Lanes, begin: Array) -> Lanes:
    """Faults of those threads whose lines begin elsewhere; the others."""
    wrong = lanes.mask & (begin % np.uint64(form.alignment) != 0)
    if not wrong.any():
        return lanes
    line = "row" if form.major == "row" else "column"
    message = (
        f"takes a matrix of which a {line} begins at an address that is not a multiple of {form.alignment}\n"
        "a stride that is such a multiple of bytes, and a matrix that begins at one, do"
    )
    gang.machine.fault("misaligned", message, operation, gang, wrong)
    return lanes.only(~wrong)


def _transfer(operation: Operation) -> _Transfer:
    form = _Transfer.parse(operation.form)
    if form is None:
        raise operation.unmodelled()
    return form


def _units(count: int, bits: int) -> tuple[int, int]:
    """Bytes of a unit that memory is accessed in, and how many make so many elements: words where they are whole."""
    size = max(bits // 8, _WORD) if count * bits % (8 * _WORD) == 0 else bits // 8
    return size, count * bits // (8 * size)
