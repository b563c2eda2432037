"""Rooflines: what has a place, where it is, and the file that is drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from cutecc.report.profile_file import FileLimits, ProfileFile, roofline_of
from cutecc.report.roofline import Roofline, Run, roofline, sentence, svg

COPY, PRODUCT = 4000.0, 800.0


def limits(intensity: float, teraflops: float, bound: str = "neither", product: float | None = PRODUCT) -> FileLimits:
    gigabytes = 1000 * teraflops / intensity
    percent = None if product is None else 100 * teraflops / product
    return FileLimits(10.0, gigabytes, 100 * gigabytes / COPY, teraflops, percent, intensity, bound)


def drawn(*rates: FileLimits | None) -> Roofline:
    found = roofline([Run(f"M={number}", "H200", each) for number, each in enumerate(rates, 1)])
    assert found is not None
    return found


def test_points_are_told_by_the_roof_above_them() -> None:
    found = drawn(limits(1, 3, "memory"), limits(1000, 600, "matrix"), limits(200, 100))
    # Below the slope, 1 FLOP/byte at 4,000 GB/s, below the flat roof, and at the ridge.
    assert [round(each.percent) for each in found.points] == [75, 75, 12]
    assert sentence(found.points[0]) == "1: M=1: 1 FLOP/byte, 3 TFLOP/s, 75 % of its roof, limited by memory."
    assert found.description.startswith("a copy reaches 4,000 GB/s, a product of f16 matrices 800 TFLOP/s. 1: M=1: ")
    assert all(sentence(each) in found.description for each in found.points)


def test_axes_are_logarithmic_and_everything_is_inside() -> None:
    found = drawn(limits(0.01, 0.001), limits(1, 1), limits(100, 1), limits(1e4, 700))
    places = [
        tuple(map(float, re.findall(r"M([\d.]+),([\d.]+)", each.d)[0]))
        for each in found.shapes
        if each.role in ("memory", "matrix", "neither")
    ]
    # A factor of a hundred is the same distance, wherever it is.
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.2)
    numbers = [float(each) for shape in found.shapes for each in re.findall(r"[\d.]+", shape.d)]
    assert min(numbers) >= 0 and max(numbers) <= found.width
    assert all(0 <= each.y <= found.height for each in found.shapes)


def test_without_a_product_there_is_the_slope_alone() -> None:
    found = drawn(limits(1, 3, "memory", product=None))
    (roof,) = [each for each in found.shapes if each.role == "roof"]
    assert "H" not in roof.d and "product" not in found.description


def test_numbers_of_points_at_one_place_do_not_cover_each_other() -> None:
    found = drawn(limits(1, 1), limits(1, 1.01), limits(1, 1.02))
    numbers = [(each.x, each.y) for each in found.shapes if each.role == "number"]
    assert len({round(y / 12) for _, y in numbers}) == 3


def test_what_has_no_place_says_why() -> None:
    unknown = FileLimits(10.0, gigabytes_per_second=100, percent_of_copy=3)
    runs = [
        Run("a", "H200", limits(1, 1)),
        Run("b", "H200", unknown),
        Run("c", "H200", None),
        Run("d", "H100", limits(1, 1)),
    ]
    found = roofline(runs)
    assert found is not None and [each.title for each in found.points] == ["a"]
    assert found.left_out == [
        "b: its file says not how many bytes and operations a call has (bytes, flops)",
        "c: nobody timed it",
        "d: it ran on H100",
    ]
    assert roofline(runs[1:3]) is None
    assert roofline_of([ProfileFile("M=8", "H200", 2048, [])]) is None


def test_the_file_is_well_formed_names_itself_and_holds_no_markup_of_others() -> None:
    hostile = '<script>alert(1)</script>" &'
    found = roofline([Run(hostile, f"H200 {hostile}", limits(1, 1)), Run(hostile, "", None)])
    assert found is not None
    root = ElementTree.fromstring(svg(found))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.get("aria-labelledby") == "title description"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None and description is not None
    assert title.text == found.title and description.text == found.description
    assert not root.findall(f".//{space}script")
    assert "prefers-color-scheme: dark" in svg(found)
