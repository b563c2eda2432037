"""Memories full of small numbers of the types that a multiplication has, wherever it reads them.

So what is read at a wrong place is another number, and each of several copies of a matrix is another matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from blackwell_model.cells import Cell
from blackwell_model.instruction_descriptor import Kind
from blackwell_model.matrices import scale_type
from blackwell_model.places import Block, Product, storage
from blackwell_model.shared_descriptor import Storage
from blackwell_model.sparsity import MEANINGFUL_PAIRS, MEANINGFUL_SINGLES
from blackwell_model.test_model_of_whole_products import some_codes

SHARED_BYTES = 1 << 17
_WIDTHS: dict[Storage, Any] = {Storage.BITS32: np.uint32, Storage.BITS16: np.uint16, Storage.BITS8: np.uint8}


def random_blocks(product: Product, seed: int = 0) -> list[Block]:
    """A is in the first half of shared memory, or in a tensor memory whose columns are not those of anything else."""
    random = np.random.default_rng(seed)
    return [_block(random, product) for _ in range(product.variant.cta_group)]


def _block(random: np.random.Generator, product: Product) -> Block:
    kind, half = product.kind, SHARED_BYTES // 2
    shared = np.concatenate([_elements(random, kind, each, half) for each in (product.a_type, product.b_type)])
    tensor = _d(random, product)
    if isinstance(product.a, Cell):
        columns = slice(product.a.column, product.a.column + 16)
        tensor[:, columns] = _elements(random, kind, product.a_type, 128 * 16 * 4).view(np.uint32).reshape(128, 16)
    if product.variant.sparse:
        first = product.metadata.column
        tensor[:, first : first + 8] = _metadata(random, kind, 128 * 8).reshape(128, 8)
    if product.scales is not None:
        for first in (product.scales.a.column, product.scales.b.column):
            codes = some_codes(random, scale_type(product), 128 * 24 * 4).astype(np.uint8)
            tensor[:, first : first + 24] = codes.view(np.uint32).reshape(128, 24)
    return Block(shared, tensor)


def _elements(random: np.random.Generator, kind: Kind, dtype: str, size: int) -> Any:
    """Bytes of shared memory; of elements of 4 and 6 bits any bits are finite numbers."""
    width = _WIDTHS.get(storage(kind, dtype))
    if width is None:
        return random.integers(0, 256, size, np.uint8)
    return some_codes(random, dtype, size // np.dtype(width).itemsize).astype(width).view(np.uint8)


def _metadata(random: np.random.Generator, kind: Kind, words: int) -> Any:
    meaningful = MEANINGFUL_SINGLES if kind is Kind.TF32 else MEANINGFUL_PAIRS
    nibbles = random.choice(np.array(meaningful, np.uint8), (4 * words, 2))
    return (nibbles[:, 0] | nibbles[:, 1] << 4).view(np.uint32)


def _d(random: np.random.Generator, product: Product) -> Any:
    """Small whole numbers once they are scaled."""
    numbers = random.integers(-13, 14, (128, 512))
    if product.d_type == "f16":
        return (numbers * 2.0**product.scale_input_d).astype(np.float16).view(np.uint16).astype(np.uint32)
    if product.d_type == "s32":
        # Near the ends, where sums wrap around or saturate.
        return (numbers + random.choice([0, 1 << 31], (128, 512))).astype(np.uint32)
    return (numbers * 2.0**product.scale_input_d).astype(np.float32).view(np.uint32)
