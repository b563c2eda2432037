"""The places of SASS: those of the line table, and of instructions that it has none or a wrong one for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from cutecc.ptx.locations import PtxText
from cutecc.report.inlined_frames import CallSites
from cutecc.report.listings import ptx_listing
from cutecc.report.lost_accesses import access_of, place_accesses
from cutecc.report.warpgroup_products import place_products, product_of
from cutecc.sass import SassFunction, is_warpgroup_product, read_sass
from cutecc.support.locations import Place


def sass_functions(text: str, ptx: Sequence[PtxText] = ()) -> list[SassFunction]:
    """The functions in what nvdisasm prints of code that was made of `ptx`."""
    functions = read_sass(text, CallSites(each.text for each in ptx).place)
    if any(is_warpgroup_product(each.text) for function in functions for each in function.instructions):
        products = {name: found for each in ptx for name, found in _read_lines(each, product_of)}
        for function in functions:
            place_products(function, products.get(function.name, []))
    for each in ptx:
        if each.places:
            accesses = dict(_read_lines(each, access_of))
            for function in functions:
                place_accesses(function, accesses.get(function.name, []), each.places)
    return functions


_Read = TypeVar("_Read")


def _read_lines(
    ptx: PtxText, read: Callable[[int, str, Place | None], _Read | None]
) -> Iterator[tuple[str, list[_Read]]]:
    """What is read of the lines of each function, from their numbers, from 1, texts and places by `.loc`."""
    listing = ptx_listing(ptx.text, "")
    lines, table = ptx.text.split("\n"), [*listing.table, None]
    for function in listing.functions:
        numbers = range(function.first, function.last + 1)
        found = (read(number + 1, lines[number], table[listing.places[number]]) for number in numbers)
        yield function.name, [each for each in found if each is not None]
