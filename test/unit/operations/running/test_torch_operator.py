"""Operations as torch operators: registered from bundles, traced with fake tensors, compiled by `torch.compile`."""

from __future__ import annotations

from typing import Any

import pytest
from small_products import F32, biased, bundles

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.gemm import Gemm
from cutecc.operations.torch_library import schema, torch_operator

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    paths = bundles(tmp_path_factory)
    return torch_operator("cutecc_tests::plain", paths["plain"], emulate_on_cpu=True)


def test_an_operator_computes(plain: Any) -> None:
    A, B, C = torch.randn(33, 17), torch.randn(17, 21), torch.randn(33, 21)
    torch.testing.assert_close(plain(A, B), A @ B)
    torch.testing.assert_close(torch.ops.cutecc_tests.plain(A, B, C, alpha=2.0, beta=0.5), 2 * A @ B + 0.5 * C)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_an_operator_is_part_of_a_compiled_function(plain: Any, backend: str) -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        return torch.relu(torch.ops.cutecc_tests.plain(a, b, c, beta=1.0)) * 2

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=True)
    B = torch.randn(17, 21)
    for rows in (33, 9):
        A, C = torch.randn(rows, 17), torch.randn(rows, 21)
        torch.testing.assert_close(compiled(A, B, C), torch.relu(A @ B + C) * 2)


def test_fake_tensors_have_the_results_shape_type_and_strides(plain: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        result = plain(torch.empty(33, 17), torch.empty(17, 21))
    assert (tuple(result.shape), result.dtype, result.stride()) == ((33, 21), torch.float32, (21, 1))
    torch.library.opcheck(plain, (torch.randn(9, 17), torch.randn(17, 5)))


def test_several_results_and_a_result_of_columns(tmp_path_factory: pytest.TempPathFactory) -> None:
    split = torch_operator("cutecc_tests::split", Gemm.load(bundles(tmp_path_factory)["split"]), emulate_on_cpu=True)
    A, B, bias = torch.randn(33, 64), torch.randn(64, 21), torch.randn(21)
    D, sums = split(A, B, bias)
    expected = torch.relu(A @ B + bias)
    torch.testing.assert_close(D, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(sums, expected.sum(1), rtol=1e-4, atol=1e-4)
    assert D.stride() == (1, 33)


def test_schemas_say_what_an_operation_takes() -> None:
    assert schema(Gemm(**F32)) == "(Tensor A, Tensor B, *, float alpha=1.0) -> Tensor"
    with_source = Gemm(**F32, c="f32:row:1")
    assert schema(with_source) == "(Tensor A, Tensor B, Tensor? C=None, *, float alpha=1.0, float beta=0.0) -> Tensor"
    operands = {"bias": Row("f32", 1), "sums": Column("f32", 1)}
    assert (
        schema(Gemm(**F32, epilogue=biased, operands=operands))
        == "(Tensor A, Tensor B, Tensor bias) -> (Tensor, Tensor)"
    )
    with pytest.raises(UsageError, match="takes tensors, and this operation arrays of matrices"):
        schema(Gemm(**F32, mode="array"))


def test_what_is_refused(tmp_path_factory: pytest.TempPathFactory, plain: Any) -> None:
    with pytest.raises(UsageError, match="'gemm' is no name of an operator"):
        torch_operator("gemm", Gemm(**F32))
    with pytest.raises(RuntimeError, match="K differs"):
        plain(torch.randn(3, 4), torch.randn(3, 4))
    strict = torch_operator("cutecc_tests::strict", bundles(tmp_path_factory)["plain"])
    with pytest.raises(ArgumentError, match="cutecc_tests::strict takes tensors of a GPU, and A lives on the CPU"):
        strict(torch.randn(3, 4), torch.randn(4, 5))
