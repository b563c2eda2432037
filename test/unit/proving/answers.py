"""What the prover says of the repository's kernels that have barriers: of each file the worst."""

from __future__ import annotations

from proofs_table import Said

_PROVED = Said("proved")
_OF_K = "f(argument 1[1,0,1])"


def _at_least(number: str) -> Said:
    return Said("proved", f"{number} at least 1")


ANSWERS: dict[str, Said] = {
    "examples/gemm.py": _PROVED,
    "examples/hopper_gemm.py": _PROVED,
    "test/kernels/async_copy_pipeline.py": _PROVED,
    "test/kernels/attention_sm90.py": _at_least("f(argument 1[1,0,0])"),
    "test/kernels/block_scan.py": _PROVED,
    "test/kernels/cluster_reduce.py": _PROVED,
    "test/kernels/experimental_pipeline.py": _PROVED,
    "test/kernels/gemm_cooperative.py": _at_least(_OF_K),
    "test/kernels/gemm_fp8.py": _PROVED,
    "test/kernels/gemm_pingpong.py": _at_least(_OF_K),
    "test/kernels/gemm_sm80.py": _PROVED,
    "test/kernels/grouped_gemm.py": Said("cannot tell", "how many turns the loop takes is not known (line 54)"),
    "test/kernels/im2col.py": _PROVED,
    "test/kernels/tcgen05_gemm.py": _PROVED,
    "test/kernels/tma_copy.py": _at_least("f(argument 1[1,0,0])"),
    "test/kernels/tma_multicast.py": _PROVED,
    "test/kernels/tma_reduce.py": _PROVED,
    "test/kernels/wgmma_registers.py": _PROVED,
    "test/kernels/simt/buffered_gemm.py": _PROVED,
    "test/kernels/blackwell/attention_sm100.py": _PROVED,
    "test/kernels/blackwell/epilogue_shapes.py": _PROVED,
    "test/kernels/blackwell/gather4_gemm.py": _PROVED,
    "test/kernels/blackwell/gemm_2cta.py": _PROVED,
    "test/kernels/blackwell/gemm_2cta_multicast.py": _PROVED,
    "test/kernels/blackwell/gemm_a_in_tmem.py": _PROVED,
    "test/kernels/blackwell/gemm_f6.py": _PROVED,
    "test/kernels/blackwell/gemm_fp8.py": _PROVED,
    "test/kernels/blackwell/gemm_grouped.py": Said(
        "cannot tell", "how many turns the loop takes is not known (line 108)"
    ),
    "test/kernels/blackwell/gemm_int8.py": _PROVED,
    "test/kernels/blackwell/gemm_mxf8f6f4_sm120.py": _PROVED,
    "test/kernels/blackwell/gemm_multicast.py": _PROVED,
    "test/kernels/blackwell/gemm_mxfp4.py": _at_least(_OF_K),
    "test/kernels/blackwell/gemm_mxfp8.py": _PROVED,
    "test/kernels/blackwell/gemm_mxfp8_sm120.py": _PROVED,
    "test/kernels/blackwell/gemm_nvfp4.py": _PROVED,
    "test/kernels/blackwell/gemm_nvfp4_sm120.py": _PROVED,
    "test/kernels/blackwell/gemm_persistent_clc.py": _PROVED,
    "test/kernels/blackwell/gemm_pipelined.py": _PROVED,
    "test/kernels/blackwell/gemm_tf32_mn_major.py": _PROVED,
    "test/kernels/blackwell/gemm_variants.py": _PROVED,
    "test/kernels/blackwell/product_fields.py": Said(
        "cannot tell", "an instruction descriptor is not known (line 126)"
    ),
    "test/kernels/blackwell/tmem_from_smem.py": _PROVED,
    "test/kernels/blackwell/tmem_row_extremes.py": _PROVED,
}
LONG = {
    f"test/kernels/{name}.py"
    for name in (
        *("attention_sm90", "gemm_cooperative", "gemm_pingpong", "simt/buffered_gemm"),
        *("blackwell/gemm_pipelined", "blackwell/gemm_mxfp8_sm120", "blackwell/gemm_nvfp4_sm120"),
    )
}
"""Those that take so long that the slow test leaves them out."""
