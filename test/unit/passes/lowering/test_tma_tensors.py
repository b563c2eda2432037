"""What TMA copies in the open pipeline: tensors of many kinds on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNELS = Path(__file__).with_name("kernels") / "tma_tensors.py"


@pytest.mark.parametrize(
    ("tile", "spec"),
    [
        ((4, 32), "[?M=16, 64]"),
        # A step of the innermost mode is as far as the tensor says, also when it runs.
        ((4, 32), "[?M=16, ?N=64]:(?S{i64}=72, ?T{i64}=1)"),
        ((4, 1, 32), "[?M=8, ?H=3, ?N=64]:(?S{i64 div=8}=72, ?R{i64 div=8}=720, ?T=1)"),
        ((1, 2, 1, 2, 32), "[?A=3, ?B=4, ?C=2, ?D=4, 64]"),
        # Six modes, two of which are one to TMA.
        ((1, 2, 1, 3, 2, 32), "[3, 4, 2, 6, 2, 64]"),
        ((1, 4, 1, 3, 2, 32), "[?A=3, 4, 2, 6, 2, 64]"),
        ((3, 4, 1, 1, 2, 32), "[3, 4, 2, 6, 2, 64]"),
        # Two that do not follow each other: one of steps that divide both.
        ((1, 2, 1, 3, 1, 32), "[3, 4, 2, 6, 2, 64]"),
    ],
)
def test_it_agrees_with_the_reference(cutecc, tile: tuple[int, ...], spec: str) -> None:
    kinds = [argument for name in "xy" for argument in ("--arg", f"{name}=f16{spec} align=16")]
    chosen = ["--entry", f"Copy({tile})", "--reference", f"{KERNELS}:reference", *kinds]
    printed = cutecc("run", KERNELS, *chosen, "--device", "cpu", "--pipeline", "open").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"
