"""Memory as kernels are given it: matrices behind raw addresses, views of arrays, arrays of pointers."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from cutecc.arguments.arrays import Array
from cutecc.operations.operand import Layout


@dataclass(frozen=True)
class _Device:
    type: str
    index: int | None


@dataclass(frozen=True)
class DeviceMatrix:
    """A matrix behind a raw address of device memory."""

    pointer: int
    shape: tuple[int, ...]
    """(rows, columns), or with the batch in front (batch, rows, columns). Vectors have one size, interleaved matrices a
    mode more: (groups, lines, 32), with 32 as `leading`."""
    leading: int
    """Elements from one row to the next; with `layout="column"` from one column to the next."""
    dtype: str
    layout: Layout = "row"
    batch: int | None = None
    """Elements from one matrix of a batch to the next; by default they follow one another."""
    ordinal: int = 0
    """The CUDA ordinal of the GPU."""

    def data_ptr(self) -> int:
        """The address."""
        return self.pointer

    def get_device(self) -> int:
        """The CUDA ordinal."""
        return self.ordinal

    @property
    def device(self) -> _Device:
        """Where the memory is, as torch says it."""
        return _Device("cuda", self.ordinal)

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        if len(self.shape) < 2:
            return (1,) * len(self.shape)
        row = self.layout == "row"
        steps = (self.leading, 1) if row else (1, self.leading)
        whole = self.leading * self.shape[-2 if row else -1]
        for size in reversed(self.shape[:-2]):
            steps, whole = (whole, *steps), whole * size
        return steps if self.batch is None or len(steps) == 2 else (self.batch, *steps[1:])


class View:
    """What a kernel is called with: memory, its element type and layout."""

    __slots__ = ("_address", "_stride", "device", "dtype", "shape")

    def __init__(self, array: Array, dtype: str, shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape
        self.device = _Device(array.device, array.ordinal)
        self._stride = stride
        self._address = array.address

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._address

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return self._stride


class Table:
    """Numbers that a launch reads, in the memory of the device that it runs on.

    Every call asks whether its arguments are such, which would take ten times as long of an abstract class.
    """

    table: Array
    like: Array
    """An array of the library whose call made it."""
    owner: object
    """Keeps the table alive."""
    streams: set[int]
    """Where launches have used it."""

    def behind(self) -> Iterable[Array]:
        """The arrays whose addresses it holds."""
        raise NotImplementedError

    @property
    def library(self) -> str:
        """That of the arrays behind it."""
        return self.like.library

    @cached_property
    def form(self) -> tuple[Hashable, ...]:
        """What a launch that is like an earlier one with another table has to have the same of."""
        return self.dtype, self.shape, self.stride(), self.get_device(), self.library

    @property
    def producers(self) -> frozenset[int]:
        """The streams that the owners of the arrays behind it have named for the calls that it is kept for."""
        return frozenset()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.table.shape

    @property
    def dtype(self) -> str:
        return self.table.dtype

    def data_ptr(self) -> int:
        """The address of the table."""
        return self.table.address

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return self.table.stride

    def get_device(self) -> int:
        """The CUDA ordinal; -1 on the CPU."""
        return -1 if self.table.ordinal is None else self.table.ordinal


@dataclass(frozen=True, eq=False)
class MatrixArray(Table):
    """Matrices of one shape anywhere in memory, by a table of their addresses in the memory of the same device.

    `Gemm.matrices` makes one. It does not keep the matrices alive, and a CUDA graph does not keep it alive.
    """

    table: Array
    """i64, one address a matrix."""
    like: Array
    """The first matrix."""
    addresses: tuple[int, ...]
    owner: object = field(default=None, repr=False)
    streams: set[int] = field(default_factory=set[int], repr=False)
    named: frozenset[int] = frozenset()
    """What `producers` are."""

    @property
    def producers(self) -> frozenset[int]:
        return self.named

    def behind(self) -> Iterable[Array]:
        return (replace(self.like, address=address) for address in self.addresses)

    @property
    def shape(self) -> tuple[int, ...]:
        """(matrices, rows, columns)."""
        return (len(self.addresses), *self.like.shape)

    @cached_property
    def distinct(self) -> frozenset[int]:
        """The addresses, each once."""
        return frozenset(self.addresses)

    @cached_property
    def address_bits(self) -> int:
        """The bits that are set in any of the addresses."""
        return functools.reduce(int.__or__, self.addresses, 0)

    @property
    def dtype(self) -> str:
        return self.like.dtype

    def stride(self) -> tuple[int, ...]:
        """Of one matrix, in elements; a batch has none."""
        return self.like.stride
