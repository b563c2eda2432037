"""Plain pointers, `!llvm.ptr`, that are swizzled, on the emulator, beside the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

KERNELS = Path(__file__).with_name("kernels") / "plain_pointers.py"


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
@pytest.mark.parametrize(("swizzle", "expected"), [("3, 2, 3", "swizzled"), ("2, 2, -4", "swizzled_upwards")])
def test_a_swizzle_beside_a_pointer(emulated: EmulatedKernels, swizzle: str, expected: str, pipeline: str) -> None:
    kernel = emulated.compile(KERNELS, pipeline, entry=f"Swizzled({swizzle})")
    emulated.agrees(kernel, KERNELS, reference=expected)
