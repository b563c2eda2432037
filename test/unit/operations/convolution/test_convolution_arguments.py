"""Arguments of convolutions, held against descriptions before anything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutecc.arguments.arrays import read_array
from cutecc.errors import ArgumentError
from cutecc.operations.convolution.arguments import tensor
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d
from cutecc.operations.convolution.variant import Steps
from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.epilogue.functions import sum

SHAPES = {"A": (2, 7, 9, 16), "B": (24, 3, 3, 16), "D": (2, 7, 9, 24)}
"""Of outputs that a padding of 1 makes as large as the activations."""


def arrays(**changed: tuple[int, ...]) -> dict[str, Any]:
    return {name: np.zeros(shape, "f2") for name, shape in (SHAPES | changed).items()}


@pytest.fixture(scope="module")
def fprop() -> Any:
    return Conv2d("fprop", "f16", target="sm_80")


def test_tensors_are_taken_in_the_order_of_numpy(fprop: Any) -> None:
    assert fprop.supports(**arrays(), padding=1)
    assert fprop.supports(**arrays(), padding=((1, 1), [1, 1]), stride=[1, 1], dilation=(1, 1))
    assert fprop.supports(**arrays(D=(2, 4, 9, 24)), padding=1, stride=(2, 1))
    assert fprop.supports(**arrays(A=(0, 7, 9, 16), D=(0, 7, 9, 24)), padding=1)


def test_activations_may_have_any_distances_and_results_one(fprop: Any) -> None:
    given, wide = arrays(), np.zeros((2, 14, 9, 64), "f2")
    assert fprop.supports(**(given | {"A": wide[:, ::2, :, 16:32]}), padding=1)
    assert fprop.supports(**(given | {"D": np.zeros((2, 7, 9, 48), "f2")[..., 24:]}), padding=1)
    status = fprop.supports(**(given | {"D": wide[:, ::2, :, :24]}), padding=1)
    assert "its rows of channels do not lie at one distance" in status.reason and status.hints == (
        "allocate it so: D = np.empty((2, 7, 9, 24), …)",
    )
    assert fprop.supports(**(given | {"B": np.zeros((24, 3, 3, 32), "f2")[..., :16]}), padding=1)
    taps = fprop.supports(**(given | {"B": np.zeros((24, 3, 6, 16), "f2")[:, :, ::2]}), padding=1)
    assert taps.ok
    taps = fprop.supports(**(given | {"B": np.zeros((24, 3, 6, 16), "f2")[:, :, :3]}), padding=1)
    assert "the taps of a filter do not lie at one distance" in taps.reason


@pytest.mark.parametrize(
    ("changed", "options", "reason", "hint"),
    [
        ({}, {}, "with 2x7x9x16 by 24x3x3, D is (2, 5, 7, 24)", "torch's (N, C, H, W)"),
        ({"B": (24, 3, 3, 8)}, {"padding": 1}, "A has 16 channels, and the filters B 8", "say how many: groups=2"),
        ({"B": (24, 3, 3, 8)}, {"padding": 1, "groups": 2}, "2 groups, and the convolution is of a single one", "many"),
        ({"B": (24, 9, 9, 16)}, {}, "along H a filter reaches over 9, and activations with padding have 7", ""),
        ({"A": (2, 7, 16)}, {"padding": 1}, "has 3 modes: activations are (N, H, W, C)", ""),
        ({"A": (2, 7, 9, 12), "B": (24, 3, 3, 12)}, {"padding": 1}, "12 channels are not a multiple of 8", "f16:1"),
        ({"B": (20, 3, 3, 16), "D": (2, 7, 9, 20)}, {"padding": 1}, "20 channels are not a multiple of 8", "f16:1"),
        ({}, {"padding": 1, "slices": 2}, "slices=2, and the operation is of mode gemm", 'split_k="serial"'),
        ({}, {"padding": 1, "groups": 5}, "A has 16 channels, and the filters B 5 groups of 16", ""),
        ({}, {"padding": 1, "groups": "two"}, "the number of groups is a whole number, not 'two'", ""),
        ({}, {"padding": 1, "bias": np.zeros(24, "f2")}, "no operand 'bias'", "its operands"),
        ({}, {"padding": 1, "beta": 1.0}, "the operation has none", 'Conv2d(…, c="f16") has a source'),
    ],
)
def test_what_does_not_fit(
    fprop: Any, changed: dict[str, Any], options: dict[str, Any], reason: str, hint: str
) -> None:
    status = fprop.supports(**arrays(**changed), **options)
    assert reason in status.reason, status
    assert not hint or any(hint in each for each in status.hints), status


def test_what_is_refused_is_told_what_is_taken_next(fprop: Any) -> None:
    given: dict[str, Any] = {"A": np.zeros((1, 40, 1, 16), "f2"), "B": np.zeros((24, 33, 1, 16), "f2")}
    given["D"] = np.zeros((1, 8, 1, 24), "f2")
    wgmma = Conv2d("fprop", "f16", target="sm_90a")
    assert fprop.supports(**given).hints == ('describe it with iterator="analytic"',)
    assert wgmma.supports(**given).hints == ('describe it with iterator="analytic" and unit="tensor_op"',)
    depthwise = Conv2d("fprop", "f16", groups="depthwise", target="sm_80")
    given = arrays(B=(16, 3, 3, 1), D=(2, 7, 9, 16))
    assert "of several groups say how many: groups=16" in depthwise.supports(**given, padding=1).hints
    with pytest.raises(ArgumentError, match="the sizes have 1 spatial extent, and the convolution 2"):
        fprop.workspace_bytes(problem=ConvolutionProblem(1, 9, 8, 8, 3))


def test_only_an_operand_that_a_row_takes_is_told_to_be_one() -> None:
    def biased(accum: Any, bias: Any) -> Any:
        return accum + bias

    given = arrays()
    x, w, D = (given[name] for name in "ABD")
    for shape, hints in (((1, 24), ['declare it: bias=Row("f16")']), ((25,), [])):
        operands = {"bias": np.zeros(shape, "f2")}
        with pytest.raises(ArgumentError, match="one value a channel of it, 24") as caught:
            Conv2d.for_arguments("fprop", x, w, D=D, padding=1, epilogue=biased, operands=operands, target="sm_80")
        assert caught.value.hints == hints


def test_distances_and_addresses_are_as_aligned_as_described(fprop: Any) -> None:
    given, memory = arrays(), np.zeros(2 * 7 * 9 * 20 + 1, "f2")
    apart = memory[:-1].reshape(2, 7, 9, 20)[..., :16]
    assert "of its rows is not a multiple of 8" in fprop.supports(**(given | {"A": apart}), padding=1).reason
    moved = memory[1 : 1 + 2 * 7 * 9 * 16].reshape(2, 7, 9, 16)
    assert fprop.supports(**(given | {"A": moved}), padding=1)  # its copy on a GPU is aligned
    status = fprop.supports(**(given | {"A": moved}), padding=1, device="cpu")
    assert "is not a multiple of 16 bytes" in status.reason


@pytest.mark.parametrize("name", ["A", "D"])
def test_numpys_tensors_in_torchs_order_are_told_theirs(fprop: Any, name: str) -> None:
    given = arrays()
    status = fprop.supports(**(given | {name: given[name].transpose(0, 3, 1, 2)}), padding=1)
    order = {"A": "(N, H, W, C)", "D": "(N, P, Q, K)"}[name]
    assert "its channels are not contiguous" in status.reason
    assert status.hints == (f"in the order {order}: {name}.transpose(0, 2, 3, 1)",)
    assert f"are {order}" in str(status)


def test_a_wrongly_laid_out_result_is_allocated_and_not_copied(fprop: Any) -> None:
    given = arrays()
    backwards = {name: each[:, ::-1] for name, each in given.items()}
    assert fprop.supports(**(given | {"A": backwards["A"]}), padding=1).hints == ("pass A.copy()",)
    status = fprop.supports(**(given | {"D": backwards["D"]}), padding=1)
    assert status.hints == ("allocate it so: D = np.empty((2, 7, 9, 24), …)",)


def test_a_result_of_torch_is_allocated_with_its_channels_last() -> None:
    D = read_array(np.zeros((2, 24, 7, 9), "f2"))
    assert D is not None
    with pytest.raises(ArgumentError, match="channels are not contiguous") as caught:
        tensor("D", "outputs", D, 2, is_torch=True, is_written=True)
    assert caught.value.hints == [
        "allocate it so: D = torch.empty((2, 24, 7, 9), …, memory_format=torch.channels_last)"
    ]
    with pytest.raises(ArgumentError) as caught:
        tensor("A", "activations", D, 2, is_torch=True)
    assert caught.value.hints[0] == "pass A.contiguous(memory_format=torch.channels_last)"


def test_results_share_no_memory(fprop: Any) -> None:
    given = arrays(B=(16, 3, 3, 16), D=(2, 7, 9, 16))
    status = fprop.supports(**(given | {"D": given["A"]}), padding=1)
    assert "D is written and shares memory with A" in status.reason
    same = np.broadcast_to(np.zeros((1, 7, 9, 16), "f2"), (2, 7, 9, 16))
    assert "read-only" in fprop.supports(**(given | {"D": same}), padding=1).reason
    with_source: Any = Conv2d("fprop", "f16", c="f16", target="sm_80")
    assert with_source.supports(**given, C=given["D"], beta=1.0, padding=1)
    assert (
        "C (2, 7, 8, 16)" in with_source.supports(**given, C=np.zeros((2, 7, 8, 16), "f2"), beta=1.0, padding=1).reason
    )


def test_gradients_have_the_shapes_of_what_they_are_of() -> None:
    x, w, y = (np.zeros(SHAPES[name], "f2") for name in "ABD")
    dgrad = Conv2d("dgrad", "f16", target="sm_80")
    assert dgrad.supports(y, w, D=x, padding=1)
    status = dgrad.supports(y, w, D=x, padding=1, stride=2)
    assert "A is (2, 4, 5, 24)" in status.reason
    assert "outputs as A are those of activations 13 to 14 by 17 to 18" in status.hints
    for rows in (13, 14):
        assert dgrad.supports(y, w, D=np.zeros((2, rows, 17, 16), "f2"), padding=1, stride=2)
    unity = Conv2d("dgrad", "f16", target="sm_80", stride="unity")
    assert (
        "the convolution is for strides of 1" in unity.supports(y[:, :4, :5].copy(), w, D=x, padding=1, stride=2).reason
    )
    wgrad = Conv2d("wgrad", "f16", d="f32", target="sm_80", split_k="serial")
    gradient = np.zeros(SHAPES["B"], "f4")
    assert wgrad.supports(y, x, D=gradient, padding=1, slices=3)
    assert wgrad.workspace_bytes(y, x, D=gradient, padding=1, slices=2) > 0
    sizes = ConvolutionProblem(2, (7, 9), 16, 24, 3, padding=1)
    assert wgrad.workspace_bytes(problem=sizes, slices=2) == wgrad.workspace_bytes(
        y, x, D=gradient, padding=1, slices=2
    )
    apart = np.zeros((24, 3, 3, 32), "f4")[..., :16]
    assert "the taps of a filter do not follow one another" in wgrad.supports(y, x, D=apart, padding=1).reason
    assert wgrad.supports(y, x, D=np.zeros((24, 4, 3, 16), "f4")[:, :3], padding=1)


def bound(op: Any, settings: Steps, **given: Any) -> dict[str, Any]:
    return op.variants[0].bind({"alpha": 1.0, "beta": 0.0} | given, settings).values


def test_kernels_take_tensors_as_they_lie() -> None:
    x, w, y = (np.zeros(SHAPES[name], "f2") for name in "ABD")
    values = bound(Conv2d("fprop", "f16", target="sm_80"), Steps(1), A=x, B=w, D=y)
    assert values["problem"] == (126, 24, 144, 1)
    assert values["geometry"] == (2, 16, 24, (7, 9), (3, 3), (7, 9), (1, 1), (1, 1), (1, 1))
    shapes = [(each.shape, each.stride()) for each in (values["a"], values["b"], *values["operands"][-1:])]
    assert shapes == [
        ((2, 7, 9, 16), (1008, 144, 16, 1)),
        ((24, 9, 16), (144, 16, 1)),
        ((126, 24, 1), (24, 1, 0)),
    ]
    values = bound(Conv2d("wgrad", "f16", target="sm_80"), Steps(1, slices=1), A=y, B=x, D=w)
    assert (values["a"].shape, values["a"].stride()) == ((126, 24), (24, 1))
    assert (values["operands"][-1].shape, values["operands"][-1].stride()) == ((24, 144, 1), (144, 1, 3456))


def test_groups_lie_side_by_side() -> None:
    x, w, y = np.zeros((2, 7, 9, 32), "f2"), np.zeros((24, 3, 3, 8), "f2"), np.zeros((2, 7, 9, 24), "f2")

    def biased(accum: Any, bias: Any) -> Any:
        D = accum + bias
        sums = sum(D, axis=0)
        return D, sums

    operands = {"bias": Row("f16", 2), "sums": Row("f32", 1)}
    op: Any = Conv2d("fprop", "f16", d="f16:2", groups="many", epilogue=biased, operands=operands, target="sm_80")
    given = {"A": x, "B": w, "D": y, "bias": np.zeros(24, "f2"), "sums": np.zeros(24, "f4")}
    values = op.variants[0].bind(given, Steps(1, groups=4)).values
    assert values["problem"] == (126, 6, 72, 4)
    bias, result, sums = values["operands"]
    assert (result.shape, result.stride()) == ((126, 6, 4), (24, 1, 6))
    assert (bias.shape, bias.stride()) == (sums.shape, sums.stride()) == ((6, 4), (1, 6))
    status = op.supports(**(given | {"bias": np.zeros(6, "f2")}), padding=1, groups=4)
    assert "one value a channel of all groups: the shape (24,)" in status.reason
    assert (
        "6 channels of a group"
        in op.supports(
            **(given | {"A": np.zeros((2, 7, 9, 24), "f2"), "B": w[..., :6].copy()}), padding=1, groups=4
        ).reason
    )


def test_a_wgrad_has_a_value_a_filter() -> None:
    def scaled(accum: Any, scale: Any) -> Any:
        return accum * scale

    op = Conv1d("wgrad", "f16", epilogue=scaled, operands={"scale": Column("f32", 1)}, target="sm_80", split_k="none")
    y, x, w = np.zeros((3, 8, 16), "f2"), np.zeros((3, 10, 8), "f2"), np.zeros((16, 3, 8), "f2")
    assert op.supports(y, x, D=w, scale=np.zeros(16, "f4"))
    assert not op.supports(y, x, D=w, scale=np.zeros(24, "f4"))


def test_arguments_describe_an_operation() -> None:
    def shifted(accum: Any, bias: Any, residual: Any, scale: Any) -> Any:
        return accum * scale + bias + residual

    x, w, y = np.zeros((2, 5, 7, 9, 12), "f2"), np.zeros((20, 1, 3, 3, 12), "f2"), np.zeros((2, 5, 7, 9, 20), "f2")
    operands = {"bias": np.zeros(20, "f4"), "residual": y, "scale": np.zeros((), "f4")}
    op: Any = Conv3d.for_arguments(
        "fprop", x, w, D=y, padding=(0, 1, 1), epilogue=shifted, operands=operands, target="sm_90a"
    )
    gemm = op.description.gemm
    assert (gemm.a.alignment, gemm.b.alignment, gemm.d.alignment, gemm.family) == (4, 4, 4, "sm90")
    assert {each.name: each.kind for each in gemm.epilogue.inputs} == {
        "bias": "row",
        "residual": "full",
        "scale": "scalar",
    }
    assert op.supports(x, w, D=y, padding=(0, 1, 1), **operands)
    assert (
        Conv3d.for_arguments("dgrad", y, w, D=x, padding=(0, 1, 1), target="sm_90a").description.gemm.a.alignment == 4
    )
