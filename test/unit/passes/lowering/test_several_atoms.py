"""Copies and products of several atoms, on the emulator, and how wide the copies are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "several_atoms.py"
COPIES = {
    "copy": "v4.b32",
    "call": "v4.b32",
    "call of pairs": "v2.b32",
    "predicated call": "b32",
    "shared memory": "v4.b32",
    "whole rows in shared memory": "v4.b32",
}


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
@pytest.mark.parametrize("kind", [*COPIES, "gemm", "call of a product"])
def test_all_values_are_taken_by_copies_as_wide_as_they_may_be(
    emulated: EmulatedKernels, kind: str, pipeline: str
) -> None:
    kernel = emulated.compile(KERNELS, pipeline, entry=f"Several('{kind}')")
    if kind in COPIES:
        assert set(re.findall(r"(?:ld|st)\.(?:global|shared)\.(\S+)", kernel.ptx)) == {COPIES[kind]}
    emulated.agrees(kernel, KERNELS, reference="copied" if kind in COPIES else "product")
