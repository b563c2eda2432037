"""Offsets in words: which element of which tensor."""

from __future__ import annotations

import mmap
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import allocation

from cutecc.arguments.arrays import Array as Layout
from cutecc.emulator.memory.allocations import Allocation, elements_of, merged, pointer_allocation, tensor_allocation
from cutecc.emulator.memory.elements import Elements
from cutecc.emulator.memory.global_memory import GlobalMemory
from cutecc.errors import ArgumentError, EmulatorError


@pytest.mark.parametrize(
    ("shape", "stride", "bits", "offset", "text"),
    [
        ((8, 32), (32, 1), 32, (3 * 32 + 17) * 4, "a[3, 17]"),
        ((8, 32), (1, 8), 16, (3 + 17 * 8) * 2, "a[3, 17]"),
        ((8, 32), (32, 1), 32, 17 * 4 + 2, "a[0, 17] + 2 bytes"),
        ((4, 3), (8, 1), 32, 3 * 4, "a[0, 2] + 4 bytes, between elements"),
        ((4, 3), (8, 1), 32, (8 + 5) * 4 + 1, "a[1, 2] + 13 bytes, between elements"),
        ((8,), (1,), 32, 40, "a + 40 bytes, 8 past its end, at [10] of shape (8)"),
        ((8,), (1,), 32, 32, "a + 32 bytes, just past its end, at [8] of shape (8)"),
        ((8,), (1,), 32, -4, "a - 4 bytes, before its start, at [-1] of shape (8)"),
        ((8,), (-1,), 32, 0, "a[7]"),
        ((8,), (-1,), 32, 28, "a[0]"),
        ((4, 8), (0, 1), 32, 12, "a[0, 3]"),
        ((16,), (1,), 4, 3, "a[6]"),
        ((5, 16), (16, 1), 4, 8 + 7, "a[1, 14]"),
        ((), (), 64, 0, "a"),
        ((0, 4), (4, 1), 32, 8, "a + 8 bytes, 8 past its end, of shape (0, 4)"),
        ((8,), (-1,), 32, 36, "a + 36 bytes, 4 past its end, at [-2] of shape (8)"),
        ((1, 8), (8, 1), 32, 32, "a + 32 bytes, just past its end, at [0, 8] of shape (1, 8)"),
        ((1,), (1,), 32, 8, "a + 8 bytes, 4 past its end, at [2] of shape (1)"),
        ((4,), (0,), 32, 8, "a + 8 bytes, 4 past its end, of shape (4)"),
        ((), (), 64, 8, "a + 8 bytes, just past its end"),
    ],
)
def test_words(shape: tuple[int, ...], stride: tuple[int, ...], bits: int, offset: int, text: str) -> None:
    assert Elements("a", shape, stride, bits).describe(offset) == text


@given(st.data())
def test_every_element_of_a_strided_view_is_found(data: st.DataObject) -> None:
    base = np.arange(6 * 10 * 4, dtype=np.float32).reshape(6, 10, 4)
    slices = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, 3, -1, -2]), label="step")) for _ in range(3))
    view = base.transpose(data.draw(st.permutations(range(3))))[slices]
    index = tuple(data.draw(st.integers(0, size - 1)) for size in view.shape)
    tensor = allocation(view)
    offset = view.ctypes.data + int(np.dot(index, view.strides)) - tensor.base
    assert tensor.describe(offset) == f"a[{', '.join(map(str, index))}]"
    assert tensor.data[offset : offset + 4].view(np.float32)[0] == view[index]


@given(st.data())
def test_what_strides_leave_out(data: st.DataObject) -> None:
    base = np.zeros((3, 4, 5), np.uint16)
    slices = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, 3, -1, -2]), label="step")) for _ in range(3))
    view = base.transpose(data.draw(st.permutations(range(3))))[slices]
    tensor = allocation(view)
    view[...] = 0xFFFF
    elements = elements_of(tensor)
    assert elements is not None and elements.has_gaps == (not tensor.data.all())
    offsets = np.arange(-4, tensor.size + 4)
    held = np.zeros(len(offsets), np.bool_)
    held[4:-4] = tensor.data
    assert elements.holds(offsets).tolist() == held.tolist()


def test_coordinates_that_share_elements_have_no_gaps() -> None:
    assert not Elements("a", (3, 2), (2, 3), 32).has_gaps
    assert Elements("a", (4, 3), (0, 2), 32).has_gaps
    assert not Elements("a", (4, 3), (8, 1), 4).has_gaps


def test_gaps_are_what_is_an_element_of_no_tensor() -> None:
    base = np.zeros((4, 8), np.float32)
    left, right = allocation(base[:, :3], "left"), allocation(base[:, 4:7], "right")
    memory = GlobalMemory([left, right])
    ((region, gaps),) = memory.gaps.items()
    assert region.size == right.end - left.base
    columns = gaps.inside(np.arange(8) * 4, 4)
    assert columns.tolist() == [False, False, False, True, False, False, False, True]
    assert gaps.inside(np.array([8, 12, 28]), 8).tolist() == [False, False, False]
    assert gaps.tensor_at(12) == "left" and gaps.tensor_at(28) == "left"
    assert not GlobalMemory([left, right, allocation(base, "all")]).gaps
    assert not GlobalMemory([allocation(base)]).gaps


def test_allocations_are_the_memory_itself() -> None:
    array = np.zeros(8, np.int32)
    allocation(array).data[4:8] = 1
    assert allocation(array[:0]).size == 0
    assert array.tolist() == [0, 0x01010101, 0, 0, 0, 0, 0, 0]


def test_overlapping_tensors_are_one_region() -> None:
    base = np.arange(64, dtype=np.int32)
    other = np.arange(4, dtype=np.int32)
    parts = [allocation(base[10:30], "a"), allocation(base[20:50], "b"), allocation(base[10:30], "c")]
    regions = sorted(merged([*parts, allocation(other, "d")]), key=lambda region: -region.size)
    assert [region.size for region in regions] == [160, 16]
    assert np.shares_memory(regions[0].data, base)
    assert regions[0].data.view(np.int32).tolist() == list(range(10, 50))


def test_memory_is_writable_where_some_tensor_of_it_is() -> None:
    base = np.arange(64, dtype=np.int32)
    fixed = base.view()
    fixed.flags.writeable = False

    def of(part: np.ndarray) -> Allocation:
        made = allocation(part)
        made.data.flags.writeable = part.flags.writeable
        return made

    def writable(*parts: np.ndarray) -> list[bool]:
        return [region.writable for region in merged([of(part) for part in parts])]

    assert writable(fixed) == writable(fixed, fixed[8:16]) == [False]
    assert (
        writable(fixed, base) == writable(fixed[8:16], base) == writable(fixed[8:16], base[:12], base[4:20]) == [True]
    )
    assert writable(fixed[:16], base[8:24]) == [False]
    with pytest.raises(ValueError):
        merged([of(fixed[:16]), of(base[8:24])])[0].data[0] = 1


def test_neighbours_stay_apart() -> None:
    base = np.arange(64, dtype=np.int32)
    assert [region.size for region in merged([allocation(base[:8]), allocation(base[8:])])] == [32, 224]


def test_copies_that_do_not_overlap_in_memory_are_refused() -> None:
    layout = Layout("float32", (8,), (1,), 4096)
    copies = [replace(tensor_allocation(layout, name), data=np.zeros(32, np.uint8)) for name in "ab"]
    with pytest.raises(EmulatorError, match="'a' and 'b' share addresses, but not memory"):
        merged(copies)


def test_description_names_the_smallest_tensor_and_the_nearest() -> None:
    base = np.zeros((8, 8), np.float32)
    memory = GlobalMemory([allocation(base, "all"), allocation(base[2], "row")])
    start = base.ctypes.data
    assert memory.describe(start + 4) == "all[0, 1]"
    assert memory.describe(start + 2 * 32 + 8) == "row[2]"
    assert memory.describe(start + 256 + 4) == "all + 260 bytes, 4 past its end, at [8, 1] of shape (8, 8)"
    assert memory.describe(16) == "0x10, near no argument"


def test_pointer_reaches_over_mappings_that_the_kernel_keeps_apart() -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 4 * page)
    # Advice for two of its pages splits it.
    memory.madvise(mmap.MADV_DONTFORK, page, 2 * page)
    array = np.frombuffer(memory, np.uint8)
    pointer = pointer_allocation(array.ctypes.data + 8, "p", array.nbytes - 8)
    assert pointer.base == array.ctypes.data + 8 and pointer.size == array.nbytes - 8


def test_pointer_is_as_much_as_was_said() -> None:
    array = np.arange(1 << 16, dtype=np.int32)
    pointer = pointer_allocation(array.ctypes.data + 64, "p", 128)
    assert pointer.data.view(np.int32).tolist() == list(range(16, 48))
    assert pointer.describe(0) == "p + 0 bytes"
    assert pointer.describe(-64) == "p - 64 bytes, before its start"
    assert pointer.describe(129) == "p + 129 bytes, 1 past its end"
    with pytest.raises(ArgumentError, match="0x10; at 0x10 this process has no memory"):
        pointer_allocation(16, "p", 1)


def test_tensor_of_a_gpu_is_refused() -> None:
    with pytest.raises(EmulatorError, match="'a' lies on cuda:1"):
        tensor_allocation(Layout("float32", (8,), (1,), 4096, "cuda", 1), "a")
