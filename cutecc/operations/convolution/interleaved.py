"""Tensors with 32 channels kept together: (N, C/32, H, W, 32), and filters (C/32, R, S, K, 32), of any library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.convolution.arguments import SHAPES, Role, Tensor, has_torch_order, tensor
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.runtime.checks import array_text


@dataclass(frozen=True)
class InterleavedTensor(Tensor):
    """As its shape has all channels last, though only 32 of them are."""

    @property
    def remedies(self) -> list[str]:
        return _remedies(self.name, self.role, self.array.library, len(self.spatial), is_written=self.is_written)

    def listed(self, shape: tuple[int, ...]) -> str:
        if shape[-1] % INTERLEAVED:
            return f"{super().listed(shape)}, whose {shape[-1]} channels are no multiple of {INTERLEAVED}"
        return f"({', '.join(map(str, interleaved_shape(self.role, shape)))})"

    @property
    def order(self) -> str:
        return f"{self.role} with {INTERLEAVED} channels together are {_shape_text(self.role, len(self.spatial))}"


def tensor_of(name: str, role: Role, value: Any, array: Array, rank: int, *, is_written: bool = False) -> Tensor:
    """An argument with its channels last, or 32 of them together where it has the modes of that, which no other has.

    Raises `ArgumentError` for another number of modes or another layout.
    """
    if _is_interleaved(array, rank):
        return interleaved(name, role, array, rank, is_written=is_written)
    return tensor(name, role, array, rank, is_torch=has_torch_order(value, array), is_written=is_written)


def interleaved_shape(role: Role, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with 32 channels together of a tensor that has `shape` with its channels last."""
    outer, *spatial, channels = shape
    groups = channels // INTERLEAVED
    return (*((groups, *spatial, outer) if role == "filters" else (outer, groups, *spatial)), INTERLEAVED)


def _is_interleaved(array: Array, rank: int) -> bool:
    return len(array.shape) == rank + 3 and array.shape[-1] == INTERLEAVED


def interleaved(name: str, role: Role, array: Array, rank: int, *, is_written: bool = False) -> Tensor:
    """An argument with 32 channels together. Raises `ArgumentError` for another number of modes or another layout."""
    text, library = f"argument '{name}': {array_text(array)}", array.library
    hints = _remedies(name, role, library, rank, is_written=is_written)
    shape, stride = array.shape, array.stride
    if not _is_interleaved(array, rank):
        known = f"with {INTERLEAVED} channels together {role} are {_shape_text(role, rank)}"
        raise ArgumentError(f"{text} has other modes: {known}", hints=hints)
    if any(size > 1 and step < 0 for size, step in zip(shape, stride, strict=True)):
        raise ArgumentError(f"{text} is in reverse order: strides {stride}", hints=hints)
    if stride[-1] != 1 and 0 not in shape:
        raise ArgumentError(f"{text}: its {INTERLEAVED} channels are not contiguous: strides {stride}", hints=hints)
    # The modes of all images or filters, spatial extents, and groups of channels.
    outer, spatial, groups = (0, range(2, rank + 2), 1) if role != "filters" else (rank + 1, range(1, rank + 1), 0)
    modes = (outer, *spatial)
    return InterleavedTensor(
        name,
        role,
        array,
        (*(shape[mode] for mode in modes), shape[groups] * INTERLEAVED),
        (*(stride[mode] for mode in modes), 1),
        is_torch=False,
        is_written=is_written,
        between=stride[groups] if shape[groups] > 1 else INTERLEAVED,
    )


def _shape_text(role: Role, rank: int) -> str:
    first, spatial, channels = SHAPES[role]
    modes = [f"{channels}/{INTERLEAVED}", *spatial[rank]]
    modes = [*modes, first] if role == "filters" else [first, *modes]
    return f"({', '.join([*modes, str(INTERLEAVED)])})"


def _remedies(name: str, role: Role, library: str, rank: int, *, is_written: bool) -> list[str]:
    """What makes an argument of a tensor with its channels last."""
    if is_written:
        return [f"allocate {name} so"]
    first, spatial, channels = SHAPES[role]
    shape = ", ".join([first, *spatial[rank]])
    axes = (rank + 1, *range(1, rank + 1), 0) if role == "filters" else (0, rank + 1, *range(1, rank + 1))
    order = ", ".join(map(str, (*axes, rank + 2)))
    moved = f"permute({order}).contiguous()" if library == "torch" else f"transpose({order}).copy()"
    divided = f"reshape({shape}, {channels} // {INTERLEAVED}, {INTERLEAVED})"
    return [f"of a tensor x ({shape}, {channels}): x.{divided}.{moved}"]
