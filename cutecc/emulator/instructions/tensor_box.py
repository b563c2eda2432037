"""The box that a tensor copy moves: which elements of the tensor, and where in shared memory.

Modes are innermost first. In shared memory a box is packed. With a swizzle each row of the innermost mode begins where
the next pattern of the swizzle's width does, and chunks of 16 bytes are moved: bits 4 to 6 of addresses are flipped by
bits 7 to 9. Elements of fewer bits than a byte are packed; two types of them have gaps in shared memory, so that 16
elements begin at each chunk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, groupby, islice
from operator import itemgetter
from typing import Any, Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.poison import POISON
from cutecc.emulator.numbers.swizzle import CHUNK, PATTERN, swizzle
from cutecc.emulator.numbers.unpacking import packed
from cutecc.emulator.tensor_map import ELEMENT_TYPES, FLIPPED, SWIZZLES, ElementType, Im2colMap
from cutecc.runtime.launch import TensorMap

_NAN: Final = {2: 0x7FF7, 4: 0x7FF77FF7, 8: 0x7FF77FF77FF77FF7}
"""What fills the outside when it is to be NaN, by bytes of an element."""
_LINE: Final = 128
"""Bytes, of which every other one has halves of chunks flipped by one of the swizzles."""
_STORED_BITS: Final = 6
"""Of elements whose bytes are stored packed."""
_LAST_ADDRESS: Final = 2**64 - 1
_TF32_BITS: Final = 13
"""Bits that an `f32` has and a `tf32` has not."""
_TF32_NAN: Final = np.uint32(0x7FFFE000)
_FIXED_PIXELS: Final = 128
_FIXED_GROUP: Final = 32
"""What `im2col::w::128` copies, whatever the descriptor says, and after how many of them its halo comes each time."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box at one place of a tensor."""

    tensor: TensorMap
    element: ElementType
    counts: tuple[int, ...]
    """Elements by mode."""
    start: tuple[int, ...]
    """Of those, the first inside of the tensor."""
    stop: tuple[int, ...]
    """And the one behind the last."""
    steps: tuple[int, ...]
    """Bytes from element to element."""
    address: int
    """Of the first element inside."""
    packed: int = CHUNK
    """Bytes in each chunk of shared memory that are copied, from its start on."""

    @classmethod
    def at(cls, tensor: TensorMap, coordinates: Sequence[int]) -> Box:
        """The tensor's box whose first element has these coordinates."""
        element = ELEMENT_TYPES[tensor.data_type]
        modes = list(zip(coordinates, tensor.sizes, tensor.box, tensor.element_strides, strict=True))
        pitches = [element.size, *tensor.strides]
        if tensor.interleave:
            modes, pitches = _interleaved(tensor, element, modes)
        else:
            # The innermost mode is always taken whole.
            modes[0] = (*modes[0][:3], 1)
        start: list[int] = []
        stop: list[int] = []
        counts: list[int] = []
        address = tensor.address
        for (place, size, box, stride), pitch in zip(modes, pitches, strict=True):
            count = -(-box // stride)
            first = min(count, -(min(place, 0) // stride))
            counts.append(count)
            start.append(first)
            stop.append(max(first, min(count, -((place - size) // stride))))
            address += (place + first * stride) * pitch
        steps = tuple(pitch * mode[3] for pitch, mode in zip(pitches, modes, strict=True))
        # Tensors of ragged parts are described with strides that lead back to their start, past the last address.
        return cls(tensor, element, tuple(counts), tuple(start), tuple(stop), steps, address & _LAST_ADDRESS)

    def in_chunks(self) -> Box:
        """The box as stores take it: rows end with a whole chunk of 16 bytes."""
        chunk = CHUNK // self.element.size
        stop = min(self.counts[0], self.start[0] + -(-self.inside[0] // chunk) * chunk)
        return replace(self, stop=(stop, *self.stop[1:]))

    @property
    def size(self) -> int:
        """Bytes that are copied."""
        return math.prod(self.counts) * self.element.size

    @property
    def place(self) -> ShapeInShared:
        """How its bytes lie in shared memory."""
        row = self.counts[0] * self.element.size * CHUNK // self.packed
        width = 0 if self.tensor.interleave else SWIZZLES[self.tensor.swizzle][0]
        return ShapeInShared(self.size, self.tensor.swizzle, row, max(row, width), self.packed)

    @property
    def inside(self) -> tuple[int, ...]:
        """Elements inside of the tensor, by mode."""
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))

    @property
    def is_outside(self) -> bool:
        """Whether no element lies inside of the tensor."""
        return not all(self.inside)

    @property
    def extent(self) -> int:
        """Bytes of global memory from the first element inside to the last."""
        return self.element.size + sum((size - 1) * step for size, step in zip(self.inside, self.steps, strict=True))

    @property
    def overlaps(self) -> bool:
        """Whether elements inside may share memory, by strides shorter than what they step over."""
        end = self.element.size
        for step, size in sorted(zip(self.steps, self.inside, strict=True)):
            if size > 1:
                if step < end:
                    return True
                end += (size - 1) * step
        return False

    def elements(self, data: Array, offset: int) -> Array:
        """The elements inside, outermost mode first, as they lie in an allocation's bytes: a view."""
        return np.ndarray(self.inside[::-1], self._dtype, data, offset, self.steps[::-1])

    @property
    def addresses(self) -> tuple[Array, int]:
        """Of the rows of elements inside, or of the elements where those are apart; and bytes of each."""
        packed = self.steps[0] == self.element.size
        total = np.array([self.address], np.uint64)
        for mode in range(len(self.counts) - 1, 0 if packed else -1, -1):
            steps = np.arange(self.inside[mode], dtype=np.uint64) * np.uint64(self.steps[mode])
            total = (total[:, None] + steps).reshape(-1)
        return total, self.inside[0] * self.element.size if packed else self.element.size

    def fill(self, inside: Array | None) -> Array:
        """The box's bytes in order, `inside` in its place, what is outside of the tensor filled."""
        shape = self.counts[::-1]
        if inside is not None and self.element.rounds_to_tf32:
            inside = _to_tf32(inside)
        if inside is not None and inside.shape == shape:
            whole = np.ascontiguousarray(inside)
        else:
            value = _NAN[self.element.size] if self.tensor.fill else 0
            whole = np.full(shape, value, self._dtype)
            if inside is not None:
                whole[self._slices] = inside
        return whole.reshape(-1).view(np.uint8)

    def take(self, packed: Array) -> Array:
        """The elements inside, of the box's bytes in order; the shape is that of `elements`."""
        return packed.view(self._dtype).reshape(self.counts[::-1])[self._slices]

    @property
    def _slices(self) -> tuple[slice, ...]:
        return tuple(slice(start, stop) for start, stop in zip(self.start[::-1], self.stop[::-1], strict=True))

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(f"u{self.element.size}")


_Mode = tuple[int, int, int, int]
"""Coordinate, size of the tensor, size of the box, element stride."""


def _interleaved(tensor: TensorMap, element: ElementType, modes: list[_Mode]) -> tuple[list[_Mode], list[int]]:
    """The modes of an interleaved tensor, and bytes from element to element.

    Its elements are slices of 16 or 32 bytes of channels, one more mode inside of the others. The mode before the
    last is that of the slices; a box has one of them.
    """
    slice_ = 16 * tensor.interleave
    count = slice_ // element.size
    place, size, _, stride = modes[-2]
    slices = (place, size, 1, stride)
    return [(0, count, count, 1), *modes[:-2], slices, modes[-1]], [element.size, slice_, *tensor.strides]


@dataclass(frozen=True, slots=True)
class ShapeInShared:
    """How the bytes of a box lie in shared memory."""

    size: int
    """Bytes that are copied."""
    swizzle: int
    """A `CUtensorMapSwizzle`."""
    row: int
    """Bytes of the innermost mode, with the gaps in chunks."""
    pitch: int
    """Bytes from row to row."""
    packed: int = CHUNK
    """Bytes in each chunk that are copied."""

    @property
    def taken(self) -> int:
        """Bytes with the gaps in chunks."""
        return self.size * CHUNK // self.packed

    @property
    def layout(self) -> tuple[int, int]:
        """Bytes of the swizzle, and those that it leaves together."""
        return SWIZZLES[self.swizzle]

    @property
    def extent(self) -> int:
        """Bytes with what is between rows, and behind the last."""
        return self.taken // self.row * self.pitch

    def places(self, index: int) -> Array | None:
        """Where the chunks of a box at `index` lie, in chunks; `None` when all of its bytes are in order."""
        if not self.swizzle:
            return None
        found = _places(self.taken, self.swizzle, self.row, self.pitch, index % PATTERN)
        return index // PATTERN * (PATTERN // CHUNK) + found

    def pieces(self, index: int) -> tuple[Array, int]:
        """The bytes that a box at `index` takes: where pieces of them begin, and how many each has."""
        places = self.places(index) if self.row != self.pitch else None
        return (np.array([index]), self.taken) if places is None else (places * CHUNK, CHUNK)


def place_of(boxes: Sequence[Box]) -> ShapeInShared:
    """How boxes lie that follow one another."""
    return replace(boxes[0].place, size=sum(box.size for box in boxes))


@lru_cache(maxsize=256)
def _places(size: int, kind: int, row: int, pitch: int, phase: int) -> Array:
    lines = np.arange(size // row)[:, None] * pitch + np.arange(0, row, CHUNK)
    width, atom = SWIZZLES[kind]
    return swizzle(phase + lines.reshape(-1), width, atom=atom) // CHUNK


def write_box(shared: Array, index: int, place: ShapeInShared, data: Array) -> None:
    """Put a box's bytes into shared memory, swizzled."""
    places = place.places(index)
    if place.packed < CHUNK:
        data = _spread(data, place.packed)
    if places is None:
        shared[index : index + len(data)] = data
        return
    chunks = _as_chunks(data)
    if place.swizzle == FLIPPED:
        odd = places * CHUNK // _LINE % 2 == 1
        chunks = np.where(odd, _as_chunks(np.ascontiguousarray(data.reshape(-1, 2, 8)[:, ::-1]).reshape(-1)), chunks)
    _as_chunks(shared)[places] = chunks


def read_box(shared: Array, index: int, place: ShapeInShared) -> Array:
    """A box's bytes in order, from swizzled shared memory."""
    places = place.places(index)
    data = shared[index : index + place.taken].copy() if places is None else _as_chunks(shared)[places].view(np.uint8)
    return data if place.packed == CHUNK else packed(data, _STORED_BITS)


def _spread(data: Array, packed: int) -> Array:
    """Chunks that begin with so many bytes each; what is behind them is not defined."""
    chunks = np.full((len(data) // packed, CHUNK), POISON[1], np.uint8)
    chunks[:, :packed] = data.reshape(-1, packed)
    return chunks.reshape(-1)


def _as_chunks(data: Array) -> Array:
    """NumPy moves 16-byte elements as fast as it moves any; complex numbers are just their name."""
    return data.view(np.complex128)


def _to_tf32(values: Array) -> Array:
    """`f32` rounded to nearest, ties to even; there is one NaN."""
    half = np.uint32(1 << (_TF32_BITS - 1))
    odd = values >> _TF32_BITS & np.uint32(1)
    rounded = values + (half - np.uint32(1)) + odd & np.uint32(0xFFFFFFFF << _TF32_BITS & 0xFFFFFFFF)
    magnitude = values & np.uint32(0x7FFFFFFF)
    return np.where(magnitude > 0x7F800000, _TF32_NAN, np.where(magnitude == 0x7F800000, values, rounded))


@dataclass(frozen=True, slots=True)
class AlongW:
    """How `im2col::w` goes over pixels: along W alone, and from the end of their box to its begin in the next image.

    The manual's text leaves to its figures which pixels are the halo. Its example for a filter of three loads 128
    pixels "and the two halo pixels" from fifteen images' rows of nine: so the halo comes once, not with each row. Here
    it is what the walk comes to next, with the element stride and into the next image. `im2col::w::128`, which has a
    halo after every 32 pixels, goes on from the end of the 32: pixels of the halo come twice. So each tap of a filter
    finds its pixels one row of shared memory further than the tap before, wherever 32 end.
    """

    halo: int = 0
    offset: int = 0
    """Of the box and of the first pixel."""
    is_fixed: bool = False
    """Whether it is `im2col::w::128`."""


def boxes_at(
    tensor: TensorMap | Im2colMap, coordinates: Sequence[int], offsets: Sequence[int] | AlongW = ()
) -> list[Box]:
    """What one copy moves, in the order of shared memory: a box of a tensor, or for im2col one for each row of pixels.

    The pixels, which are rows of a convolution's matrix, are those of a box that may hang over the image, one after the
    other, innermost mode first, and images after that. The offsets, of the filter's tap, are added to each pixel's
    coordinates; what is outside of the tensor then is filled by a load, and dropped by a store.
    """
    plain = tensor.tensor if isinstance(tensor, Im2colMap) else tensor
    element = ELEMENT_TYPES[plain.data_type]
    if element.bits:
        coordinates = (element.bytes(coordinates[0]), *coordinates[1:])
        plain = _in_bytes(plain, element)
        tensor = replace(tensor, tensor=plain) if isinstance(tensor, Im2colMap) else plain
        return [replace(each, packed=element.packed) for each in boxes_at(tensor, coordinates, offsets)]
    if not isinstance(tensor, Im2colMap):
        return [Box.at(tensor, coordinates)]
    if isinstance(offsets, AlongW):
        return _along_w(tensor, coordinates, offsets)
    channel, *pixel, image = coordinates
    ends, (stride, *_) = tensor.ends, tensor.tensor.element_strides[1:]
    offsets = offsets or [0 for _ in pixel]
    found: list[Box] = []
    left = tensor.pixels
    while left:
        count = min(left, -(-(ends[0] - pixel[0]) // stride))
        taken = (each + offset for each, offset in zip(pixel, offsets, strict=True))
        found.append(Box.at(_in_a_row(tensor.tensor, count), (channel, *taken, image)))
        left -= count
        pixel[0] = tensor.lower[0]
        for mode, step in enumerate(tensor.tensor.element_strides[2:-1], 1):
            pixel[mode] += step
            if pixel[mode] < ends[mode]:
                break
            pixel[mode] = tensor.lower[mode]
        else:
            image += 1
    return found


def _along_w(images: Im2colMap, coordinates: Sequence[int], how: AlongW) -> list[Box]:
    channel, first, *others, begin = coordinates
    lower, end, stride = images.lower[0], images.ends[0], images.tensor.element_strides[1]
    walk = ((image, w) for image in count(begin) for w in range(first if image == begin else lower, end, stride))
    number, group = (_FIXED_PIXELS, _FIXED_GROUP) if how.is_fixed else (images.pixels, images.pixels)
    pixels = list(islice(walk, number + how.halo))
    found: list[Box] = []
    for start in range(0, number, group):
        for image, row in groupby(pixels[start : start + group + how.halo], itemgetter(0)):
            (_, w), *rest = row
            place = (channel, w + how.offset, *others, image)
            found.append(Box.at(_in_a_row(images.tensor, 1 + len(rest)), place))
    return found


@lru_cache(maxsize=256)
def _in_bytes(tensor: TensorMap, element: ElementType) -> TensorMap:
    """A tensor of narrow elements as one of bytes."""
    sizes = (element.bytes(tensor.sizes[0]), *tensor.sizes[1:])
    box = (element.bytes(tensor.box[0]), *tensor.box[1:])
    return replace(tensor, data_type=0, sizes=sizes, box=box)


@lru_cache(maxsize=256)
def _in_a_row(images: TensorMap, count: int) -> TensorMap:
    """Images of which so many pixels in a row are copied at once, as far apart as the descriptor says."""
    stride = images.element_strides[1]
    return replace(images, box=(images.box[0], (count - 1) * stride + 1, *images.box[2:]))
