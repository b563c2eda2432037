"""Convolutions as functions of torch tensors, with derivatives: what is chosen for a call is kept for the next like it.

All is one operator of torch, `cutecc::convolution`, of the three kinds: the derivatives of each are of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cutecc.errors import ArgumentError
from cutecc.operations.convolution.description import Kind
from cutecc.operations.convolution.geometry import Padding, paddings, spatial
from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d, Convolution
from cutecc.operations.convolution.torch_form import pairs
from cutecc.operations.torch_choices import Choices, biased, target_of
from cutecc.operations.torch_registration import Registration
from cutecc.operations.torch_types import import_torch
from cutecc.operations.words import shown

_CLASSES: dict[int, type[Convolution]] = {1: Conv1d, 2: Conv2d, 3: Conv3d}
_SCHEMA = (
    "(str kind, Tensor a, Tensor b, Tensor? bias, SymInt[] extents, int[] stride, int[] padding, int[] dilation, "
    "int groups, bool emulate) -> Tensor"
)

_choices: Choices[Convolution] = Choices()


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: Padding | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    *,
    emulate_on_cpu: bool = False,
) -> Any:
    """As `torch.nn.functional.conv2d`, of tensors that are `channels_last`, with derivatives of any order.

    The kernel is chosen for the sizes of the first call like it. f32 is rounded to tf32 where
    `torch.backends.cudnn.allow_tf32` says so. Padding may also be pairs, (before, behind) for each spatial mode.
    Tensors of the CPU are refused, unless `emulate_on_cpu` sends them through the emulator, for tests.

    Raises `ArgumentError` for tensors that do not fit, `UsageError` for what no kernel computes.
    """
    return _convolution(2, x, weight, bias, stride, padding, dilation, groups, emulate_on_cpu)


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: Padding | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    *,
    emulate_on_cpu: bool = False,
) -> Any:
    """As `torch.nn.functional.conv3d`, of tensors that are `channels_last_3d`; otherwise as `conv2d`."""
    return _convolution(3, x, weight, bias, stride, padding, dilation, groups, emulate_on_cpu)


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    *,
    emulate_on_cpu: bool = False,
) -> Any:
    """As `torch.nn.functional.conv_transpose2d`, of tensors that are `channels_last`; otherwise as `conv2d`.

    It is the `dgrad` of the convolution whose filters `weight` are, (channels of `x`, those of a group of the result,
    R, S), and whose outputs `x` are.
    """
    _check_modes(x, weight, 2)
    steps, apart, around = _steps(stride, 2, "stride"), _steps(dilation, 2, "dilation"), paddings(padding, 2)
    more = spatial(output_padding, 2, "padding of outputs")
    sizes = zip(x.shape[2:], weight.shape[2:], around, steps, apart, more, strict=True)
    extents = [
        (size - 1) * step + gap * (taps - 1) + 1 - sum(zeros) + extra for size, taps, zeros, step, gap, extra in sizes
    ]
    return _call("dgrad", x, weight, bias, extents, steps, _flat(around), apart, groups, emulate_on_cpu)


def _convolution(
    rank: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: int | Sequence[int],
    padding: Padding | str,
    dilation: int | Sequence[int],
    groups: int,
    emulate: bool,
) -> Any:
    _check_modes(x, weight, rank)
    steps, apart = _steps(stride, rank, "stride"), _steps(dilation, rank, "dilation")
    around = _named_padding(padding, weight.shape[2:], steps, apart) if isinstance(padding, str) else padding
    zeros = paddings(around, rank)
    sizes = zip(x.shape[2:], weight.shape[2:], zeros, steps, apart, strict=True)
    extents = [(size + sum(both) - gap * (taps - 1) - 1) // step + 1 for size, taps, both, step, gap in sizes]
    return _call("fprop", x, weight, bias, extents, steps, _flat(zeros), apart, groups, emulate)


def _check_modes(x: Any, weight: Any, rank: int) -> None:
    if len(x.shape) != rank + 2 or len(weight.shape) != rank + 2:
        shapes = f"{tuple(x.shape)} and {tuple(weight.shape)}"
        raise ArgumentError(f"activations and weights have {rank + 2} modes, and these have the shapes {shapes}")


def _steps(given: int | Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    """One for each spatial mode, which extents are divided by."""
    found = spatial(given, rank, what)
    if min(found) < 1:
        raise ArgumentError(f"a {what} is at least 1 in each mode, not {shown(found)}")
    return found


def _named_padding(
    name: str, taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """The zeros that torch's words stand for."""
    if name == "valid":
        return ((0, 0),) * len(taps)
    if name != "same":
        raise ArgumentError(f"a padding is a number of zeros, valid or same, not '{name}'")
    if set(stride) != {1}:
        raise ArgumentError("padding='same' is for strides of 1")
    total = [gap * (count - 1) for count, gap in zip(taps, dilation, strict=True)]
    return tuple((each // 2, each - each // 2) for each in total)


def _flat(around: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    return tuple(each for both in around for each in both)


def _call(
    kind: Kind,
    a: Any,
    b: Any,
    bias: Any,
    extents: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    emulate: bool,
) -> Any:
    if min(extents) < 1:
        taps, around, given = tuple(b.shape[2:]), pairs(padding, len(stride)), tuple(a.shape[2:])
        raise ArgumentError(
            f"the result has no elements: its spatial extents would be {tuple(extents)}, of a filter {taps} with "
            f"stride {tuple(stride)}, padding {around} and dilation {tuple(dilation)} over {given}"
        )
    return _operator()(kind, a, b, bias, extents, stride, padding, dilation, groups, emulate)


def _register() -> Any:
    found: Any = import_torch().library.custom_op("cutecc::convolution", _compute, mutates_args=(), schema=_SCHEMA)
    found.register_fake(_allocated)
    found.register_autograd(_derivatives, setup_context=_keep)
    return found


_operator = Registration(_register)


def _compute(
    kind: Kind,
    a: Any,
    b: Any,
    bias: Any,
    extents: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    emulate: bool,
) -> Any:
    device = a.device.type
    if device == "cpu" and not emulate:
        raise ArgumentError(
            "tensors of a GPU are convolved, and these live on the CPU: move them with .cuda()",
            hints=["emulate_on_cpu=True runs it on the CPU emulator, which is slow"],
        )
    result = _allocated(kind, a, b, bias, extents, stride, padding, dilation, groups, emulate)
    steps: dict[str, Any] = {
        "stride": tuple(stride),
        "padding": pairs(padding, len(stride)),
        "dilation": tuple(dilation),
        "groups": groups,
    }
    operands = {} if bias is None else {"bias": bias}
    op = _operation(kind, a, b, result, operands, steps)  # which refuses what does not fit, of no images too
    if not result.numel():
        return result
    op.run(a, b, D=result, device=device, **steps, **operands)
    return result


def _operation(kind: Kind, a: Any, b: Any, result: Any, operands: dict[str, Any], steps: dict[str, Any]) -> Convolution:
    """What computes a call."""
    rounds = _rounds_f32(a)

    def choose() -> Convolution:
        return _CLASSES[len(steps["stride"])].for_arguments(
            kind,
            a,
            b,
            D=result,
            target=target_of(a),
            tf32=rounds,
            epilogue=biased if operands else "identity",
            operands=operands or None,
            **steps,
        )

    return _choices.operation((a, b, result, *operands.values()), (kind, rounds, *steps.values()), choose)


def _rounds_f32(a: Any) -> bool:
    torch = import_torch()
    return a.dtype == torch.float32 and bool(torch.backends.cudnn.allow_tf32)


def _allocated(
    kind: Kind,
    a: Any,
    b: Any,
    bias: Any,
    extents: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    emulate: bool,
) -> Any:
    """Memory for the result."""
    match kind:
        case "fprop":
            first, channels = a.shape[0], b.shape[0]
        case "dgrad":
            first, channels = a.shape[0], b.shape[1] * groups
        case "wgrad":
            first, channels = a.shape[1], b.shape[1] // groups
    return a.new_empty((first, *extents, channels)).movedim(-1, 1)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    kind, a, b, bias, _, *steps = inputs
    ctx.save_for_backward(a, b)
    ctx.kind, ctx.steps = kind, steps
    ctx.bias_type = None if bias is None else bias.dtype


def _derivatives(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Those of A, B and the bias: each is a convolution of another kind."""
    a, b = ctx.saved_tensors
    needs_a, needs_b, needs_bias = ctx.needs_input_grad[1:4]
    gradient = _channels_last(gradient)

    def call(kind: Kind, first: Any, second: Any, like: Any) -> Any:
        return _operator()(kind, first, second, None, like.shape[2:], *ctx.steps)

    of_a = of_b = of_bias = None
    match ctx.kind:
        case "fprop":
            of_a = call("dgrad", gradient, b, a) if needs_a else None
            of_b = call("wgrad", gradient, a, b) if needs_b else None
        case "dgrad":
            of_a = call("fprop", gradient, b, a) if needs_a else None
            of_b = call("wgrad", a, gradient, b) if needs_b else None
        case _:
            of_a = call("fprop", b, gradient, a) if needs_a else None
            of_b = call("dgrad", a, gradient, b) if needs_b else None
    if needs_bias:
        of_bias = gradient.sum((0, *range(2, gradient.dim())), dtype=ctx.bias_type)
    return (None, of_a, of_b, of_bias, *[None] * (1 + len(ctx.steps)))


def _channels_last(gradient: Any) -> Any:
    torch = import_torch()
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return gradient.contiguous(memory_format=formats[gradient.dim()])


if "torch" in sys.modules:  # so that `torch.compile` need not trace it
    _operator()
