"""What the kernels of convolutions take: the specs of their parameters, and the sizes of their products."""

from __future__ import annotations

import pytest
from convolutions import describe

from cutecc.arguments.grammar import parse_spec
from cutecc.operations.kernels.convolution.signature import PARAMETERS, Geometry, problem, specs

F16 = "tensor_op:16x8x16:f16:f16:f32"
GEOMETRY = Geometry(2, 24, 48, (9, 10), (3, 5), (4, 8), (1, 2), (2, 1), (1, 1))


@pytest.mark.parametrize("kind", ["fprop", "dgrad", "wgrad"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("groups", ["single", "depthwise"])
def test_every_parameter_has_a_spec_that_parses(kind: str, rank: int, groups: str):
    found = specs(describe(kind, F16, rank=rank, groups=groups))
    assert tuple(found) == PARAMETERS
    for text in found.values():
        parse_spec(text)


def test_tensors_are_taken_as_they_lie():
    found = specs(describe("fprop", F16, a="f16:row:8", b="f16:column:4", d="f16:row:2"))
    assert found["geometry"] == f"(i32, i32, i32{', (i32, i32,)' * 6})"
    stride = "?{i64 div=8}"
    assert found["a"] == f"f16[?images, ?H, ?W, ?{{div=8}}]:({stride}, {stride}, {stride}, 1) align=16"
    assert found["b"] == "f16[?filters, ?taps, ?{div=4}]:(?{i64 div=4}, ?{i64 div=4}, 1) align=8"
    assert found["operands"] == "(f16[?M, ?N{div=2}, ?L]:(?{i64 div=2}, 1, ?{i64 div=2}) align=4,)"
    found = specs(describe("wgrad", F16, rank=1))
    assert found["a"] == "f16[?K, ?{div=8}]:(?{i64 div=8}, 1) align=16"
    assert found["b"] == "f16[?images, ?W, ?{div=8}]:(?{i64 div=8}, ?{i64 div=8}, 1) align=16"


def test_filters_of_a_depthwise_convolution_are_contiguous_taps():
    assert specs(describe("dgrad", F16, groups="depthwise"))["b"] == "f16[?filters, ?taps, 1]:(?{i64}, 1, 1)"
    # Of wgrad, N counts taps, in any number.
    found = specs(describe("wgrad", F16, groups="depthwise", d="f32:row:1"))
    assert found["operands"] == "(f32[?M{div=8}, ?N, ?L]:(?{i64}, 1, ?{i64}) align=4,)"


@pytest.mark.parametrize(
    ("kind", "groups", "sizes"),
    [
        ("fprop", 1, (64, 48, 360, 1)),
        ("dgrad", 1, (180, 24, 720, 1)),
        ("wgrad", 1, (48, 360, 64, 1)),
        ("fprop", 4, (64, 12, 90, 4)),
        ("dgrad", 4, (180, 6, 180, 4)),
        ("wgrad", 4, (12, 90, 64, 4)),
    ],
)
def test_sizes_of_the_product(kind: str, groups: int, sizes: tuple[int, ...]):
    assert problem(describe(kind, F16, groups="many" if groups > 1 else "single"), GEOMETRY, groups) == sizes


def test_sizes_of_a_depthwise_product():
    geometry = GEOMETRY._replace(filters=24)
    assert problem(describe("fprop", F16, groups="depthwise"), geometry, 24) == (64, 24, 15, 1)
    assert problem(describe("dgrad", F16, groups="depthwise"), geometry, 24) == (180, 24, 15, 1)
    assert problem(describe("wgrad", F16, groups="depthwise"), geometry, 24) == (24, 15, 64, 1)
