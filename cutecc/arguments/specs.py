"""Argument specs: what stands in for a kernel's arguments where there are none. `docs/arguments.md` is their grammar.

A spec is a value. `str(spec)` is its canonical text, and `parse_spec(str(spec)) == spec` always.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cutecc.arguments.dtypes import NumericType
from cutecc.arguments.literals import canonical_literal, literal_of, read_literal
from cutecc.errors import SpecError

Space = Literal["gmem", "smem", "rmem", "tmem", "generic", "dsmem", "cmem"]
SPACES: tuple[Space, ...] = ("gmem", "smem", "rmem", "tmem", "generic", "dsmem", "cmem")


def is_size_name(text: str) -> bool:
    """Whether `text` can name a size."""
    return text.isascii() and text.isidentifier()


@dataclass(frozen=True)
class Dynamic:
    """A size or stride that the compiled kernel takes at run time."""

    name: str | None = None
    """Modes of one name have one size, also in other arguments."""
    divisibility: int = 1
    """The size is a multiple of this: a promise that the compiler builds on."""
    bits: Literal[32, 64] = 32
    value: int | None = None
    """The size to use when the kernel is run without real arguments."""

    def __post_init__(self) -> None:
        if self.name is not None and not is_size_name(self.name):
            raise SpecError(f"'{self.name}' cannot name a size")
        if self.divisibility < 1:
            raise SpecError(f"a divisibility of {self.divisibility}; it is at least 1")
        if max(self.divisibility, self.value or 0) > _LARGEST:
            raise SpecError(f"{max(self.divisibility, self.value or 0)} is more than 2^48, which no memory holds")
        if self.value is not None and (self.value < 0 or self.value % self.divisibility):
            reason = "negative" if self.value < 0 else f"not divisible by {self.divisibility}"
            raise SpecError(f"{self.value} is {reason}")

    def __str__(self) -> str:
        facts = ["i64"] if self.bits == 64 else []
        facts += [f"div={self.divisibility}"] if self.divisibility > 1 else []
        braces = f"{{{' '.join(facts)}}}" if facts else ""
        return f"?{self.name or ''}{braces}{'' if self.value is None else f'={self.value}'}"


_LARGEST = 1 << 48
"""Elements: more than any machine's memory has, and few enough that what a kernel does with its layouts stays below the
2^63 at which the DSL aborts the process."""
_LARGEST_ALIGNMENT = 1 << 30
"""Bytes, as MLIR takes them."""
_MOST_MODES = 64
"""As many as arrays of any library have."""

Mode: TypeAlias = "int | Dynamic | tuple[Mode, ...]"
"""A size or stride: static, dynamic, or a nested tuple of them."""


def leaves(mode: Mode) -> Iterator[int | Dynamic]:
    """The sizes in `mode`, left to right."""
    if isinstance(mode, tuple):
        for inner in mode:
            yield from leaves(inner)
    else:
        yield mode


def mode_text(mode: Mode) -> str:
    """`mode` as specs spell it."""
    return f"({','.join(map(mode_text, mode))})" if isinstance(mode, tuple) else str(mode)


@dataclass(frozen=True)
class TensorSpec:
    """A tensor: `f16[?M,?K{div=8}]:(?{i64 div=8},1)@gmem align=16`."""

    dtype: NumericType
    shape: tuple[Mode, ...]
    stride: tuple[Mode, ...] | None = None
    """In elements; `None` when the layout is compact."""
    space: Space = "gmem"
    align: int | None = None
    """Alignment of the first element in bytes; `None` is the natural one of the element type."""
    order: tuple[int, ...] | None = None
    """Of a compact layout: the rank of each mode's stride, 0 the fastest; `None` is row-major."""

    def __post_init__(self) -> None:
        sizes = list(leaves(self.shape))
        if len(sizes) > _MOST_MODES:
            raise SpecError(f"a tensor of {len(sizes)} modes; it has at most {_MOST_MODES}")
        if any(isinstance(size, int) and size < 1 for size in sizes):
            raise SpecError("a static size is at least 1")
        if math.prod(size for size in sizes if isinstance(size, int)) > _LARGEST:
            raise SpecError("a tensor of more than 2^48 elements, which no memory holds")
        if self.stride is not None:
            _check_strides(self.shape, self.stride)
        if self.order is not None:
            self._check_order(self.order)
        _normalize_alignment(self)

    def _check_order(self, order: tuple[int, ...]) -> None:
        if self.stride is not None:
            raise SpecError("a tensor has strides or a mode order, not both")
        if sorted(order) != list(range(len(self.shape))):
            ranks = ", ".join(map(str, range(len(self.shape))))
            raise SpecError(f"the order of {len(self.shape)} modes names each of {ranks} once")
        if order == tuple(reversed(range(len(self.shape)))):
            object.__setattr__(self, "order", None)

    @property
    def alignment(self) -> int:
        """Alignment of the first element, in bytes."""
        return self.align or self.dtype.natural_alignment

    def __str__(self) -> str:
        parts = [f"{self.dtype}[{','.join(map(mode_text, self.shape))}]"]
        if self.stride is not None:
            parts.append(f":{mode_text(self.stride)}")
        parts.append("" if self.space == "gmem" else f"@{self.space}")
        parts.append("" if self.align is None else f" align={self.align}")
        parts.append("" if self.order is None else f" order=({','.join(map(str, self.order))})")
        return "".join(parts)


@dataclass(frozen=True)
class ScalarSpec:
    """A number that the kernel takes at run time: `f32=0.5`, or `i32=N`, which is a size of its tensors."""

    dtype: NumericType
    value: int | float | bool | None = None
    """The number to use when the kernel is run; a `float` for floating types, a `bool` for `bool`."""
    size: str | None = None
    """The name of the size that it is when the kernel is run."""

    def __post_init__(self) -> None:
        if self.size is not None:
            if not is_size_name(self.size):
                raise SpecError(f"'{self.size}' cannot name a size")
            if self.value is not None or not self.dtype.is_integer:
                raise SpecError(f"'{self.size}' names a size, and {self.dtype} is no type of one")
        if not self.dtype.is_scalar:
            raise SpecError(
                f"{self.dtype} cannot be passed as a number", hints=[f"a tensor of them is {self.dtype}[?]"]
            )
        if self.value is not None:
            object.__setattr__(self, "value", _scalar_value(self.dtype, self.value))

    def __str__(self) -> str:
        if self.size is not None:
            return f"{self.dtype}={self.size}"
        return str(self.dtype) if self.value is None else f"{self.dtype}={self.value!r}"


@dataclass(frozen=True)
class ConstSpec:
    """A compile-time constant: `const(64)`, `const((1, 'relu'))`, `const(f16)`."""

    literal: str
    """A Python literal in canonical spelling, numeric types by their names.

    Two constants are equal when they are spelled alike: `1`, `1.0` and `True` compile to different kernels.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "literal", canonical_literal(self.literal))

    @classmethod
    def of(cls, value: object) -> ConstSpec:
        """The constant `value`; `SpecError` when it has no literal."""
        return cls(literal_of(value))

    @property
    def value(self) -> object:
        """The constant; numeric types in it are `NumericType`s."""
        return read_literal(self.literal)

    def __str__(self) -> str:
        return f"const({self.literal})"


@dataclass(frozen=True)
class PointerSpec:
    """A bare pointer: `ptr<f16>=1024@gmem align=16`."""

    dtype: NumericType
    space: Space = "gmem"
    align: int | None = None
    """Alignment of the address in bytes; `None` is the natural one of the element type."""
    elements: int | None = None
    """How many elements lie behind it: to make arguments of, and for the emulator, which is given an address."""

    def __post_init__(self) -> None:
        if self.elements is not None and self.elements < 0:
            raise SpecError(f"{self.elements} elements behind a pointer; it is at least 0")
        if self.elements is not None and self.elements > _LARGEST:
            raise SpecError("more than 2^48 elements behind a pointer, which no memory holds")
        _normalize_alignment(self)

    @property
    def alignment(self) -> int:
        """Alignment of the address, in bytes."""
        return self.align or self.dtype.natural_alignment

    def __str__(self) -> str:
        space = "" if self.space == "gmem" else f"@{self.space}"
        elements = "" if self.elements is None else f"={self.elements}"
        return f"ptr<{self.dtype}>{elements}{space}{'' if self.align is None else f' align={self.align}'}"


@dataclass(frozen=True)
class StreamSpec:
    """A CUDA stream: `stream`."""

    def __str__(self) -> str:
        return "stream"


@dataclass(frozen=True)
class NoneSpec:
    """An argument that is left out: `none`."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True)
class TupleSpec:
    """A tuple of arguments: `(f32[?N], i32)`."""

    items: tuple[Spec, ...]

    def __str__(self) -> str:
        return f"({self.items[0]},)" if len(self.items) == 1 else f"({', '.join(map(str, self.items))})"


Spec: TypeAlias = TensorSpec | ScalarSpec | ConstSpec | PointerSpec | StreamSpec | NoneSpec | TupleSpec


def _check_strides(shape: tuple[Mode, ...], stride: tuple[Mode, ...]) -> None:
    if not _congruent(shape, stride):
        raise SpecError(f"strides {mode_text(stride)} do not match the shape {mode_text(shape)}")
    if any(_reach(*each) > _LARGEST for each in zip(leaves(shape), leaves(stride), strict=True)):
        raise SpecError("strides over more than 2^48 elements, which no memory holds")


def _normalize_alignment(spec: TensorSpec | PointerSpec) -> None:
    if spec.align is None:
        return
    if spec.align < 1 or spec.align & (spec.align - 1):
        raise SpecError(f"an alignment of {spec.align} bytes; it is a power of two")
    if spec.align > _LARGEST_ALIGNMENT:
        raise SpecError(f"an alignment of {spec.align} bytes; it is at most {_LARGEST_ALIGNMENT}")
    if spec.align == spec.dtype.natural_alignment:
        object.__setattr__(spec, "align", None)


def _reach(size: int | Dynamic, stride: int | Dynamic) -> int:
    """How far a mode reaches, as far as that is known; at least its stride, which layouts are made of in any case."""
    if not isinstance(stride, int):
        return 0
    return abs(stride) * max(1, size - 1 if isinstance(size, int) else 1)


def _congruent(shape: Mode, stride: Mode) -> bool:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return len(shape) == len(stride) and all(map(_congruent, shape, stride))
    return isinstance(shape, tuple) == isinstance(stride, tuple)


def _scalar_value(dtype: NumericType, value: object) -> int | float | bool:
    if dtype.kind == "bool":
        if value in (0, 1):
            return bool(value)
        raise SpecError(f"{value!r} is not a bool", hints=["write True or False"])
    if dtype.kind == "float":
        # NaN is not equal to itself; `math.isnan` takes no integer beyond floats.
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            raise SpecError(f"{value!r} is not a number of type {dtype}")
        return _finite_float(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise SpecError(f"{value!r} is not an integer, as {dtype} needs")
    low, high = (0, 1 << dtype.width) if dtype.kind == "unsigned" else (-(1 << dtype.width - 1), 1 << dtype.width - 1)
    if not low <= value < high:
        raise SpecError(f"{value} does not fit {dtype}: {low} to {high - 1}")
    return value


def _finite_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise SpecError(f"{value} is too large for a floating-point number") from None
