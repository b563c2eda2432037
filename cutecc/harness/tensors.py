"""Tensors that a kernel is tried with: laid out as their spec says, with guarded memory around and in between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cutecc.arguments.specs import Dynamic, PointerSpec, Spec, TensorSpec, TupleSpec
from cutecc.errors import UsageError
from cutecc.harness.elements import Array, Elements, elements_of
from cutecc.support.capacity import check_fits

_GUARD = 512
"""Bytes before and after a tensor: a multiple of the alignment of allocations, and of every alignment of a spec."""


@dataclass(frozen=True)
class Placement:
    """Where the elements of a tensor are, in elements from the first one on."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def span(self) -> int:
        """Elements from the first to the last one in memory, both included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((length - 1) * step for length, step in zip(self.shape, self.stride, strict=True))

    @property
    def overlaps(self) -> bool:
        """Whether two coordinates may have one element."""
        if 0 in self.shape:
            return False
        reach = 0
        for step, length in sorted(zip(self.stride, self.shape, strict=True)):
            if length > 1 and step <= reach:
                return True
            reach += max(0, length - 1) * step
        return False


def place(spec: TensorSpec | PointerSpec) -> Placement:
    """The layout of a tensor whose sizes all have values; behind a bare pointer is a vector."""
    if isinstance(spec, PointerSpec):
        return Placement((spec.elements or 0,), (1,))
    shape = tuple(_number(mode) for mode in spec.shape)
    if spec.stride is not None:
        return Placement(shape, tuple(_number(mode) for mode in spec.stride))
    order = spec.order or tuple(reversed(range(len(shape))))
    stride = [0] * len(shape)
    step = 1
    for mode in sorted(range(len(shape)), key=order.__getitem__):
        stride[mode] = step
        step *= shape[mode]
    return Placement(shape, tuple(stride))


def memory_specs(specs: Mapping[str, Spec]) -> Iterator[tuple[str, TensorSpec | PointerSpec]]:
    """Every tensor and bare pointer with its name; in a tuple it is `pair[0]`."""
    for name, spec in specs.items():
        if isinstance(spec, TensorSpec | PointerSpec):
            yield name, spec
        elif isinstance(spec, TupleSpec):
            yield from memory_specs({f"{name}[{index}]": item for index, item in enumerate(spec.items)})


def image_bytes(spec: TensorSpec | PointerSpec) -> int:
    """Bytes that a tensor of this spec takes in this machine's memory, guards included, to within an alignment.

    Elements that share a byte have one each here.
    """
    return place(spec).span * elements_of(spec.dtype).code.itemsize + 2 * _GUARD


def value_bytes(spec: TensorSpec | PointerSpec) -> int:
    """Bytes of the values of a tensor of this spec, as references see them."""
    return math.prod(place(spec).shape) * elements_of(spec.dtype).value.itemsize


def _number(mode: Any) -> int:
    value = mode.value if isinstance(mode, Dynamic) else mode
    assert isinstance(value, int)
    return value


class Tensor:
    """One tensor of a trial, in this machine's memory.

    Around the elements, and in the gaps that strides leave, lies poison that a correct kernel never touches.
    """

    def __init__(self, name: str, spec: TensorSpec | PointerSpec, *, exact_alignment: bool) -> None:
        """All elements poisoned. With `exact_alignment`, the first element's address has the alignment that the spec
        promises and no larger one; else that of the allocation. Raises `UsageError` for what cannot be made."""
        self.name = name
        self.elements: Elements = elements_of(spec.dtype)
        self.placement = place(spec)
        if spec.space not in ("gmem", "generic"):
            raise UsageError(f"argument '{name}' lies in {spec.space}; arguments of a trial lie in global memory")
        if any(step < 0 for step in self.placement.stride):
            raise UsageError(f"argument '{name}' has a negative stride; such tensors cannot be made here")
        self.offset = _GUARD + (spec.alignment if exact_alignment and spec.alignment < _GUARD else 0)
        """Bytes from the start of the allocation to the first element."""
        per_byte, size = self.elements.per_byte, self.elements.code.itemsize
        self._first = self.offset * per_byte
        span = -(-self.placement.span // per_byte) * per_byte
        total = self._first + span * size + _GUARD * per_byte
        check_fits(total, f"argument '{name}' has")
        try:
            self._image = np.full(total, self.elements.poison, "u1")
        except (MemoryError, ValueError):  # numpy's words for more than memory holds, and for more than it can address
            raise UsageError(
                f"argument '{name}' has {total:,} bytes, which this machine cannot hold", hints=["give smaller sizes"]
            ) from None
        self._sent = self._image

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements in each mode."""
        return self.placement.shape

    @property
    def bytes(self) -> int:
        """Bytes of the allocation that holds the tensor and its guards."""
        return self._image.size // self.elements.per_byte

    @property
    def _is_dense(self) -> bool:
        """Whether elements follow one another without gaps."""
        return self.placement.span == math.prod(self.shape) and not self.placement.overlaps

    @property
    def codes(self) -> Array:
        """The elements as memory holds them: a view."""
        return self._view(self._image)

    @property
    def values(self) -> Array:
        """The elements as references see them: a copy."""
        return self.elements.decode(self.codes)

    def randomize(self, generator: np.random.Generator) -> None:
        """Give every element a random value. Elements that several coordinates share have one."""
        size = self.elements.code.itemsize
        if self._is_dense:
            end = self._first + self.placement.span * size
            self._image[self._first : end].view(self.elements.code)[:] = self.elements.random(
                self.placement.span, generator
            )
        else:
            self.codes[...] = self.elements.random(math.prod(self.shape), generator).reshape(self.shape)

    def poison(self) -> None:
        """Poison every element again."""
        self._image = np.full_like(self._image, self.elements.poison)

    def is_poison(self, codes: Array) -> Array:
        """Which of `codes` are the poison."""
        bits = np.dtype(f"<u{codes.itemsize}")
        return codes.view(bits) == np.full(codes.itemsize, self.elements.poison, "u1").view(bits)[0]

    def to_bytes(self) -> Array:
        """What to write into the allocation."""
        self._sent = self._image
        return self.elements.pack(self._image)

    def take_bytes(self, data: Array) -> int:
        """Take what the allocation holds after a run; returns how many bytes outside of the elements have changed.

        `data` is the tensor's from then on.
        """
        before, self._image = self._sent, self.elements.unpack(data).view("u1")
        if self._is_dense:
            end = self._first + self.placement.span * self.elements.code.itemsize
            outside = (slice(None, self._first), slice(end, None))
            return sum(int(np.count_nonzero(self._image[part] != before[part])) for part in outside)
        probe = self._image.copy()
        self._view(probe)[...] = self._view(before)
        return int(np.count_nonzero(probe != before))

    def _view(self, image: Array) -> Array:
        size = self.elements.code.itemsize
        flat = image[self._first : self._first + max(1, self.placement.span) * size].view(self.elements.code)
        return as_strided(flat, self.shape, tuple(step * size for step in self.placement.stride))
