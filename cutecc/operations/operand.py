"""A matrix that a kernel reads or writes: its type, how it lies in memory, and what its addresses are multiples of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from cutecc.arguments.dtypes import close_type_names, find_numeric_type
from cutecc.errors import UsageError
from cutecc.operations.words import known_word, positive_integer, shown, text_of, unknown_word, whole_number

Layout = Literal["row", "column", "row_interleaved32", "column_interleaved32"]
"""How a matrix lies in memory, as the user sees it: `row` has contiguous rows, `column` contiguous columns.

`column_interleaved32` keeps 32 columns together: element (r, c) of R rows is at `(c // 32) * 32 * R + r * 32 + c % 32`.
`row_interleaved32` keeps 32 rows together: of C columns at `(r // 32) * 32 * C + c * 32 + r % 32`.
"""
Role = Literal["a", "b", "c", "d"]
"""Which matrix of a product an operand is."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
OPERAND_TYPES = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "u8", "i32")
"""The types of matrices, by their names in `cutecc.arguments.dtypes`."""
ROUNDED_TYPES = {"tf32": "f32"}
"""Types that tensor cores round elements in memory to; who names one asks for that, and means a matrix of the other."""
WIDEST_ALIGNMENT = 16
"""Bytes: no access is wider."""

_USUAL_INTERLEAVED = "interleaved32"
"""The layout with 32 elements of K (A, B) or N (C, D) together: the same words mean other memory by the role."""
_LAYOUT_WORDS: dict[str, Layout] = {
    "row": "row",
    "column": "column",
    "row_interleaved32": "row_interleaved32",
    "column_interleaved32": "column_interleaved32",
    "row_major_interleaved32": "row_interleaved32",
    "column_major_interleaved32": "column_interleaved32",
    "row_major": "row",
    "column_major": "column",
    "col": "column",
    "r": "row",
    "c": "column",
    "t": "row",
    "n": "column",
}
TRANSPOSED: dict[Layout, Layout] = {
    "row": "column",
    "column": "row",
    "row_interleaved32": "column_interleaved32",
    "column_interleaved32": "row_interleaved32",
}
"""By the layout of a matrix: that of the transposed one in the same memory."""


@dataclass(frozen=True)
class Operand:
    """A matrix in global memory. Written `f16:row:8`."""

    dtype: str
    """The type of its elements, a name of `OPERAND_TYPES`; other names of the same type are turned into that one.

    Where a kernel is still to be chosen also `tf32`: elements are f32, and may be rounded to tf32.
    """
    layout: Layout
    alignment: int = 0
    """Elements that the address and every leading dimension are multiples of; as many as 16 bytes hold if not given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _known_type(type_name(self.dtype)))
        object.__setattr__(self, "layout", known_layout(self.layout))
        alignment = whole_number(self.alignment, "an alignment in elements")
        object.__setattr__(self, "alignment", alignment or most_aligned(self.dtype))

    @classmethod
    def parse(cls, text: str, role: Role | None = None) -> Operand:
        """The operand that `type:layout:alignment` spells; `row` and 16 bytes where the last two are left out.

        With a `role`, the layout may be `interleaved32`. Raises `UsageError` for an unknown type or layout, and for an
        alignment that is no whole number from 1.
        """
        words = text_of(text, "an operand").split(":")
        if len(words) > 3 or not all(word.strip() for word in words):
            raise UsageError(f"operand '{text}' is not type:layout:alignment, such as f16:row:8")
        if len(words) == 2 and words[1].strip().isdecimal():
            hint = f"an alignment is behind a layout: {words[0]}:row:{words[1].strip()}"
            raise UsageError(f"operand '{text}' is not type:layout:alignment", hints=[hint])
        layout = known_layout(words[1], role) if len(words) > 1 else "row"
        alignment = positive_integer(words[2], "an alignment in elements") if len(words) > 2 else 0
        return cls(words[0], layout, alignment)

    def __str__(self) -> str:
        return f"{self.dtype}:{self.layout}:{self.alignment}"

    @property
    def bits(self) -> int:
        return type_bits(self.dtype)

    @property
    def alignment_bytes(self) -> int:
        """Bytes that the address and every leading dimension are multiples of."""
        return self.alignment * self.bits // 8

    @property
    def is_interleaved(self) -> bool:
        """Whether 32 rows or columns are kept together."""
        return self.layout.endswith("interleaved32")

    @property
    def is_along_rows(self) -> bool:
        """Whether neighbours in a row are neighbours in memory; of an interleaved matrix, 32 at a time."""
        return self.layout in ("row", "column_interleaved32")

    @property
    def stored(self) -> Operand:
        """The operand as it is in memory: f32 for `tf32`."""
        return Operand(ROUNDED_TYPES.get(self.dtype, self.dtype), self.layout, self.alignment)

    def transposed(self) -> Operand:
        """The same memory read as the transposed matrix."""
        return Operand(self.dtype, TRANSPOSED[self.layout], self.alignment)


def as_operand(operand: Operand | str, role: Role | None = None) -> Operand:
    """`operand` itself, or the one that the text spells of the matrix `role`."""
    if not isinstance(operand, Operand | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"an operand is text such as f16:row:8, or an Operand, not {shown(operand)}",
            hints=["of arrays: Gemm.for_arguments(A, B, C, D)"],
        )
    return operand if isinstance(operand, Operand) else Operand.parse(operand, role)


@cache
def type_bits(dtype: str) -> int:
    """Bits of one element of a type that `cutecc.arguments.dtypes` knows."""
    found = find_numeric_type(dtype)
    assert found is not None, dtype
    return found.width


def most_aligned(dtype: str) -> int:
    """The elements of 16 bytes, the widest alignment that matters."""
    return WIDEST_ALIGNMENT * 8 // type_bits(dtype)


def common_alignment(dtype: str, numbers: Sequence[int], addresses: Sequence[int]) -> int:
    """How many elements, 16 bytes at most, all of some numbers of elements and some addresses are multiples of."""
    alignment = most_aligned(dtype)
    while alignment > 1 and (
        any(number % alignment for number in numbers)
        or any(address % (alignment * type_bits(dtype) // 8) for address in addresses)
    ):
        alignment //= 2
    return alignment


def type_name(dtype: object) -> str:
    """The name of an element type: a text as it is, a type of torch, numpy or the DSL by its own name."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", str(dtype))
    return str(name).removeprefix("torch.")


@cache
def _known_type(name: str) -> str:
    found = find_numeric_type(name.strip())
    if found is not None and found.name in (*OPERAND_TYPES, *ROUNDED_TYPES):
        return found.name
    close = [each for each in close_type_names(name.strip()) if each in OPERAND_TYPES]
    raise unknown_word(name, OPERAND_TYPES, "operand type", close=close)


def known_layout(name: str, role: Role | None = None) -> Layout:
    """The layout called `name`, by the words that BLAS has for it too; `UsageError` for others.

    `interleaved32` is the usual one of a `role`, with 32 elements of K together in A and B, of N in C and D.
    """
    word = text_of(name, "a layout").strip().lower()
    if word == _USUAL_INTERLEAVED:
        if role is None:
            raise UsageError(
                f"{word} does not say of what 32 are kept together, unless it is of A, B, C or D",
                hints=["row_interleaved32: rows, as B usually has it; column_interleaved32: columns, as A, C and D"],
            )
        return "row_interleaved32" if role == "b" else "column_interleaved32"
    return _LAYOUT_WORDS.get(word) or known_word(name, LAYOUTS, "layout")  # type: ignore[return-value]
