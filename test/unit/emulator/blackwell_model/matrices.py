"""The matrices of a `tcgen05.mma`, read from the memories of its blocks and written there.

Values are floats of 64 bits, in which every element, and every product of two elements and their scales, is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from blackwell_model.cells import Cell
from blackwell_model.formats import FORMATS, read_tf32
from blackwell_model.places import (
    Block,
    Product,
    a_element,
    a_scale,
    b_element,
    b_scale,
    d_element,
    metadata_code,
    partitions_of_b_scale,
    used_row,
)
from blackwell_model.scales import PARTITIONS, scale_of
from blackwell_model.sparsity import granularity_of, stored_elements

Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint32]
"""Elements as their bits."""


@cache
def value(dtype: str, code: int) -> float:
    """Of an element of an operand or result, or of a scale."""
    match dtype:
        case "f16":
            return float(np.uint16(code).view(np.float16))
        case "bf16":
            return float(np.uint32(code << 16).view(np.float32))
        case "tf32":
            return float(np.uint32(read_tf32(code)).view(np.float32))
        case "f32":
            return float(np.uint32(code).view(np.float32))
        case "s32":
            return float(np.uint32(code).view(np.int32))
        case "u8":
            return float(code)
        case "s8":
            return float(np.uint8(code).view(np.int8))
        case _:
            return FORMATS[dtype].decode(code)


def scale_type(product: Product) -> str:
    return "ue8m0" if product.descriptor.scale_type else "ue4m3"


def read_a(blocks: Sequence[Block], product: Product, part: int) -> Matrix:
    """A as one part of N has it, `[row, k]`: without compression, with its sign and scales."""

    def element(row: int, k: int) -> float:
        block, place = a_element(product, used_row(product, row), k, part)
        return value(product.a_type, blocks[block].read(place))

    matrix = _matrix(product.descriptor.m, product.stored_k, element)
    if product.variant.sparse:
        matrix = _without_compression(blocks, product, part, matrix)
    if product.scales is not None:
        matrix = matrix * _scales_of_a(blocks, product)
    return -matrix if product.descriptor.negate_a else matrix


def read_b(blocks: Sequence[Block], product: Product, block: int) -> Matrix:
    """B as one block multiplies with it, `[k, column]`, all columns: with its sign, scales and zero columns."""
    m, n, mask = product.descriptor.m, product.descriptor.n, product.column_mask

    def element(k: int, column: int) -> float:
        if mask.is_zero(m, n, column):
            return 0.0
        owner, place = b_element(product, k, mask.source_column(column))
        return value(product.b_type, blocks[owner].read(place))

    matrix = _matrix(product.k, n, element)
    if product.scales is not None:
        matrix = matrix * _scales_of_b(blocks[block], product)
    return -matrix if product.descriptor.negate_b else matrix


def read_d(blocks: Sequence[Block], product: Product) -> Matrix:
    """`[row, column]`."""

    def element(row: int, column: int) -> float:
        block, place = d_element(product, row, column)
        return value(product.d_type, blocks[block].read(place))

    return _matrix(product.descriptor.m, product.descriptor.n, element)


def write_a(blocks: Sequence[Block], product: Product, codes: Codes) -> None:
    """`[row, k]` of what is stored; in tensor memory for every part of N."""
    parts = range(product.layout.parts if isinstance(product.a, Cell) else 1)
    for (row, k), code in np.ndenumerate(codes):
        for part in parts:
            block, place = a_element(product, row, k, part)
            blocks[block].write(place, int(code))


def write_b(blocks: Sequence[Block], product: Product, codes: Codes) -> None:
    """`[k, column]`."""
    for (k, column), code in np.ndenumerate(codes):
        block, place = b_element(product, k, column)
        blocks[block].write(place, int(code))


def write_d(blocks: Sequence[Block], product: Product, codes: Codes) -> None:
    """`[row, column]`."""
    for (row, column), code in np.ndenumerate(codes):
        block, place = d_element(product, row, column)
        blocks[block].write(place, int(code))


def write_metadata(blocks: Sequence[Block], product: Product, codes: Codes) -> None:
    """`[row, chunk]`, for every part of N."""
    for (row, chunk), code in np.ndenumerate(codes):
        for part in range(product.layout.parts):
            block, place = metadata_code(product, row, chunk, part)
            blocks[block].write(place, int(code))


def write_scales(blocks: Sequence[Block], product: Product, of_a: Codes, of_b: Codes) -> None:
    """`[row of A, index]` and `[column of B, index]`, to all partitions of lanes, and of B to both blocks."""
    assert product.scales is not None
    for (row, index), code in np.ndenumerate(of_a):
        for partition in range(PARTITIONS):
            block, place = a_scale(product, product.scales, row, index, partition)
            blocks[block].write(place, int(code))
    for (column, index), code in np.ndenumerate(of_b):
        for partition in partitions_of_b_scale(product.layout):
            for each in blocks:
                each.write(b_scale(product, product.scales, column, index, partition), int(code))


def _without_compression(blocks: Sequence[Block], product: Product, part: int, compressed: Matrix) -> Matrix:
    """Zeros where nothing is stored."""
    granularity = granularity_of(product.kind)
    matrix = np.zeros((len(compressed), product.k))
    for row, chunk in np.ndindex(len(compressed), product.k // granularity.elements):
        block, place = metadata_code(product, used_row(product, row), chunk, part)
        for order, element in enumerate(stored_elements(product.kind, blocks[block].read(place))):
            matrix[row, chunk * granularity.elements + element] = compressed[row, chunk * granularity.stored + order]
    return matrix


def _scales_of_a(blocks: Sequence[Block], product: Product) -> Matrix:
    assert product.scales is not None
    scales, vectors, dtype = product.scales, product.vectors, scale_type(product)

    def scale(row: int, index: int) -> float:
        block, place = a_scale(product, scales, row, index)
        return value(dtype, _scale_code(dtype, blocks[block].read(place)))

    return _matrix(product.descriptor.m, vectors.count, scale)[:, [scale_of(vectors, k) for k in range(product.k)]]


def _scales_of_b(block: Block, product: Product) -> Matrix:
    assert product.scales is not None
    scales, vectors, dtype = product.scales, product.vectors, scale_type(product)

    def scale(index: int, column: int) -> float:
        return value(dtype, _scale_code(dtype, block.read(b_scale(product, scales, column, index))))

    return _matrix(vectors.count, product.descriptor.n, scale)[[scale_of(vectors, k) for k in range(product.k)]]


def _scale_code(dtype: str, byte: int) -> int:
    """Without the bit that pads a ue4m3."""
    return byte & (1 << FORMATS[dtype].bits) - 1


def _matrix(rows: int, columns: int, element: Callable[[int, int], float]) -> Matrix:
    return np.array([[element(row, column) for column in range(columns)] for row in range(rows)])
