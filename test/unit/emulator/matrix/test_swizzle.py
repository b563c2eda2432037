"""Where a matrix descriptor says that elements are, against CuTe's shared memory atoms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.numbers.swizzle import MatrixDescriptor, swizzle
from cutecc.layout import ComposedLayout, Layout, Swizzle

BITS_OF_WIDTH = {0: 0, 32: 1, 64: 2, 128: 3}
MODES = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor(start: int, leading: int, stride: int, width: int, base_offset: int = 0) -> MatrixDescriptor:
    """By way of the 64 bits."""
    bits = start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base_offset << 49 | MODES[width] << 62
    found = MatrixDescriptor.decode(bits)
    assert found == MatrixDescriptor(start, leading, stride, base_offset, width)
    return found


@pytest.mark.parametrize("width", [32, 64, 128])
def test_a_swizzle_is_that_of_cute_in_bytes(width: int) -> None:
    expected = Swizzle(BITS_OF_WIDTH[width], 4, 3)
    addresses = np.arange(8192)
    assert [expected(int(each)) for each in addresses] == swizzle(addresses, width).tolist()


def addresses_of(found: MatrixDescriptor, major: Any, rows: int, depth: int, size: int) -> Any:
    """The address of each element, `(rows, depth)`, elements being of `size` bytes."""
    per = 16 // size
    if major == "k":
        base, chunks = found.chunks("k", rows, depth // per)
        return base + np.repeat(chunks, per, axis=1) + np.arange(depth) % per * size
    base, chunks = found.chunks("mn", depth, rows // per)
    return (base + np.repeat(chunks, per, axis=1) + np.arange(rows) % per * size).T


def evaluate(layout: Any, rows: int, depth: int, size: int) -> Any:
    return np.array([[layout((row, column)) * size for column in range(depth)] for row in range(rows)])


@pytest.mark.parametrize(("width", "size"), list(itertools.product((32, 64, 128), (1, 2, 4))))
def test_k_major_atoms(width: int, size: int) -> None:
    """`Layout_K_SW*_Atom` for this element size, stacked along M or N: each step along K starts 32 bytes further on."""
    per, rows = width // size, 64
    atom = Layout.parse(f"(8,{per}):({per},1)")
    tiled = Layout.parse(f"((8,{rows // 8}),{per}):(({per},{8 * per}),1)")
    assert [tiled((row, column)) for row in range(8) for column in range(per)] == [
        atom((row, column)) for row in range(8) for column in range(per)
    ]
    exponent = (16 // size).bit_length() - 1
    whole = evaluate(ComposedLayout(Swizzle(BITS_OF_WIDTH[width], exponent, 3), 0, tiled), rows, per, size)
    for step in range(width // 32):
        found = descriptor(4096 + 32 * step, 16, 8 * width, width)
        depth = 32 // size
        expected = 4096 + whole[:, step * depth : (step + 1) * depth]
        np.testing.assert_array_equal(addresses_of(found, "k", rows, depth, size), expected)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_k_major_without_swizzle(size: int) -> None:
    """Core matrices of 8 rows of 16 bytes: `leading` from one to the next along K, `stride` along M or N."""
    per, rows, depth = 16 // size, 32, 32 // size
    layout = Layout.parse(f"((8,{rows // 8}),({per},2)):(({per},{640 // size}),(1,{2816 // size}))")
    found = descriptor(16, 2816, 640, 0)
    np.testing.assert_array_equal(addresses_of(found, "k", rows, depth, size), 16 + evaluate(layout, rows, depth, size))


@pytest.mark.parametrize("width", [32, 64, 128])
def test_mn_major_atoms(width: int) -> None:
    """`Layout_MN_SW*_Atom` of 16-bit elements: `leading` to the next atom along M or N, `stride` along K."""
    wide, rows, depth = width // 2, 128, 16
    stride, leading = 8 * wide + 1024, 16384
    layout = Layout.parse(f"(({wide},{rows // wide}),(8,2)):((1,{leading // 2}),({wide},{stride}))")
    swizzled = ComposedLayout(Swizzle(BITS_OF_WIDTH[width], 3, 3), 0, layout)
    found = descriptor(2048, leading, 2 * stride, width)
    np.testing.assert_array_equal(addresses_of(found, "mn", rows, depth, 2), 2048 + evaluate(swizzled, rows, depth, 2))


def test_mn_major_without_swizzle() -> None:
    layout = Layout.parse("((8,4),(8,2)):((1,320),(8,1408))")
    found = descriptor(32, 2816, 640, 0)
    np.testing.assert_array_equal(addresses_of(found, "mn", 32, 16, 2), 32 + evaluate(layout, 32, 16, 2))


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("base_offset", range(8))
def test_a_base_offset_moves_the_pattern(width: int, base_offset: int) -> None:
    """A tile that begins at any multiple of 128 bytes looks, with its base offset, as one at a multiple of 1024."""
    start = 8192 + 128 * base_offset
    aligned, chunks = descriptor(0, 16, 8 * width, width).chunks("k", 64, 2)
    moved, moved_chunks = descriptor(start, 16, 8 * width, width, base_offset).chunks("k", 64, 2)
    np.testing.assert_array_equal(moved + moved_chunks - start, aligned + chunks)


def test_fields_of_a_descriptor() -> None:
    bits = 0x3FFF | 0x1234 << 16 | 0x0567 << 32 | 5 << 49 | 2 << 62
    assert MatrixDescriptor.decode(bits) == MatrixDescriptor(0x3FFF0, 0x12340, 0x5670, 5, 64)
