"""`tcgen05.mma` against the independent model: what it leaves in tensor memory, of every kind and data path."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

from any_product import AnyProduct  # noqa: E402
from attacks import attacks  # noqa: E402
from blackwell_model.data_path import Layout  # noqa: E402
from blackwell_model.instruction_descriptor import Kind  # noqa: E402
from blackwell_model.places import Product  # noqa: E402
from blackwell_model.product import execute  # noqa: E402
from chips import REGISTERS, Chip, text_of, values_of  # noqa: E402
from random_blocks import random_blocks  # noqa: E402


def compare(product: Product, collector: str) -> None:
    """What the instruction leaves in tensor memory is what the model says."""
    blocks = random_blocks(product)
    chip = Chip(blocks, REGISTERS, target="sm_103a" if product.descriptor.k_is_96 else "sm_100a")
    chip.do(text_of(product, collector), values_of(product))
    assert not chip.faults, chip.faults[0].message
    # The manual does not say what is above an f16 of D.
    counts = np.uint32(0xFFFF if product.d_type == "f16" else 0xFFFFFFFF)
    for found, wanted in zip(chip.tensor, execute(blocks, product), strict=True):
        np.testing.assert_array_equal(found & counts, wanted & counts)


SCALED_LAYOUTS = (Layout.A, Layout.B, Layout.D)
PLACES = [(layout, kind) for kind in Kind for layout in Layout if layout in SCALED_LAYOUTS or not kind.is_scaled]
"""All data paths of all kinds."""


@pytest.mark.parametrize(("layout", "kind"), PLACES)
def test_any_product(layout: Layout, kind: Kind) -> None:
    for round_ in range(attacks(1)):
        seed = 100 * round_ + PLACES.index((layout, kind))
        chosen = AnyProduct(seed, layout, kind)
        product = chosen.product()
        compare(product, chosen.collector(product))
