"""cutecc's own kernels among the operators of the package."""

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from cutecc.operations import compile
from cutecc.operations.operators import CuteccProvider, gemm_arguments, through_cutecc
from cutecc.operations.operators.package import ops
from cutecc.operations.operators.provider import CompiledGemm


def own(args: Any, target: str, **rest: Any) -> list[Any]:
    return ops.get_operators(args, target_sm=target, providers=[CuteccProvider], **rest)


def test_they_are_found_with_the_others() -> None:
    args = gemm_arguments("f16[256,256]", "f16[256,256]", "f16[256,256]")
    providers = [each.metadata.provider for each in ops.get_operators(args, target_sm="80")]
    assert set(providers) == {ops.CuTeDSLProvider, CuteccProvider}
    assert ops.available_providers["cutecc"] is CuteccProvider


def test_metadata() -> None:
    args = gemm_arguments("f16[256,256]", "f16[256,256] order=(0,1)", "f32[256,256]")
    first, *_ = own(args, "90a", metadata_filter=lambda metadata: metadata.design.unit == "wgmma")
    metadata, description = first.metadata, first.description
    assert metadata.operator_name == f"cutecc.{description.name}"
    assert metadata.supported_targets == [ops.TargetSm("90a")]
    assert metadata.design.tile_shape == description.tile.threadblock
    assert metadata.design.cluster_shape == (*description.tile.cluster, 1)
    assert metadata.design.num_smem_stages == description.tile.stages
    assert metadata.operands.B.stride == (0, 1, 0) and metadata.operands.B.ptr_alignment_bytes == 16
    assert first.supports(args, "90a") and not first.supports(args, "80")
    assert first.get_workspace_size(args).size_bytes == 0


def test_alignments_decide() -> None:
    aligned = gemm_arguments("f16[64,64]", "f16[64,64]", "f16[64,64]")
    odd = gemm_arguments("f16[63,61]", "f16[61,65]", "f16[63,65]")
    (first, *_), (unaligned, *_) = own(aligned, "80"), own(odd, "80")
    assert not first.supports(odd) and unaligned.supports(aligned) and unaligned.supports(odd)
    # 60 columns of 72 that are there: strides fit, the extent does not.
    narrow = gemm_arguments("f16[64,60]:(72,1)", "f16[60,64]", "f16[64,64]")
    status = first.supports(narrow)
    assert not status and "A is aligned to 4 elements" in str(status.error)


def test_digits_of_the_operands_come_first() -> None:
    args = gemm_arguments("f32[256,256]", "f32[256,256]", "f32[256,256]")
    multiplied = [each.metadata.design.multiplied for each in own(args, "80")]
    assert multiplied == sorted(multiplied) and set(multiplied) == {"f32", "tf32"}


def test_what_has_none() -> None:
    assert own(gemm_arguments("i32[8,8]", "i32[8,8]", "i32[8,8]", "i32"), "80") == []
    assert own(gemm_arguments("f16[8,8]", "bf16[8,8]", "f16[8,8]"), "80") == []


@pytest.mark.parametrize(("batch", "order"), [((), "C"), ((2,), "F")])
def test_run(batch: tuple[int, ...], order: Any) -> None:
    generator = np.random.default_rng(0)
    a = generator.standard_normal((*batch, 37, 21))
    b = generator.standard_normal((*batch, 21, 43))
    if order == "F":  # columns
        a, b = (np.ascontiguousarray(each.swapaxes(-1, -2)).swapaxes(-1, -2) for each in (a, b))
    out = np.full((*batch, 37, 43), np.nan)
    args = gemm_arguments(a, b, out, "f64")
    operator = own(args, "80", metadata_filter=lambda metadata: metadata.design.unit == "simt")[0]
    with through_cutecc(target="sm_80", device="cpu"):
        operator.run(args)
    np.testing.assert_allclose(out, a @ b, rtol=1e-13, atol=1e-13)


def test_they_are_cuteccs_also_outside_of_a_session() -> None:
    args = gemm_arguments("f64[64,64]", "f64[64,64]", "f64[64,64]", "f64")
    operator = own(args, "80", metadata_filter=lambda metadata: metadata.design.unit == "tensor_op")[0]
    artifact = operator.compile(args, "80")
    assert isinstance(artifact.compiled_obj, CompiledGemm)
    arrays, ran = np.zeros((3, 64, 64)), {}
    artifact.compiled_obj.operation.run = lambda *args, **options: ran.update(options)
    operator.run(gemm_arguments(*arrays, "f64"), artifact, stream=7)
    # On a GPU these are copies, which nobody else could bring back.
    assert ran["D"] is arrays[2] or np.shares_memory(ran["D"], arrays[2])
    assert ran["stream"] == 7 and ran["sync"]
    kernel = compile(operator, args, target="sm_80")
    assert kernel.ptx == artifact.compiled_obj.kernel.ptx
    assert "mma.sync.aligned.m8n8k4.row.col.f64" in kernel.ptx
