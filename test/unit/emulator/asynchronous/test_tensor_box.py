"""Boxes of tensors against a model that goes from element to element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.emulator.instructions.tensor_box import Box, read_box, write_box
from cutecc.emulator.tensor_map import ELEMENT_TYPES, fault
from cutecc.runtime.launch import TensorMap

TYPES = {0: np.uint8, 2: np.uint32, 4: np.uint64, 6: np.uint16}
NAN = {6: 0x7FF7}


@st.composite
def boxes(draw: st.DrawFn) -> tuple[TensorMap, tuple[int, ...], int]:
    """A descriptor, coordinates around its tensor, and where the box begins in shared memory."""
    data_type = draw(st.sampled_from(sorted(TYPES)))
    size = ELEMENT_TYPES[data_type].size
    rank = draw(st.integers(1, 5))
    swizzle = draw(st.integers(0, 3))
    row = draw(st.sampled_from([row for row in (16, 32, 64, 128) if not swizzle or row <= 16 << swizzle]))
    most = 4 if rank > 3 else 9
    box = (row // size, *(draw(st.integers(1, most)) for _ in range(rank - 1)))
    sizes = (draw(st.integers(1, 2 * box[0])), *(draw(st.integers(1, most)) for _ in range(rank - 1)))
    strides: list[int] = []
    pitch = sizes[0] * size
    for mode in range(1, rank):
        pitch = -(-pitch // 16) * 16 + 16 * draw(st.integers(0, 2))
        strides.append(pitch)
        pitch *= sizes[mode]
    apart = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    fill = draw(st.integers(0, 1)) if data_type == 6 else 0
    tensor = TensorMap(data_type, 4096, sizes, tuple(strides), box, apart, 0, swizzle, 0, fill)
    column = draw(st.integers(-2, 4)) * 16 // size
    coordinates = (column, *(draw(st.integers(-most, size + 1)) for size in sizes[1:]))
    return tensor, coordinates, 128 * draw(st.integers(0, 15))


def element_offsets(tensor: TensorMap, coordinates: tuple[int, ...], start: int) -> list[tuple[int, int | None]]:
    """For each element of the box, in order: its offset in shared memory, and in global memory if it is inside."""
    size = ELEMENT_TYPES[tensor.data_type].size
    apart = (1, *tensor.element_strides[1:])
    counts = [-(-box // stride) for box, stride in zip(tensor.box, apart, strict=True)]
    found: list[tuple[int, int | None]] = []
    for number, place in enumerate(itertools.product(*(range(count) for count in reversed(counts)))):
        at = [first + stride * each for first, stride, each in zip(coordinates, apart, reversed(place), strict=True)]
        inside = all(0 <= each < limit for each, limit in zip(at, tensor.sizes, strict=True))
        pitches = (size, *tensor.strides)
        offset = sum(each * pitch for each, pitch in zip(at, pitches, strict=True)) if inside else None
        row = tensor.box[0] * size
        pitch = max(row, 16 << tensor.swizzle) if tensor.swizzle else row
        linear = start + number * size // row * pitch + number * size % row
        rows = (0, 1, 3, 7)[tensor.swizzle]
        found.append((linear ^ ((linear >> 7 & rows) << 4), offset))
    return found


def memory_of(tensor: TensorMap) -> np.ndarray[Any, Any]:
    size = ELEMENT_TYPES[tensor.data_type].size
    last = (tensor.sizes[0] - 1) * size + sum(
        (count - 1) * stride for count, stride in zip(tensor.sizes[1:], tensor.strides, strict=True)
    )
    return np.random.default_rng(1).integers(0, 255, last + size, np.uint8)


@settings(max_examples=150, deadline=None)
@given(boxes())
def test_a_load_puts_each_element_where_it_belongs(case: tuple[TensorMap, tuple[int, ...], int]) -> None:
    tensor, coordinates, start = case
    assert fault(tensor) is None
    dtype, data = TYPES[tensor.data_type], memory_of(tensor)
    box = Box.at(tensor, coordinates)
    inside = None if box.is_outside else box.elements(data, box.address - tensor.address)
    shared = np.zeros(1 << 17, np.uint8)
    expected = shared.copy()
    write_box(shared, start, box.place, box.fill(inside))
    wanted = element_offsets(tensor, coordinates, start)
    for place, offset in wanted:
        value = NAN[tensor.data_type] if tensor.fill else 0
        if offset is not None:
            value = data[offset : offset + np.dtype(dtype).itemsize].view(dtype)[0]
        expected[place : place + np.dtype(dtype).itemsize] = np.array([value], dtype).view(np.uint8)
    np.testing.assert_array_equal(shared, expected)
    assert box.size == len(wanted) * np.dtype(dtype).itemsize
    assert box.is_outside == all(offset is None for _, offset in wanted)
    if not box.is_outside:
        addresses, size = box.addresses
        touched = {int(each) + byte for each in addresses for byte in range(size)}
        item = np.dtype(dtype).itemsize
        assert touched == {
            tensor.address + offset + byte for _, offset in wanted if offset is not None for byte in range(item)
        }
        assert max(touched) - min(touched) + 1 == box.extent


@settings(max_examples=100, deadline=None)
@given(boxes())
def test_a_store_writes_what_is_inside_and_nothing_else(case: tuple[TensorMap, tuple[int, ...], int]) -> None:
    tensor, coordinates, start = case
    dtype, data = TYPES[tensor.data_type], memory_of(tensor)
    shared = np.random.default_rng(2).integers(0, 255, 1 << 17, np.uint8)
    expected = data.copy()
    item = np.dtype(dtype).itemsize
    for place, offset in element_offsets(tensor, coordinates, start):
        if offset is not None:
            expected[offset : offset + item] = shared[place : place + item]
    box = Box.at(tensor, coordinates)
    if not box.is_outside:
        elements = box.elements(data, box.address - tensor.address)
        elements[...] = box.take(read_box(shared, start, box.place))
    np.testing.assert_array_equal(data, expected)


def loaded(data_type: int, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    tensor = TensorMap(data_type, 0, (len(values),), (), (len(values),), (1,), 0, 0, 0, 0)
    return Box.at(tensor, (0,)).fill(values.view(np.uint32)).view(values.dtype)


def test_floats_are_rounded_to_tf32_on_their_way() -> None:
    values = np.array([1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, -np.inf, 1e-40, 3.4e38], np.float32)
    np.testing.assert_array_equal(
        loaded(11, values)[:5], np.array([1 + 2**-10, 1, 1 + 2**-9, 1 + 2**-10, -np.inf], np.float32)
    )
    assert loaded(11, values)[5] > 0
    assert not (loaded(11, values).view(np.uint32) & 0x1FFF).any()
    nans = np.array([0x7FC00000, 0xFF800001], np.uint32).view(np.float32)
    np.testing.assert_array_equal(loaded(11, nans).view(np.uint32), np.full(2, 0x7FFFE000))


def test_what_is_outside_is_filled_with_one_nan_of_all_types() -> None:
    for data_type, bits in ((6, 0x7FF7), (7, 0x7FF77FF7), (11, 0x7FF77FF7), (8, 0x7FF77FF77FF77FF7)):
        size = ELEMENT_TYPES[data_type].size
        tensor = TensorMap(data_type, 0, (4,), (), (16,), (1,), 0, 0, 0, 1)
        np.testing.assert_array_equal(Box.at(tensor, (16,)).fill(None).view(f"u{size}"), np.full(16, bits, f"u{size}"))


def interleaved(
    interleave: int, sizes: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...],
    element_strides: tuple[int, ...] = (1, 1, 1, 1, 1),
) -> list[int]:  # fmt: skip
    """The numbers of the slices of 16 or 32 bytes in memory that a load takes, 0 for what is outside."""
    slice_ = 16 * interleave
    data = np.repeat(np.arange(1024, dtype=np.uint16), slice_ // 2).view(np.uint8)
    tensor = TensorMap(1, 0, sizes, strides, box, element_strides[: len(sizes)], interleave, 0, 0, 0)
    found = Box.at(tensor, at)
    filled = found.fill(None if found.is_outside else found.elements(data, found.address)).view(np.uint16)
    slices = filled.reshape(-1, slice_ // 2)
    assert (slices == slices[:, :1]).all()
    assert len(slices) * slice_ == found.size
    return slices[:, 0].tolist()


def test_boxes_of_interleaved_tensors_are_those_of_hardware() -> None:
    """What an H200 loaded."""
    for each in (1, 2):
        taken = interleaved(each, (2, 6, 4), (16 * each, 128 * each), (8, 3, 2), (0, 1, 1))
        assert taken == [9, 10, 0, 0, 0, 0, 0, 0, 17, 18, 0, 0, 0, 0, 0, 0]
        strides = (16 * each, 128 * each, 1024 * each)
        assert interleaved(each, (2, 6, 4, 2), strides, (8, 3, 2, 1), (1, 1, 1, 1))[::8] == [74, 75, 76]
    strides = (16, 112, 512, 8192)
    taken = interleaved(1, (24, 6, 4, 3, 2), strides, (8, 3, 2, 2, 2), (2, 1, 1, 1, 0))
    assert taken[::8] == [42, 43, 44, 49, 50, 51, 554, 555, 556, 561, 562, 563]
    assert taken[:8] == list(range(42, 50))
    taken = interleaved(1, (16, 6, 4), (16, 128), (8, 4, 3), (0, 1, 0), (2, 1, 1))
    assert taken == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]


def test_addresses_wrap_at_64_bits() -> None:
    """As descriptors of ragged tensors want it: what one coordinate leads astray another one leads back."""
    stride, far = 256, 1 << 30
    tensor = TensorMap(7, 4096, (8, far, far + 1), ((1 << 34) - stride, stride), (8, 1, 4), (1, 1, 1), 0, 0, 0, 0)
    box = Box.at(tensor, (0, far - 1, far - 2))
    assert box.address == (4096 + (far - 1) * ((1 << 34) - stride) + (far - 2) * stride) % 2**64 < 2**64
    assert box.inside == (8, 1, 3)
