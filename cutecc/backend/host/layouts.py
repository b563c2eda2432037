"""Types of the lowered host function: the numbers they consist of, and where these stand in memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from cutecc.backend.host.failure import UntranslatableError
from cutecc.ir.mlir import ir, llvm
from cutecc.record.host_program import ValueType

_types = cast("Any", llvm)
StructType: Any = _types.StructType
PointerType: Any = _types.PointerType
_ARRAY = re.compile(r"!llvm\.array<(\d+) x (.+)>")
"""By its text: only the bindings since 4.8 have a class for it."""
_LLVM = re.compile(r"(?:array|struct|vec)<|ptr\b")
"""How the text of one of LLVM's types begins inside of another."""

_MOST_ELEMENTS = 4096
"""Of an array that is taken apart into its numbers."""

BYTES: dict[ValueType, int] = {
    **{"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8},
    **{"f16": 2, "bf16": 2, "f32": 4, "f64": 8},
}
"""Size and alignment in memory."""

_NAMED: dict[str, ValueType] = {
    **{"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"},
    **{"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "index": "i64"},
    **{"!cuda.stream": "i64", "!cuda.event": "i64", "!cuda.result": "i32", "!ptr.ptr<#ptr.generic_space>": "i64"},
}


@dataclass(frozen=True)
class Layout:
    """A type in memory, in bytes, as C lays it out."""

    size: int
    align: int
    numbers: tuple[tuple[int, ValueType], ...]
    """Every number in it, left to right: its offset and type."""
    parts: tuple[tuple[int, int, Layout], ...] = ()
    """The direct members of a struct or array: offset, index of the first number, layout."""

    @property
    def types(self) -> list[ValueType]:
        """The types of the numbers."""
        found: list[ValueType] = [type_ for _, type_ in self.numbers]
        return found

    def part(self, position: Iterable[int]) -> tuple[int, int, Layout]:
        """The member that a path of indices leads to: its offset, the index of its first number, its layout."""
        offset, first, layout = 0, 0, self
        for index in position:
            inner_offset, inner_first, layout = layout.parts[index]
            offset, first = offset + inner_offset, first + inner_first
        return offset, first, layout


class Layouts:
    """The layouts of the types of one module, each computed once."""

    def __init__(self) -> None:
        self._known: dict[ir.Type, Layout] = {}

    def __call__(self, type_: ir.Type) -> Layout:
        """The layout of `type_`. An empty struct takes no bytes; a vector is aligned to its size.

        Raises `UntranslatableError` for a type that is not made of numbers.
        """
        layout = self._known.get(type_)
        if layout is None:
            layout = self._known[type_] = self._compute(type_)
        return layout

    def _compute(self, type_: Any) -> Layout:
        if isinstance(type_, StructType):
            if type_.opaque:
                raise UntranslatableError(f"the host function uses the opaque type `{type_}`")
            return _struct([self(member) for member in type_.body], packed=type_.packed)
        if isinstance(type_, PointerType):
            return _number("i64")
        if isinstance(type_, ir.VectorType):
            lanes = _struct([self(type_.element_type)] * math.prod(type_.shape))
            size = 1 << (lanes.size - 1).bit_length()
            return Layout(size, size, lanes.numbers, lanes.parts)
        text = str(type_)
        if array := _ARRAY.fullmatch(text):
            inner = f"!llvm.{array[2]}" if _LLVM.match(array[2]) else array[2]
            count, element = int(array[1]), self(ir.Type.parse(inner, type_.context))
            if count * max(1, len(element.numbers)) > _MOST_ELEMENTS:
                raise UntranslatableError(f"the host function uses the type `{type_}`, which is too large")
            return _struct([element] * count)
        if text == "!cuda.tensor_map":
            return DESCRIPTOR
        name = _NAMED.get(text)
        if name is None:
            raise UntranslatableError(f"the host function uses the type `{type_}`")
        return _number(name)


def _number(type_: ValueType) -> Layout:
    return Layout(BYTES[type_], BYTES[type_], ((0, type_),))


def _struct(members: list[Layout], *, packed: bool = False) -> Layout:
    offset, align = 0, 1
    numbers: list[tuple[int, ValueType]] = []
    parts: list[tuple[int, int, Layout]] = []
    for member in members:
        if not packed:
            offset = aligned(offset, member.align)
            align = max(align, member.align)
        parts.append((offset, len(numbers), member))
        numbers.extend((offset + inner, type_) for inner, type_ in member.numbers)
        offset += member.size
    return Layout(aligned(offset, align), align, tuple(numbers), tuple(parts))


DESCRIPTOR = Layout(128, 64, tuple((8 * word, "i64") for word in range(16)))
"""A TMA descriptor, `CUtensorMap`."""


def aligned(offset: int, align: int) -> int:
    """The next multiple of `align`."""
    return -(-offset // align) * align
