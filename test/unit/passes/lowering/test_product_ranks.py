"""`cute.gemm` of tensors of each rank, on the emulator, beside the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "product_ranks.py"
EXPECTED = {
    "(V)": "of_values",
    "(M)": "of_vectors",
    "(M,K)": "of_matrices",
    "((M),K)": "of_matrices",
    "(V,M)": "of_vectors_of_values",
    "(V,M,K)": "of_matrices_of_values",
}
WHEELS = [form for form in EXPECTED if form != "(M)"]
"""The wheel's pass ends its process over (M) and (N), which CuTe's documentation has."""


@pytest.mark.parametrize(
    ("pipeline", "form"), [*(("nvidia", form) for form in WHEELS), *(("open", form) for form in EXPECTED)]
)
def test_products_of_each_rank(emulated: EmulatedKernels, pipeline: str, form: str) -> None:
    kernel = emulated.compile(KERNELS, pipeline, entry=f"Product('{form}')")
    emulated.agrees(kernel, KERNELS, reference=EXPECTED[form])
