"""Loads and stores of a tensor's elements, as wide as its layout and alignment allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir, llvm, vector
from cutecc.ir.types import AddressSpace, Pointer, Scalar, Vector, to_type
from cutecc.ir.types.values import Element
from cutecc.layout import AnyLayout, Layout, coalesce, leaves
from cutecc.layout.integers import Integer, divisibility
from cutecc.layout.swizzle import Swizzle
from cutecc.passes.lowering.values.integers import Arithmetic
from cutecc.passes.lowering.values.leaves import pointer_type
from cutecc.passes.lowering.values.pointers import advance, swizzled

Loading = Callable[[ir.Type, ir.Value, int], ir.Value]
"""Loads a vector of a type from a pointer of an alignment in bytes."""
Storing = Callable[[ir.Value, ir.Value, int], None]
"""Stores a vector to such a pointer."""


@dataclass(frozen=True)
class Tensor:
    """A tensor in memory while it is lowered: its pointer, and the numbers of its layout."""

    pointer: ir.Value
    """To its first element; of LLVM's."""
    element: Element
    space: AddressSpace
    layout: AnyLayout
    """With the variables that `arithmetic` knows."""
    alignment: int
    """Bytes, of the pointer."""
    swizzle: Swizzle | None
    arithmetic: Arithmetic

    def moved(self, offset: Integer, layout: AnyLayout) -> Tensor:
        """The tensor `offset` elements further, with another layout."""
        return Tensor(
            advance(self.pointer, self.element, self.arithmetic, offset),
            self.element,
            self.space,
            layout,
            self.alignment_at(offset),
            self.swizzle,
            self.arithmetic,
        )

    def alignment_at(self, offset: Integer) -> int:
        """Bytes that an element's address is known to be a multiple of."""
        step = divisibility(offset) * self.element.bits
        found = math.gcd(self.alignment, step // 8) if step % 8 == 0 else 1
        # A swizzle flips bits of the address from its base on.
        return found if self.swizzle is None else math.gcd(found, 1 << self.swizzle.base)

    @property
    def run(self) -> int:
        """How many elements lie side by side, wherever one begins: the layout's first mode, if its stride is 1."""
        if not isinstance(self.layout, Layout):
            raise Error(f"elements of the swizzled layout {self.layout} are not loaded one by one")
        first = coalesce(self.layout)
        size, stride = next(leaves(first.shape)), next(leaves(first.stride))
        # A vector of i1 would be packed, and each of these takes a byte.
        if stride != 1 or not isinstance(size, int) or self.element == Scalar("i1"):
            return 1
        if self.swizzle is not None:
            # The swizzle leaves the lowest bits of an address alone.
            size = math.gcd(size, max(1, (8 << self.swizzle.base) // self.element.bits))
        return size

    def offsets(self, count: int, step: int, begin: int = 0) -> list[Integer]:
        """Where elements `begin`, `begin + step`, … below `begin + count` are."""
        return [self.layout(index) for index in range(begin, begin + count, step)]

    def load(self, count: int, loading: Loading | None = None, *, begin: int = 0) -> list[ir.Value]:
        """`count` elements as vectors, in order, whose lengths are equal; `loading` loads one.

        They are those from `begin` on, a multiple of `count`.
        """
        run = self._vector_length(count, begin)
        return [self._load_one(offset, run, loading or load) for offset in self.offsets(count, run, begin)]

    def store(self, vectors: Sequence[ir.Value], count: int, storing: Storing | None = None, *, begin: int = 0) -> None:
        """Store `count` elements from `begin` on, given as vectors of equal lengths; `storing` stores one.

        Raises `Error` where they are more or fewer.
        """
        given = sum(map(element_count, vectors))
        if given != count:
            raise Error(f"{count} elements are to be stored, {given} are given")
        run = self._vector_length(count, begin)
        pieces = regrouped(vectors, run)
        for offset, piece in zip(self.offsets(count, run, begin), pieces, strict=True):
            self._store_one(offset, piece, storing or store)

    def _vector_length(self, count: int, begin: int) -> int:
        """How many of `count` elements from `begin` on one vector has."""
        length = math.gcd(self.run, count)
        if self.swizzle is not None:
            # One that may begin in the middle of what the swizzle moves together would cross its end.
            known = min(self.alignment_at(offset) for offset in self.offsets(count, length, begin))
            length = math.gcd(length, max(1, known * 8 // self.element.bits))
        return length

    def address(self, offset: Integer) -> ir.Value:
        """The address of the element at `offset`, swizzled."""
        return swizzled(advance(self.pointer, self.element, self.arithmetic, offset), self.swizzle)

    def _load_one(self, offset: Integer, run: int, loading: Loading) -> ir.Value:
        loaded = loading(stored_vector(self.element, run), self.address(offset), self.alignment_at(offset))
        return bitcast(loaded, ir.VectorType.get([run], value_type(self.element)))

    def _store_one(self, offset: Integer, vector: ir.Value, storing: Storing) -> None:
        run = ir.VectorType(vector.type).shape[0]
        stored = bitcast(vector, stored_vector(self.element, run))
        storing(stored, self.address(offset), self.alignment_at(offset))


def value_type(element: Element) -> ir.Type:
    """The type of an element as a value. MLIR's `tf32` has 19 bits; where it stands, it is an `f32`."""
    if element == Scalar("tf32"):
        return ir.F32Type.get()
    return ir.Type.parse(str(element)) if isinstance(element, Scalar | Vector) else to_type(element)


def stored_vector(element: Element, count: int) -> ir.Type:
    """The type that `count` elements are loaded and stored as: LLVM has no numbers of 8 bits and fewer but integers."""
    if not isinstance(element, Scalar):
        raise Error(f"elements of type {to_type(element)} are not loaded as a vector")
    bits = element.bits
    if bits >= 16 or element.name == "i8":
        return ir.VectorType.get([count], value_type(element) if element.name != "tf32" else ir.F32Type.get())
    if element.name == "i1":
        return ir.VectorType.get([count], ir.IntegerType.get_signless(1))
    if count * bits % 8:
        raise Error(f"elements of {element}, {count} at once, are no whole bytes")
    return ir.VectorType.get([count * bits // 8], ir.IntegerType.get_signless(8))


def load_element(element: Element, type: ir.Type, pointer: ir.Value, alignment: int) -> ir.Value:
    """Load one element as a value of `type`."""
    return bitcast(load(stored_type(element), pointer, alignment), type)


def store_element(element: Element, value: ir.Value, pointer: ir.Value, alignment: int) -> None:
    """Store one element."""
    store(bitcast(value, stored_type(element)), pointer, alignment)


def stored_type(element: Element) -> ir.Type:
    """The type that one element is loaded and stored as."""
    if isinstance(element, Scalar):
        return ir.VectorType(stored_vector(element, 1)).element_type
    if isinstance(element, Pointer):
        return pointer_type(element)
    return ir.Type.parse(str(element))


def load(type: ir.Type, pointer: ir.Value, alignment: int) -> ir.Value:
    """`llvm.load`."""
    return llvm.load(type, pointer, alignment=alignment)


def store(value: ir.Value, pointer: ir.Value, alignment: int) -> None:
    """`llvm.store`."""
    llvm.store(value, pointer, alignment=alignment)


def bitcast(value: ir.Value, type: ir.Type) -> ir.Value:
    """The same bits as a value of `type`, a number or a vector like `value`."""
    if value.type == type:
        return value
    vectors = [isinstance(each, ir.VectorType) for each in (value.type, type)]
    if _same_shape(value.type, type):
        return arith.bitcast(type, value)
    return vector.bitcast(type, value) if all(vectors) else llvm.bitcast(type, value)


def _same_shape(left: ir.Type, right: ir.Type) -> bool:
    if isinstance(left, ir.VectorType) and isinstance(right, ir.VectorType):
        return left.shape == right.shape
    return not isinstance(left, ir.VectorType) and not isinstance(right, ir.VectorType)


def regrouped(vectors: Sequence[ir.Value], length: int) -> list[ir.Value]:
    """The same elements in vectors of `length`."""
    types = [ir.VectorType(vector.type) for vector in vectors]
    if all(type.shape[0] == length for type in types):
        return list(vectors)
    elements = [element for vector in vectors for element in elements_of(vector)]
    return [vector_of(elements[begin : begin + length]) for begin in range(0, len(elements), length)]


def element_count(value: ir.Value) -> int:
    """How many elements a vector has."""
    return math.prod(ir.VectorType(value.type).shape)


def elements_of(value: ir.Value) -> list[ir.Value]:
    """The elements of a vector."""
    return list(vector.ToElementsOp(value).results)


def vector_of(elements: Sequence[ir.Value]) -> ir.Value:
    """A vector of `elements`."""
    return vector.from_elements(ir.VectorType.get([len(elements)], elements[0].type), elements)


def joined(vectors: Sequence[ir.Value]) -> ir.Value:
    """One vector of the elements of several."""
    return vectors[0] if len(vectors) == 1 else vector_of([e for vector in vectors for e in elements_of(vector)])
