"""What memory holds: address spaces and the types of elements, by the names that MLIR prints."""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from cutecc.errors import Error

_INTEGER = re.compile(r"[su]?i(\d+)")
_FLOAT = re.compile(r"b?f(16)|f(32|64|80|128)|f(?:nv)?(\d+)E\d+M\d+\w*")


class AddressSpace(enum.Enum):
    """Where a pointer points, by the dialect's own names."""

    GENERIC = "generic"
    GMEM = "gmem"
    """Global memory."""
    SMEM = "smem"
    """Shared memory of the block."""
    CMEM = "cmem"
    """Constant memory."""
    RMEM = "rmem"
    """A thread's registers, or its local memory."""
    TMEM = "tmem"
    """Tensor memory of Blackwell."""
    DSMEM = "dsmem"
    """Shared memory of any block of the cluster."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Scalar:
    """An integer, floating-point or index type, such as `f16`, `f8E4M3FN` or `i32`."""

    name: str
    """As MLIR prints it."""

    def __str__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        """Bits of one element as copy atoms count them: `tf32` takes 32, `index` 64, `i1` one."""
        bits = scalar_bits(self.name)
        if bits is None:
            raise Error(f"'{self.name}' is no integer or floating-point type")
        return bits


@dataclass(frozen=True, slots=True)
class Vector:
    """A `vector` of scalars, all its sizes fixed: a few elements in a thread's registers."""

    shape: tuple[int, ...]
    element: Scalar

    def __str__(self) -> str:
        return f"vector<{''.join(f'{size}x' for size in self.shape)}{self.element}>"

    @property
    def bits(self) -> int:
        """Bits of the whole vector."""
        return math.prod(self.shape) * self.element.bits


@dataclass(frozen=True, slots=True)
class SparseElement:
    """The elements of a compressed operand: `logical` of them are stored as one `physical`."""

    logical: int
    physical: Scalar | Vector

    @property
    def bits(self) -> int:
        """Bits of storage for each logical element, which is how copy atoms count; rounded down."""
        return self.physical.bits // self.logical

    def __str__(self) -> str:
        return f"sparse_elem<{self.logical}, {self.physical}>"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that cutecc has no view of: of another dialect, or a new one of CuTe's."""

    name: str
    """The dialect's name for it, without parameters: `llvm.ptr`, `tuple`."""
    text: str
    """The whole type as MLIR prints it."""

    def __str__(self) -> str:
        return self.text

    @property
    def bits(self) -> int:
        """Not known."""
        raise Error(f"how many bits '{self.text}' takes is not known")


StoredElement: TypeAlias = Scalar | Vector | SparseElement | OpaqueType


def scalar_bits(name: str) -> int | None:
    """Bits of the scalar type called `name`; `None` when there is none of that name."""
    if match := _INTEGER.fullmatch(name):
        return int(match[1])
    if match := _FLOAT.fullmatch(name):
        return int(match[1] or match[2] or match[3])
    return {"tf32": 32, "index": 64}.get(name)


def natural_alignment(element: object) -> int | None:
    """The alignment in bytes of a pointer to `element` whose type says none; CuTe then does not print it.

    Scalars: their size; `None` for those that are no whole bytes, which have none. Sparse elements: the size of what is
    stored. Everything else, `index` and `i1`: 1. Read off nvidia-cutlass-dsl 4.8.1.
    """
    match element:
        case Scalar("i1" | "index"):
            return 1
        case Scalar(bits=bits) | SparseElement(physical=Scalar(bits=bits) | Vector(bits=bits)):
            return bits // 8 if bits % 8 == 0 else None
        case _:
            return 1
