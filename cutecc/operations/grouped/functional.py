"""Grouped products as a function of torch tensors, with derivatives: what is chosen for a call is kept for others.

All is one operator of torch, `cutecc::grouped_mm`: each of its derivatives is such a product again. Where nothing needs
derivatives, `cutecc::grouped_product` does the same without what torch spends on them.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from cutecc.errors import ArgumentError
from cutecc.operations.epilogue.declarations import Row
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.grouped.problem import VARYING
from cutecc.operations.grouped.reading import read_arguments
from cutecc.operations.operand import common_alignment
from cutecc.operations.torch_choices import FORMS, Choices, biased, target_of
from cutecc.operations.torch_registration import Registration
from cutecc.operations.torch_types import TYPES, import_torch
from cutecc.operations.views import DeviceMatrix
from cutecc.runtime.recent import Recent

_SCHEMA = (
    "(Tensor a, Tensor b, Tensor? offs, Tensor? bias, ScalarType? out_dtype, bool columns, bool emulate) -> Tensor"
)
_NAMES = {torch: name for name, torch in TYPES.items()}

_choices: Choices[Gemm | GroupedGemm] = Choices()
_classes: Recent[Any, GroupedGemm] = Recent(FORMS)
"""By what varies rounded up, what is chosen; changed by `_choices` alone."""


def grouped_mm(
    A: Any, B: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None, *, emulate_on_cpu: bool = False
) -> Any:
    """As `torch._grouped_mm`, with derivatives of any order:

    | A | B | result | `offs`, int32: where each group ends in |
    |---|---|---|---|
    | (ΣM, K) | (groups, K, N) | (ΣM, N) | ΣM |
    | (groups, M, K) | (K, ΣN) | (M, ΣN) | ΣN |
    | (M, ΣK) | (ΣK, N) | (groups, M, N) | ΣK |
    | (groups, M, K) | (groups, K, N) | (groups, M, N) | none |

    `bias` is added in the type of the sums: (groups, N), or (N,) for all groups; of the second form (ΣN,). The result
    is of A's type unless `out_dtype` says otherwise. What lies behind the last group is not computed. f32 is rounded to
    tf32 where `torch.backends.cuda.matmul.allow_tf32` says so.

    The kernel is chosen for sizes like those of the first call: N, K and groups, and M rounded up to a power of two.
    `offs` are never read back. Tensors of the CPU are refused, unless `emulate_on_cpu` sends them through the emulator,
    for tests.

    Raises `ArgumentError` for tensors that do not fit, `UsageError` for what no kernel computes.
    """
    if (A.dim(), B.dim()) not in ((2, 3), (3, 2), (2, 2), (3, 3)):
        raise ArgumentError(f"A and B have 2 or 3 modes each, and these have the shapes {_shapes(A, B)}")
    if (offs is None) != (A.dim() == B.dim() == 3):
        what = "need offs, where each group ends" if offs is None else "have a batch each, and take no offs"
        raise ArgumentError(f"A and B of the shapes {_shapes(A, B)} {what}")
    if A.shape[-1] != B.shape[-2]:
        raise ArgumentError(f"A has a K of {A.shape[-1]}, and B of {B.shape[-2]}")
    if A.dtype != B.dtype and not _are_both_8_bits(A, B):
        raise ArgumentError(f"A is {A.dtype}, and B {B.dtype}", hints=["B.to(A.dtype), or A.to(B.dtype)"])
    has_derivatives = A.requires_grad or B.requires_grad or (bias is not None and bias.requires_grad)
    chosen = _operator if has_derivatives and _torch().is_grad_enabled() else _product
    return chosen()(A, B, offs, bias, out_dtype, False, emulate_on_cpu)


def keep(op: Gemm | GroupedGemm) -> None:
    """Have `grouped_mm` run this operation, a loaded bundle say, where it would make one of the same description."""
    _choices.keep(op)


def _are_both_8_bits(a: Any, b: Any) -> bool:
    """Whether A and B are 8-bit floats, whose types may differ."""
    return all(each.is_floating_point() and each.itemsize == 1 for each in (a, b))


def _shapes(a: Any, b: Any) -> str:
    return f"{tuple(a.shape)} and {tuple(b.shape)}"


def _register(name: str) -> Any:
    """An operator without derivatives. One of `torch.library.custom_op` would take longer to call."""
    torch = _torch()
    _library().define(f"{name}{_SCHEMA}", tags=(torch.Tag.pt2_compliant_tag,))
    _library().impl(name, _compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"cutecc::{name}", _allocated, lib=_library())
    return getattr(torch.ops.cutecc, name).default


def _register_derivatives() -> Any:
    found = _register("grouped_mm")
    _torch().library.register_autograd("cutecc::grouped_mm", _derivatives, setup_context=_keep, lib=_library())
    return found


_torch = Registration(import_torch)
_library = Registration(lambda: _torch().library.Library("cutecc", "FRAGMENT"))
_operator = Registration(_register_derivatives)
_product = Registration(partial(_register, "grouped_product"))


def _compute(a: Any, b: Any, offs: Any, bias: Any, out_dtype: Any, columns: bool, emulate: bool) -> Any:
    device = "cuda" if a.is_cuda else a.device.type
    if device == "cpu" and not emulate:
        raise ArgumentError(
            "tensors of a GPU are multiplied, and these live on the CPU: move them with .cuda()",
            hints=["emulate_on_cpu=True runs it on the CPU emulator, which is slow"],
        )
    result = _allocated(a, b, offs, bias, out_dtype, columns, emulate)
    operands: dict[str, Any] = {} if bias is None else {"bias": bias}
    op = _operation(a, b, result, offs, operands)
    if offs is not None:
        operands["offsets"] = offs
    op.run(a, b, D=result, device=device, **operands)
    return result


def _operation(a: Any, b: Any, result: Any, offs: Any, operands: dict[str, Any]) -> Gemm | GroupedGemm:
    """What computes a call."""
    rounds = _rounds_f32(a)

    def choose() -> Gemm | GroupedGemm:
        return _chosen(a, b, result, offs, operands, rounds)

    settings = (rounds, None if offs is None else offs.shape[0])
    return _choices.operation((a, b, result, *operands.values()), settings, choose)


def _chosen(a: Any, b: Any, result: Any, offs: Any, operands: dict[str, Any], rounds: bool) -> Gemm | GroupedGemm:
    parts: dict[str, Any] = {"epilogue": "identity", "target": target_of(a)}
    for each in operands.values():
        dtype = _NAMES[str(each.dtype).removeprefix("torch.")]
        row = Row(dtype, common_alignment(dtype, each.stride()[:-1], [each.data_ptr()]))
        parts |= {"epilogue": biased, "operands": {"bias": row}}
    if offs is None:
        # The unit that rounds f32.
        parts |= {"unit": "tensor_op"} if rounds else {}
        return Gemm.for_arguments(a, b, D=result, **parts)
    return _grouped(a, b, result, offs.shape[0], parts | {"tf32": rounds})


def _grouped(a: Any, b: Any, result: Any, groups: int, parts: dict[str, Any]) -> GroupedGemm:
    """The operation for a class of sizes: what varies is rounded up to a power of two, and nobody looks at offsets."""
    given = {"A": a, "B": b, "D": result}
    offsets = DeviceMatrix(0, (groups,), 1, "i32")
    read = read_arguments(given, offsets)
    sizes = [a.shape[-2], b.shape[-1], a.shape[-1]]
    axis = VARYING[read.packing]
    sizes[axis] = 1 << max(0, sizes[axis] - 1).bit_length()
    operands = (read.operand(name, extents=extents) for name in given for extents in (False, True))
    key = (read.packing, *operands, *sizes, groups, a.device, *map(str, parts.values()))
    if (found := _classes.get(key)) is None:
        found = GroupedGemm.for_arguments(a, b, D=result, offsets=offsets, problem=(*sizes, groups), **parts)
        _classes.put(key, found)
    return found


def _rounds_f32(a: Any) -> bool:
    # Of four bytes, f32 alone is floating.
    return a.itemsize == 4 and a.is_floating_point() and bool(_torch().backends.cuda.matmul.allow_tf32)


def _allocated(a: Any, b: Any, offs: Any, bias: Any, out_dtype: Any, columns: bool, emulate: bool) -> Any:
    """Memory for the result, with contiguous columns if wanted, else rows."""
    batch: tuple[int, ...] = ()
    if a.dim() == b.dim():
        batch = (a.shape[0] if a.dim() == 3 else 1 if offs is None else offs.shape[0],)
    m, n, dtype = a.shape[-2], b.shape[-1], out_dtype or a.dtype
    if columns:
        return a.new_empty((*batch, n, m), dtype=dtype).transpose(-1, -2)
    return a.new_empty((*batch, m, n), dtype=dtype)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    a, b, offs, bias, *_ = inputs
    ctx.save_for_backward(a, b, offs)
    ctx.emulate = inputs[-1]
    ctx.bias = None if bias is None else (bias.dtype, bias.dim())


def _derivatives(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Those of A, B and the bias: with the same ends of groups, A's is dD Bᵀ, and B's Aᵀ dD."""
    a, b, offs = ctx.saved_tensors
    needs_a, needs_b, _, needs_bias = ctx.needs_input_grad[:4]
    gradient = _laid_out(gradient.to(a.dtype))

    def product(first: Any, second: Any, like: Any) -> Any:
        columns = like.stride(-1) != 1 and like.stride(-2) == 1
        return _operator()(first, second, offs, None, like.dtype, columns, ctx.emulate)

    of_a = product(gradient, b.mT, a) if needs_a else None
    of_b = product(a.mT, gradient, b) if needs_b else None
    of_bias = _bias_derivative(ctx, a, b, offs, gradient) if needs_bias else None
    return of_a, of_b, None, of_bias, None, None, None


def _bias_derivative(ctx: Any, a: Any, b: Any, offs: Any, gradient: Any) -> Any:
    """The sums of the columns of each group, or of all groups."""
    dtype, modes, exact = *ctx.bias, _torch().float32
    if a.dim() == 3 and b.dim() == 2:
        return gradient.sum(0, dtype=dtype)
    if a.dim() == 2 and b.dim() == 3:
        ones = gradient.new_ones((1, gradient.shape[0]))
        sums = _operator()(ones, gradient, offs, None, exact, False, ctx.emulate).squeeze(1)
    else:
        sums = gradient.sum(1, dtype=exact)
    return (sums.sum(0) if modes == 1 else sums).to(dtype)


def _laid_out(gradient: Any) -> Any:
    """A gradient that kernels can read: with contiguous rows or columns, and no memory that its elements share."""
    steps = [step for step, size in zip(gradient.stride(), gradient.shape, strict=True) if size > 1]
    return gradient if 0 not in steps and 1 in gradient.stride()[-2:] else gradient.contiguous()


if "torch" in sys.modules:  # so that `torch.compile` need not trace it
    _operator()
    _product()
