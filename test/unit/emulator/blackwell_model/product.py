"""What a `tcgen05.mma` leaves in tensor memory.

PTX ISA, 9.7.16.10 "TensorCore 5th Generation Matrix Multiply and accumulate Operations" and 9.7.16.10.9 with its
subsections. The manual leaves open the precision and order of sums of floats, and which NaN a result is: compare
numbers whose sums are exact in any order, or with a tolerance. Integers wrap around, or saturate where the descriptor
says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blackwell_model.data_path import writes_lane
from blackwell_model.loads_and_stores import Words
from blackwell_model.matrices import Matrix, read_a, read_b, read_d
from blackwell_model.places import Block, Product, d_element


def result(blocks: Sequence[Block], product: Product) -> Matrix:
    """D as a matrix, `[row, column]`, before it is rounded to its type."""
    m, n, parts = product.descriptor.m, product.descriptor.n, product.layout.parts
    rows, columns = product.layout.rows_of_a_block, n // parts
    d = np.zeros((m, n))
    of_blocks = [read_b(blocks, product, block) for block in range(product.variant.cta_group)]
    for part in range(parts):
        a, width = read_a(blocks, product, part), slice(part * columns, (part + 1) * columns)
        for block, b in enumerate(of_blocks):
            lines = slice(block * rows, (block + 1) * rows)
            d[lines, width] = a[lines] @ b[:, width]
    return d + np.ldexp(read_d(blocks, product), -product.scale_input_d) if product.enable_input_d else d


def execute(blocks: Sequence[Block], product: Product) -> list[Words]:
    """The tensor memory of each block afterwards. Of a column with 16 bits of D, the other half stays as it is."""
    after = [Block(block.shared, block.tensor.copy()) for block in blocks]
    for (row, column), number in np.ndenumerate(result(blocks, product)):
        block, place = d_element(product, row, column)
        if writes_lane(product.disable_output_lane, block, place.cell.lane):
            after[block].write(place, encoded(number, product.d_type, saturates=bool(product.descriptor.saturate)))
    return [block.tensor for block in after]


def encoded(number: float, dtype: str, *, saturates: bool = False) -> int:
    """The bits of an element of D; to the nearest, to even between two."""
    match dtype:
        case "f16":
            return int(np.float16(number).view(np.uint16))
        case "s32":
            integer = round(number)
            if saturates:
                integer = min(max(integer, -(1 << 31)), (1 << 31) - 1)
            return integer & 0xFFFFFFFF
        case _:
            return int(np.float32(number).view(np.uint32))
