"""Plain pointers, `!llvm.ptr`, that are swizzled, on the emulator, beside the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNELS = Path(__file__).with_name("kernels") / "plain_pointers.py"


@pytest.mark.parametrize(("swizzle", "expected"), [("3, 2, 3", "swizzled"), ("2, 2, -4", "swizzled_upwards")])
@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_a_swizzle_beside_a_pointer(cutecc, swizzle: str, expected: str, pipeline: str) -> None:
    chosen = ("--entry", f"Swizzled({swizzle})", "--pipeline", pipeline)
    printed = cutecc("run", KERNELS, *chosen, "--reference", f"{KERNELS}:{expected}", "--device", "cpu").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"
