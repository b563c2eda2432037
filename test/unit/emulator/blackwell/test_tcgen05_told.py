"""What checks are told of a `tcgen05.mma`: just the bits that the independent model has of its operands."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.memory.tensor_memory import CELL, COLUMNS, LANES
from cutecc.emulator.numbers.swizzle import CHUNK

sys.path[:0] = [str(Path(__file__).parent)]

from blackwell_model.cells import Bits  # noqa: E402
from blackwell_model.instruction_descriptor import Kind  # noqa: E402
from blackwell_model.matrix_shapes import Variant  # noqa: E402
from blackwell_model.places import (  # noqa: E402
    Product,
    a_element,
    a_scale,
    b_element,
    b_scale,
    d_element,
    metadata_code,
    partitions_of_b_scale,
)
from blackwell_model.scales import PARTITIONS  # noqa: E402
from blackwell_model.sparsity import granularity_of  # noqa: E402
from blackwell_model.test_model_of_whole_products import Given  # noqa: E402
from chips import REGISTERS, Chip, text_of, values_of  # noqa: E402
from random_blocks import SHARED_BYTES, random_blocks  # noqa: E402

F16 = Variant(Kind.F16)
GIVEN = {
    "D": Given("f16", "f16", 128, 8, F16),
    "F, A in tensor memory": Given("f16", "f16", 64, 8, F16, in_tensor_memory=True),
    "G, sparse, A in tensor memory": Given(
        "f16", "f16", 32, 64, replace(F16, weight_stationary=True, sparse=True), in_tensor_memory=True
    ),
    "scaled, K = 96": Given("e2m1", "e2m1", 128, 8, Variant(Kind.MXF4NVF4), k_is_96=True, scales="block16"),
    "scaled B": Given("e4m3", "e4m3", 128, 16, Variant(Kind.MXF8F6F4, cta_group=2)),
}

Place = tuple[str, int, int]
"""Space, block, and the address of the cell or chunk."""


class Told(Watch):
    """Collects what is read, and what is written."""

    listens = True

    def __init__(self) -> None:
        self.read: set[Place] = set()
        self.write: set[Place] = set()

    def asynchronous_access(self, agent: int, operation: Any, kind: Any, space: Any, addresses: Any, size: int) -> None:
        block_bytes = SHARED_BYTES if space == "shared" else LANES * COLUMNS * CELL
        assert size == (CHUNK if space == "shared" else CELL)
        places = {(space, *divmod(int(each), block_bytes)) for each in addresses}
        (self.read if kind == "read" else self.write).update(places)


def place(located: tuple[int, Any]) -> Place:
    block, bits = located
    if isinstance(bits, Bits):
        return "tensor", block, CELL * (bits.cell.lane * COLUMNS + bits.cell.column)
    return "shared", block, bits.address // CHUNK * CHUNK


def wanted_reads(product: Product) -> set[Place]:
    m, n = product.descriptor.m, product.descriptor.n
    parts = range(product.layout.parts)
    found = {place(a_element(product, row, k, part)) for row, k in np.ndindex(m, product.stored_k) for part in parts}
    found |= {place(b_element(product, k, column)) for k, column in np.ndindex(product.k, n)}
    if product.enable_input_d:
        found |= {place(d_element(product, *each)) for each in np.ndindex(m, n)}
    if product.variant.sparse:
        chunks = product.k // granularity_of(product.kind).elements
        found |= {place(metadata_code(product, *each, part)) for each in np.ndindex(m, chunks) for part in parts}
    if product.scales is not None:
        scales, count = product.scales, product.vectors.count
        of_a = [(row, index, copy) for row, index, copy in np.ndindex(m, count, PARTITIONS)]
        of_b = np.ndindex(n, count, len(partitions_of_b_scale(product.layout)))
        found |= {place(a_scale(product, scales, *each)) for each in of_a}
        found |= {
            (place((block, b_scale(product, scales, *each))))
            for each in of_b
            for block in range(product.variant.cta_group)
        }
    return found


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("adds", [False, True])
def test_told(name: str, adds: bool) -> None:
    product = replace(GIVEN[name].product, enable_input_d=adds)
    told = Told()
    chip = Chip(random_blocks(product), REGISTERS, watch=told, target="sm_103a" if product.k == 96 else "sm_100a")
    chip.do(text_of(product), values_of(product))
    assert not chip.faults
    shape = product.descriptor.m, product.descriptor.n
    assert told.write == {place(d_element(product, *each)) for each in np.ndindex(shape)}
    assert told.read == wanted_reads(product)
