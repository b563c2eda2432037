"""Convolutions described: what is chosen, what is refused, and what is nearest to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.operations.convolution.candidates import proposed_iterator
from cutecc.operations.convolution.description import KINDS, LAYOUTS, ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d
from cutecc.operations.convolution.validity import check, refusal


@pytest.mark.parametrize(
    ("kind", "dtype", "target", "family"),
    [
        ("fprop", "f16", "sm_90a", "sm90"),
        ("dgrad", "bf16", "sm_90a", "sm90"),
        ("wgrad", "f16", "sm_90a", "sm90"),
        ("fprop", "tf32", "sm_90a", "sm90"),
        ("dgrad", "tf32", "sm_90a", "sm80"),
        ("fprop", "i8", "sm_90a", "sm90"),
        ("fprop", "f8E4M3FN", "sm_90a", "sm90"),
        ("fprop", "f16:4", "sm_90a", "sm80"),
        ("fprop", "f32", "sm_90a", "simt"),
        ("fprop", "f64", "sm_80", "sm80"),
        ("wgrad", "f16", "sm_80", "sm80"),
    ],
)
def test_the_family_is_the_fastest_that_takes_it(kind: Any, dtype: str, target: str, family: str) -> None:
    description = Conv2d(kind, dtype, target=target).description
    assert description.gemm.family == family
    assert (description.gemm.a.layout, description.gemm.b.layout) == LAYOUTS[description.kind]
    assert check(description)
    assert ConvolutionDescription.from_json(description.to_json()) == description


def test_sizes_choose_iterator_stride_and_groups() -> None:
    def chosen(**sizes: Any) -> ConvolutionDescription:
        usual: dict[str, Any] = {"batch": 8, "image": (28, 28), "channels": 64, "filters": 64, "filter": 3}
        problem = ConvolutionProblem(**(usual | sizes))
        align = min(8, problem.channels_of_group & -problem.channels_of_group)
        return Conv2d("fprop", f"f16:{align}", target="sm_90a", problem=problem).description

    assert chosen().name.startswith("conv2d_fprop_optimized_unity_sm90a")
    assert (chosen(stride=2).stride, chosen(stride=2).groups) == ("strided", "single")
    assert chosen(filter=(33, 1), padding=16).iterator == "analytic"
    assert {(each.iterator, each.gemm.family) for each in (chosen(channels=3), chosen(channels=8))} == {
        ("few_channels", "sm90")
    }
    assert chosen(channels=20).iterator == "optimized"
    assert (chosen(groups=2).groups, chosen(groups=64).groups) == ("many", "depthwise")
    # TMA steps over 8 pixels at most.
    assert (chosen(stride=8).gemm.family, chosen(stride=9).gemm.family) == ("sm90", "sm80")


@pytest.mark.parametrize(
    ("kind", "c", "k", "alignments", "iterator"),
    [
        ("fprop", 8, 8, (8, 8), "fixed_channels"),
        ("fprop", 64, 8, (8, 8), "optimized"),
        ("fprop", 60, 8, (8, 8), "analytic"),
        ("dgrad", 8, 8, (8, 8), "optimized"),
        ("dgrad", 64, 60, (8, 8), "analytic"),
        ("dgrad", 60, 64, (8, 8), "analytic"),
        ("wgrad", 64, 64, (8, 8), "optimized"),
        ("wgrad", 60, 64, (8, 8), "analytic"),
    ],
)
def test_iterators_are_those_that_pycutlass_proposes(
    kind: Any, c: int, k: int, alignments: tuple[int, int], iterator: str
) -> None:
    assert proposed_iterator(kind, *alignments, ConvolutionProblem(1, (9, 9), c, k, 3)) == iterator
    assert proposed_iterator(kind, *alignments, None) == "optimized"


def test_wgrad_splits_k() -> None:
    assert Conv2d("wgrad", "f16", target="sm_90a").description.gemm.mode == "split_k_parallel"
    assert Conv2d("wgrad", "f16", target="sm_90a", split_k="none").description.gemm.mode == "gemm"
    assert Conv2d("fprop", "f16", target="sm_80", split_k="serial").description.gemm.mode == "split_k_serial"
    small = ConvolutionProblem(64, (56, 56), 64, 64, 3, padding=1)
    assert Conv2d("wgrad", "f16", target="sm_80", problem=small).description.gemm.mode != "gemm"


DEPTHWISE = {"kind": "fprop", "groups": "depthwise"}


@pytest.mark.parametrize(
    ("request_", "reason", "hint"),
    [
        ({"kind": "dgrad", "iterator": "few_channels"}, "few_channels is for fprop", "iterator optimized"),
        ({"kind": "fprop", "iterator": "fixed_channels", "groups": "many"}, "for one group", "iterator optimized"),
        (
            {"kind": "wgrad", "groups": "many", "split_k": "serial"},
            "K is split of a single group",
            "split_k none, not serial",
        ),
        ({"kind": "dgrad", "unit": "wgmma", "iterator": "analytic"}, "which is the optimized iterator", "optimized"),
        ({"kind": "wgrad", "a": "tf32", "unit": "wgmma"}, "does not read f32 along", "tensor_op 16x8x8, not wgmma"),
        ({"kind": "fprop", "a": "f16:4", "unit": "wgmma"}, "aligned to 8 elements, and A is to 4", "tensor_op"),
        ({"kind": "fprop", "tile": "128x128x64:stages=9:warps=2x2x1"}, "294912 bytes", "stages 5, not 9"),
        ({"kind": "fprop", "a": "f16:3"}, "a power of two from 1 to 8", "a.alignment 2, not 3"),
        (DEPTHWISE | {"unit": "tensor_op"}, "this is tensor_op", "instruction simt 1x1x1, not tensor_op 16x8x16"),
        (DEPTHWISE | {"unit": "wgmma"}, "this is wgmma", "instruction simt 1x1x1"),
        (DEPTHWISE | {"unit": "nonsense"}, "unknown unit 'nonsense'", "known: "),
        (DEPTHWISE | {"arithmetic": "nonsense"}, "unknown arithmetic 'nonsense'", "known: "),
        (DEPTHWISE | {"accumulator": "f16"}, "threads multiply f16 into f32", "instruction simt 1x1x1"),
        (DEPTHWISE | {"a": "f32", "arithmetic": "multiply_add_fast_bf16"}, "threads multiply f32", "simt 1x1x1"),
        (DEPTHWISE | {"split_k": "serial"}, "is not split", "split_k none, not serial"),
        (DEPTHWISE | {"kind": "wgrad", "split_k": "none"}, "is split in parallel", "split_k parallel, not none"),
        (DEPTHWISE | {"a": "f8E4M3FN", "target": "sm_89"}, "threads multiply", "groups many, not depthwise"),
        ({"kind": "bprop"}, "unknown kind of convolution 'bprop'", "did you mean fprop"),
        ({"kind": "fprop", "a": "f16:row:8"}, "is not type:alignment", "channels are contiguous"),
        ({"kind": "fprop", "split_k": "sereal"}, "unknown way to split K", "did you mean serial"),
        ({"kind": "fprop", "mode": "correlation"}, "unknown mode 'correlation'", "cross_correlation"),
    ],
)
def test_refusals_have_the_reason_and_the_nearest(request_: dict[str, Any], reason: str, hint: str) -> None:
    asked = {"a": "f16", "target": "sm_90a" if request_.get("unit") else "sm_80", **request_}
    with pytest.raises(UsageError) as caught:
        Conv2d(**asked)
    assert reason in caught.value.message
    assert any(hint in each for each in caught.value.hints), caught.value.hints


def test_the_number_of_spatial_extents_is_that_of_the_class() -> None:
    names = [cls("fprop", "f16", target="sm_80").description.name for cls in (Conv1d, Conv2d, Conv3d)]
    assert [name.partition("_")[0] for name in names] == ["conv1d", "conv2d", "conv3d"]
    with pytest.raises(UsageError, match="has 1 spatial extent, and Conv2d has 2"):
        Conv2d.of(Conv1d("fprop", "f16", target="sm_80").description)
    with pytest.raises(UsageError, match="2 spatial extents, and Conv3d has 3"):
        Conv3d("fprop", "f16", target="sm_80", problem=ConvolutionProblem(1, (9, 9), 8, 8, 3))


@pytest.mark.parametrize(
    ("given", "reason", "hint"),
    [
        ({"padding": 1}, "padding is no part of a description", "op.run(…, padding=1)"),
        ({"dilation": 2}, "dilation is no part of a description", "problem=ConvolutionProblem("),
        ({"stride": 2}, "stride is a word, not 2", "op.run(…, stride=2)"),
        ({"stride": (2, 2)}, "stride is a word, not (2, 2)", "known: unity, strided"),
        ({"groups": 2}, "groups is a word, not 2", "op.run(…, groups=2)"),
        ({"split_k": 4}, "split_k is a word, not 4", "op.run(…, slices=4)"),
        ({"slices": 4}, "slices is no part of a description", "op.run(…, slices=4)"),
        ({"iterater": "analytic"}, "unknown part of a convolution 'iterater'", "did you mean iterator?"),
        ({"problem": (2, 9, 7, 16)}, "the problem is", "problem=ConvolutionProblem(batch, image"),
        ({"kind": "transposed"}, "unknown kind of convolution", "dgrad is the transposed convolution"),
        ({"kind": "f16", "a": None}, "unknown kind of convolution 'f16'", "known: fprop"),
        ({"kind": 16, "a": None}, "a kind of convolution is text, not 16", "known: fprop"),
        ({"a": None}, "fprop needs the type of A", 'Conv2d("fprop", "f16")'),
    ],
)
def test_what_users_of_torch_write_has_a_remedy(given: dict[str, Any], reason: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        Conv2d(**({"kind": "fprop", "a": "f16", "target": "sm_80"} | given))
    assert reason in caught.value.message
    assert any(hint in each for each in caught.value.hints), caught.value.hints


def test_tiles_are_listed_and_changed() -> None:
    op = Conv2d("fprop", "f16", target="sm_80")
    tiles = op.tile_descriptions()
    assert len(tiles) == 64
    assert tiles[0] == op.description.gemm.tile
    changed = op.with_tile("64x64x32:stages=3")
    assert (changed.description.gemm.tile.threadblock, changed.description.gemm.tile.stages) == ((64, 64, 32), 3)
    with pytest.raises(UsageError, match="a tile is text"):
        op.with_tile(64)  # type: ignore[arg-type]


_TILES = st.sampled_from([None, "64x64x32:stages=3:warps=2x2x1", "100x64x32:warps=2x2x1", "128x128x64:cooperative"])


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["f16", "f16:1", "bf16:4", "tf32", "f32", "i8", "f64", "f8E5M2"]),
    st.sampled_from(["sm_80", "sm_89", "sm_90a"]),
    st.sampled_from([None, "analytic", "few_channels"]),
    _TILES,
)
def test_what_is_chosen_is_valid_and_what_is_refused_has_a_nearest(
    kind: Any, dtype: str, target: str, iterator: Any, tile: str | None
) -> None:
    try:
        op = Conv2d(kind, dtype, target=target, iterator=iterator, tile=tile)
    except UsageError as error:
        assert error.hints, error.message
    else:
        assert refusal(op.description) is None


@pytest.mark.parametrize("kind", ["fprop", "dgrad", "wgrad"])
def test_a_batch_of_none_has_a_kernel_too(kind: str) -> None:
    sizes = ConvolutionProblem(0, (5, 5), 8, 8, 3)
    assert Conv2d(kind, "f16", target="sm_80", problem=sizes).problem == sizes


def test_what_is_said_of_how_a_depthwise_convolution_multiplies_may_be_what_it_does() -> None:
    usual = Conv2d("fprop", "f16", groups="depthwise", target="sm_80").description
    said: Any = {"unit": "SIMT", "arithmetic": "multiply_add", "accumulator": "f32"}
    assert Conv2d("fprop", "f16", groups="depthwise", target="sm_80", **said).description == usual
