"""Where the matrix products of warpgroups come from.

ptxas puts no line into the table for `HGMMA` and the like, which so seem to belong to the line of whatever stands
before them. The `wgmma` instructions of the PTX have lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cutecc.sass import SassFunction, is_warpgroup_product
from cutecc.support.locations import Place, without_columns

_PTX = re.compile(r"\s*(?:@!?%?\w+\s+)?wgmma\.mma_async\.\S*?\.m(\d+)n(\d+)k(\d+)\.")
_SHAPE = re.compile(r"\.(\d+)x(\d+)x(\d+)\b")


class Product(NamedTuple):
    """A `wgmma.mma_async` of PTX."""

    shape: tuple[str, ...]
    """m, n, k."""
    place: Place | None


def product_of(_line: int, instruction: str, place: Place | None) -> Product | None:
    """The product that a line of PTX starts, `None` for all other lines; its place has no columns, as those of SASS."""
    match = _PTX.match(instruction)
    if match is None:
        return None
    return Product(match.groups(), place and without_columns(place))


def place_products(function: SassFunction, products: Sequence[Product]) -> None:
    """Give the warpgroup products of `function` the places of those of its PTX.

    It is known where all of the PTX have one place, and where there are as many, of the same shapes in the same order.
    Others stay without.
    """
    found = [each for each in function.instructions if is_warpgroup_product(each.text) and each.place is None]
    if len({each.place for each in products}) == 1:
        products = [products[0]] * len(found)
    elif [_shape(each.text) for each in found] != [each.shape for each in products]:
        return
    for each, product in zip(found, products, strict=True):
        each.place = product.place


def _shape(instruction: str) -> tuple[str, ...]:
    match = _SHAPE.search(instruction)
    return match.groups() if match else ()
