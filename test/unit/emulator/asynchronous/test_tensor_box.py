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
NAN = {6: 0x7FFF}


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
    coordinates = tuple(draw(st.integers(-most, size + 1)) for size in sizes)
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
        linear = start + number * size
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
    write_box(shared, start, tensor.swizzle, box.fill(inside))
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
        elements[...] = box.take(read_box(shared, start, tensor.swizzle, box.size))
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


def test_subnormal_floats_become_zeros_of_their_sign() -> None:
    values = np.array([1e-40, -1e-40, 1e-37, -0.0], np.float32)
    np.testing.assert_array_equal(
        loaded(10, values).view(np.uint32), np.array([0, -0.0, 1e-37, -0.0], np.float32).view(np.uint32)
    )
