"""Convolutions of torch tensors: operators, functions, derivatives, fake tensors."""

from __future__ import annotations

from typing import Any

import pytest

from cutecc.errors import ArgumentError
from cutecc.operations.convolution.functional import conv2d, conv3d, conv_transpose2d
from cutecc.operations.convolution.operation import Conv2d
from cutecc.operations.epilogue.declarations import Row
from cutecc.operations.epilogue.functions import relu
from cutecc.operations.torch_library import schema, torch_operator

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
functional: Any = torch.nn.functional

SMALL: dict[str, Any] = {"target": "sm_80", "tile": "64x32x32:stages=3:warps=2x1x1"}


def layer(accum: Any, bias: Any) -> Any:
    return relu(accum + bias)


def randn(*shape: int) -> Any:
    """Channels last."""
    generator = torch.Generator().manual_seed(sum(shape))
    values = torch.randn(shape, generator=generator).half()
    return values.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else values


def test_tensors_are_channels_last_or_refused_with_the_call_that_makes_them() -> None:
    op = Conv2d("fprop", "f16", target="sm_80")
    x, weight = torch.zeros(2, 16, 7, 9).half(), torch.zeros(24, 16, 3, 3).half()
    last = {"memory_format": torch.channels_last}
    D = torch.zeros(2, 24, 5, 7).half().contiguous(**last)
    status = op.supports(x, weight.contiguous(**last), D=D)
    assert "its channels are not contiguous" in status.reason
    assert status.hints[0] == "pass A.contiguous(memory_format=torch.channels_last)"
    assert op.supports(x.contiguous(**last), weight.contiguous(**last), D=D)
    assert "B.contiguous" in op.supports(x.contiguous(**last), weight, D=D).hints[0]
    status = op.supports(x.contiguous(**last), weight.contiguous(**last), D=D.contiguous())
    assert status.hints == ("allocate it so: D = torch.empty((2, 24, 5, 7), …, memory_format=torch.channels_last)",)
    assert Conv2d.for_arguments("fprop", x.contiguous(**last), weight.contiguous(**last), D=D, target="sm_80")


def test_an_operator_computes_and_has_a_form_for_fake_tensors() -> None:
    op = Conv2d("fprop", "f16", epilogue=layer, operands={"bias": Row("f16")}, **SMALL)
    settings = "int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1"
    assert schema(op) == f"(Tensor A, Tensor B, Tensor bias, *, {settings}) -> Tensor"
    registered = torch_operator("cutecc_tests::layer", op, emulate_on_cpu=True)
    x, weight, bias = randn(2, 16, 7, 9), randn(24, 16, 3, 3), randn(24)
    options: dict[str, Any] = {"stride": [2, 1], "padding": [1, 0, 2, 1]}
    result = registered(x, weight, bias, **options)
    around = functional.pad(x, (2, 1, 1, 0)).float()
    expected = functional.conv2d(around, weight.float(), bias.float(), (2, 1)).relu()
    torch.testing.assert_close(result.float(), expected, rtol=2e-3, atol=2e-2)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = registered(*(mode.from_tensor(each) for each in (x, weight, bias)), **options)
    assert (fake.shape, fake.stride(), fake.dtype) == (result.shape, result.stride(), result.dtype)
    assert result.is_contiguous(memory_format=torch.channels_last)


def test_operators_of_gradients_say_their_sizes() -> None:
    dgrad, wgrad = (Conv2d(kind, "f16", target="sm_80") for kind in ("dgrad", "wgrad"))
    assert "SymInt[]? image=None, float alpha=1.0" in schema(dgrad)
    assert schema(wgrad).startswith("(Tensor A, Tensor B, *, SymInt[] filter, int[2] stride=1")
    from torch._subclasses.fake_tensor import FakeTensorMode

    first, second = (torch_operator(f"cutecc_tests::{name}", op) for name, op in (("dgrad", dgrad), ("wgrad", wgrad)))
    with FakeTensorMode():
        y, weight, x = torch.empty(2, 24, 4, 5), torch.empty(24, 16, 3, 3), torch.empty(2, 16, 8, 9)
        assert first(y, weight, stride=[2, 2], padding=[1, 1]).shape == (2, 16, 7, 9)
        assert first(y, weight, stride=[2, 2], padding=[1, 1], image=[8, 10]).shape == (2, 16, 8, 10)
        assert second(y, x, filter=[3, 3], stride=[2, 2], padding=[1, 1]).shape == (24, 16, 3, 3)


def gradients(function: Any, *tensors: Any, **options: Any) -> list[Any]:
    """The result and the gradients of a function of tensors."""
    given = [each.detach().clone().requires_grad_() for each in tensors]
    result = function(*given, **options)
    weights = torch.arange(result.numel()).reshape(result.shape).sin().to(result.dtype)
    found = torch.autograd.grad((result * weights).sum(), given)
    return [result, *found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "theirs", "shapes", "options"),
    [
        (conv2d, "conv2d", ((2, 16, 6, 7), (24, 8, 3, 2), (24,)), {"stride": (2, 1), "padding": 1, "groups": 2}),
        (conv2d, "conv2d", ((2, 8, 5, 6), (8, 8, 3, 3), (8,)), {"padding": "same", "dilation": 2}),
        (
            conv_transpose2d,
            "conv_transpose2d",
            ((2, 16, 3, 4), (16, 8, 3, 3), (8,)),
            {"stride": 2, "padding": 1, "output_padding": 1},
        ),
    ],
)
def test_functions_and_their_derivatives_are_those_of_torch(
    ours: Any, theirs: str, shapes: Any, options: dict[str, Any]
) -> None:
    given = [randn(*shape) for shape in shapes]
    found = gradients(ours, *given, **options, emulate_on_cpu=True)
    expected = gradients(getattr(functional, theirs), *[each.float() for each in given], **options)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.float(), other, rtol=5e-3, atol=5e-2)


def test_functions_refuse_what_torch_would_not_take_either() -> None:
    x, weight = randn(1, 8, 5, 5), randn(8, 8, 3, 3)
    with pytest.raises(ArgumentError, match="live on the CPU"):
        conv2d(x, weight)
    with pytest.raises(ArgumentError, match="valid or same, not 'full'"):
        conv2d(x, weight, padding="full")
    with pytest.raises(ArgumentError, match="for strides of 1"):
        conv2d(x, weight, stride=2, padding="same")
    with pytest.raises(ArgumentError, match="have 5 modes"):
        conv3d(x, weight)
    with pytest.raises(ArgumentError, match="not contiguous"):
        conv2d(x.contiguous(), weight, emulate_on_cpu=True)


@pytest.mark.parametrize(("size", "taps"), [(2, 3), (1, 9)])
def test_results_without_elements_are_refused_as_torch_does(size: int, taps: int) -> None:
    x, weight = randn(1, 8, size, size), randn(8, 8, taps, taps)
    for function in (conv2d, functional.conv2d):
        with pytest.raises((ArgumentError, RuntimeError)) as raised:
            function(x, weight, **({"emulate_on_cpu": True} if function is conv2d else {}))
        assert isinstance(raised.value, ArgumentError) == (function is conv2d)
    with pytest.raises(ArgumentError, match="the result has no elements"):
        conv_transpose2d(randn(1, 8, 1, 1), randn(8, 8, 1, 1), padding=taps, emulate_on_cpu=True)


def test_a_batch_of_no_images_fits_or_is_refused_as_any_other() -> None:
    x, weight = randn(0, 8, 5, 5), randn(8, 8, 3, 3)
    weight.requires_grad_()
    y = conv2d(x, weight, emulate_on_cpu=True)
    y.sum().backward()
    assert y.shape == (0, 8, 3, 3)
    assert weight.grad is not None and not weight.grad.any()
    with pytest.raises(ArgumentError, match="has 8 channels, and the filters B 16"):
        conv2d(x, randn(8, 16, 3, 3), emulate_on_cpu=True)
    for step in (0, -1):
        with pytest.raises(ArgumentError, match="a stride is at least 1"):
            conv2d(x, weight, stride=step, emulate_on_cpu=True)


def test_functions_have_a_form_for_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, weight = torch.empty(2, 16, 9, 7), torch.empty(32, 16, 3, 3, requires_grad=True)
        y = conv2d(x, weight, stride=2, padding=1)
        assert (y.shape, y.stride()) == ((2, 32, 5, 4), (640, 1, 128, 32))
        y.sum().backward()
        assert weight.grad is not None and weight.grad.shape == weight.shape
