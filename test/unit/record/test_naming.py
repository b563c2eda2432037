"""Short names of kernels, from symbols as the DSL makes them."""

from __future__ import annotations

import pytest

from cutecc.record.naming import short_kernel_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("kernel_cutlass_add_kernel_tensorptrf32gmemalign16o16128i64div41_tensor00o16128_0", "add_kernel"),
        ("kernel_cutlass_gemm_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_Valuetypef16_0", "gemm_kernel"),
        ("kernel_cutlass_kernel_TiledMMA_ThrLayoutVMNK1_0", "kernel"),
        ("kernel_cutlass_kernel_gemmGemm_object_at__CopyAtom_ThrID10_0", "kernel_gemmGemm"),
        ("kernel_cutlass_kernel_quackrmsnormRMSNorm_object_at__tensorptrbf16gmem_0", "kernel_quackrmsnormRMSNorm"),
        ("kernel_cutlass_no_arguments__3", "no_arguments"),
        ("vector_add", "vector_add"),
    ],
)
def test_a_symbol_ends_where_its_arguments_begin(symbol: str, name: str) -> None:
    assert short_kernel_name(symbol) == name
