"""Grouped products of torch tensors: `grouped_mm` with its derivatives, and operators of operations."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations import GroupedGemm, Row, Scalar, torch_operator
from cutecc.operations.torch_choices import Choices
from cutecc.operations.torch_library import schema
from cutecc.runtime.recent import Recent

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
functional: Any = importlib.import_module("cutecc.operations.grouped.functional")
grouped_mm = functional.grouped_mm

PARTS: dict[str, Any] = {
    "a": "f32:row:1",
    "b": "f32:row:1",
    "d": "f32:row:1",
    "instruction": "simt:1x1x1:f32:f32:f32",
    "tile": "32x32x8:stages=2:warps=1x1x1",
    "target": "sm_80",
}
ENDS = (5, 5, 12)
SHAPES = {
    "rows": ((12, 8), (3, 8, 4), (3, 4)),
    "columns": ((3, 4, 8), (8, 12), (12,)),
    "depth": ((4, 12), (12, 8), (3, 8)),
    "batched": ((3, 4, 8), (3, 8, 4), (3, 4)),
}


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_TARGET", "sm_80")


def reference(packing: str, a: Any, b: Any, bias: Any = None) -> Any:
    """A loop over groups."""
    spans = [slice(begin, end) for begin, end in zip((0, *ENDS), ENDS, strict=False)]
    if packing == "batched":
        parts = [a[group] @ b[group] for group in range(3)]
    elif packing == "rows":
        parts = [a[span] @ b[group] for group, span in enumerate(spans)]
    elif packing == "columns":
        parts = [a[group] @ b[:, span] for group, span in enumerate(spans)]
    else:
        parts = [a[:, span] @ b[span] for span in spans]
    if bias is not None:
        own = [bias[span] if packing == "columns" else bias[group] for group, span in enumerate(spans)]
        parts = [part + each for part, each in zip(parts, own, strict=True)]
    return (
        torch.cat(parts, {"rows": 0, "columns": 1}[packing]) if packing in ("rows", "columns") else torch.stack(parts)
    )


def leaves(packing: str) -> tuple[Any, ...]:
    torch.manual_seed(0)
    found = tuple(torch.randn(shape, dtype=torch.float64) for shape in SHAPES[packing])
    return tuple(each.requires_grad_() for each in found)


@pytest.mark.parametrize("packing", ["rows", "columns", "depth", "batched"])
def test_products_and_their_derivatives(packing: str) -> None:
    offs = None if packing == "batched" else torch.tensor(ENDS, dtype=torch.int32)
    exact = leaves(packing)
    given = tuple(each.detach().float().requires_grad_() for each in exact)
    a, b, bias = given
    result = grouped_mm(a, b, offs, bias, emulate_on_cpu=True)
    expected = reference(packing, *exact)
    torch.testing.assert_close(result.double(), expected, rtol=1e-4, atol=1e-4)
    assert result.dtype == torch.float32 and result.is_contiguous()
    weights = torch.randn(expected.shape, dtype=torch.float64)
    (result * weights.float()).sum().backward()
    (expected * weights).sum().backward()
    for mine, exactly in zip(given, exact, strict=True):
        torch.testing.assert_close(mine.grad.double(), exactly.grad, rtol=1e-4, atol=1e-4)


def test_a_transposed_weight_and_a_bias_for_all_groups() -> None:
    offs = torch.tensor(ENDS, dtype=torch.int32)
    a, weight, bias = torch.randn(12, 8), torch.randn(3, 4, 8, requires_grad=True), torch.randn(4, requires_grad=True)
    result = grouped_mm(a, weight.mT, offs, bias, emulate_on_cpu=True)
    expected = reference("rows", a, weight.mT, bias.expand(3, -1))
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    gradients = torch.autograd.grad(result.sum(), (weight, bias))
    exact = torch.autograd.grad(expected.sum(), (weight, bias))
    for mine, exactly in zip(gradients, exact, strict=True):
        torch.testing.assert_close(mine, exactly, rtol=1e-4, atol=1e-4)
    assert gradients[0].is_contiguous()  # as the weight lies


def test_types_of_results() -> None:
    offs = torch.tensor(ENDS, dtype=torch.int32)
    a, b = torch.randn(12, 8).bfloat16().requires_grad_(), torch.randn(3, 8, 8).bfloat16()
    result = grouped_mm(a, b, offs, out_dtype=torch.float32, emulate_on_cpu=True)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, reference("rows", a.float(), b.float()), rtol=1e-3, atol=1e-3)
    (gradient,) = torch.autograd.grad(result.sum(), a)
    assert gradient.dtype == torch.bfloat16


def test_fake_tensors_and_compiled_functions() -> None:
    offs = torch.tensor(ENDS, dtype=torch.int32)
    a, b, _ = (each.detach().float() for each in leaves("rows"))
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    for operator in (functional._operator(), functional._product()):
        torch.library.opcheck(operator, (a, b, offs, None, None, False, True), test_utils=checks)
    torch._dynamo.reset()

    def function(a: Any, b: Any, offs: Any) -> Any:
        return torch.relu(grouped_mm(a, b, offs, emulate_on_cpu=True)) * 2

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    expected = torch.relu(reference("rows", a, b)) * 2
    torch.testing.assert_close(compiled(a, b, offs), expected, rtol=1e-4, atol=1e-4)
    learned = compiled(a, b.requires_grad_(), offs)
    torch.testing.assert_close(learned, expected, rtol=1e-4, atol=1e-4)
    assert learned.requires_grad and not function(a, b.detach(), offs).requires_grad
    with torch.no_grad():
        assert not function(a, b, offs).requires_grad


def test_operations_are_kept_for_sizes_of_a_class() -> None:
    offs = torch.tensor((3, 9), dtype=torch.int32)
    made = [
        functional._operation(torch.empty(rows, 8), torch.empty(2, 8, 4), torch.empty(rows, 4), offs, {})
        for rows in (9, 16, 100_000)
    ]
    assert made[0] is made[1] and made[0] is not made[2]


@pytest.mark.parametrize("first", ["rows", "columns"])
def test_packings_of_like_tensors_are_told_apart(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    monkeypatch.setattr(functional, "_choices", Choices())
    monkeypatch.setattr(functional, "_classes", Recent(8))
    made: list[str] = []
    monkeypatch.setattr(GroupedGemm, "run", lambda op, *given, **more: made.append(op.description.packing))
    offs = torch.tensor((30, 64), dtype=torch.int32)
    flat, batch = torch.randn(64, 64), torch.randn(2, 64, 64)
    calls = {"rows": (flat, batch.mT), "columns": (batch, flat.T)}
    order = sorted(calls, key=lambda packing: packing != first)
    for packing in order:
        grouped_mm(*calls[packing], offs, emulate_on_cpu=True)
    assert made == order


def test_wrong_tensors_are_refused() -> None:
    offs = torch.tensor(ENDS, dtype=torch.int32)
    a, b = torch.randn(12, 8), torch.randn(3, 8, 4)
    with pytest.raises(ArgumentError, match="these live on the CPU"):
        grouped_mm(a, b, offs)
    with pytest.raises(ArgumentError, match="need offs, where each group ends"):
        grouped_mm(a, b)
    with pytest.raises(ArgumentError, match="have a batch each, and take no offs"):
        grouped_mm(a[None], b[:1], offs)
    with pytest.raises(ArgumentError, match="A and B have 2 or 3 modes each"):
        grouped_mm(a[0], b, offs)
    with pytest.raises(ArgumentError, match="A has a K of 8, and B of 7"):
        grouped_mm(a, b[:, :7], offs, emulate_on_cpu=True)
    with pytest.raises(ArgumentError, match="'offsets' holds no whole numbers"):
        grouped_mm(a, b, offs.float(), emulate_on_cpu=True)
    with pytest.raises(ArgumentError, match=r"A is torch.float32, and B torch.float16\nhint: B.to\(A.dtype\)"):
        grouped_mm(a, b.half(), offs, emulate_on_cpu=True)


@pytest.mark.parametrize("rows", [0, 12])
def test_wrong_tensors_are_refused_for_results_without_elements_too(rows: int) -> None:
    offs = torch.zeros(3, dtype=torch.int32)
    a, b = torch.randn(rows, 8), torch.randn(3, 8, 4 if rows == 0 else 0)
    n = b.shape[-1]
    assert grouped_mm(a, b, offs, emulate_on_cpu=True).shape == (rows, n)
    with pytest.raises(ArgumentError, match="B has 3 groups, and offsets 2"):
        grouped_mm(a, b, offs[:2], emulate_on_cpu=True)
    with pytest.raises(ArgumentError, match="offsets end at 13"):
        grouped_mm(a, b, offs + 13, emulate_on_cpu=True)
    with pytest.raises(ArgumentError, match="'offsets' holds no whole numbers"):
        grouped_mm(a, b, offs.float(), emulate_on_cpu=True)
    with pytest.raises(ArgumentError, match="argument 'bias'"):
        grouped_mm(a, b, offs, torch.randn(3, n + 1), emulate_on_cpu=True)


def test_an_operation_as_an_operator() -> None:
    op = GroupedGemm(
        **PARTS,
        packing="rows",
        epilogue=lambda accum, bias: {
            "D": accum + bias,
            "before": accum,
            "sums": sum(accum, axis=0),
            "all": sum(accum),
        },
        operands={"bias": Row("f32", 1), "before": "f32:row:1", "sums": Row("f32", 1), "all": Scalar("f32")},
    )
    assert schema(op) == "(Tensor A, Tensor B, Tensor offsets, Tensor bias) -> (Tensor, Tensor, Tensor, Tensor)"
    operator = torch_operator("cutecc_tests::grouped", op, emulate_on_cpu=True)
    offsets = torch.tensor(ENDS, dtype=torch.int32)
    a, b, bias = torch.randn(12, 8), torch.randn(3, 8, 4), torch.randn(3, 4)
    D, before, sums, every = operator(a, b, offsets, bias)
    torch.testing.assert_close(D, reference("rows", a, b, bias), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(before, reference("rows", a, b), rtol=1e-4, atol=1e-4)
    parts = [before[:5], before[5:5], before[5:]]
    torch.testing.assert_close(sums, torch.stack([each.sum(0) for each in parts]), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(every, torch.stack([each.sum() for each in parts]), rtol=1e-4, atol=1e-3)
    with pytest.raises(UsageError, match="and this operation lists of matrices"):
        schema(GroupedGemm(**PARTS))
