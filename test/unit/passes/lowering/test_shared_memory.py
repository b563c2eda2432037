"""A kernel that asks for static and dynamic shared memory itself, run on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNEL = Path(__file__).with_name("kernels") / "shared_memory.py"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("backend", ["llvm", "nvvm"])
def test_same_numbers_as_the_reference(cutecc, target: str, backend: str) -> None:
    chosen = ("--pipeline", "open", "--backend", backend, "--target", target)
    printed = cutecc("run", KERNEL, "--device", "cpu", *chosen, "--size", "N=384").stdout
    y, sizes = (line.split() for line in printed.splitlines()[-2:])
    assert (y[0], y[-1]) == ("y", "ok")
    assert (sizes[0], sizes[-1]) == ("sizes", "ok")


def test_less_than_nothing_is_an_error_at_the_line(cutecc, tmp_path: Path) -> None:
    file = tmp_path / "negative.py"
    file.write_text(KERNEL.read_text().replace("alloc_smem(cutlass.Int8, 3)", "alloc_smem(cutlass.Int8, -3)"))
    line = 1 + file.read_text().split("alloc_smem(cutlass.Int8, -3)")[0].count("\n")
    failed = cutecc("compile", file, "--pipeline", "open", "-o", tmp_path / "out", status=1)
    assert f"negative.py:{line}:" in failed.stderr
    assert "error: cute_nvgpu.arch.alloc_smem: shared memory of -3 elements" in failed.stderr
