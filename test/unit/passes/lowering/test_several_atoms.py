"""Copies and products of several atoms, on the emulator, and how wide the copies are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("kind", [*COPIES, "gemm", "call of a product"])
@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_all_values_are_taken(cutecc, kind: str, pipeline: str) -> None:
    expected = "copied" if kind in COPIES else "product"
    chosen = ("--entry", f"Several('{kind}')", "--pipeline", pipeline)
    printed = cutecc("run", KERNELS, *chosen, "--reference", f"{KERNELS}:{expected}", "--device", "cpu").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_copies_are_as_wide_as_they_may_be(cutecc, kind: str, pipeline: str, tmp_path: Path) -> None:
    cutecc("compile", KERNELS, "--entry", f"Several('{kind}')", "--pipeline", pipeline, "-o", tmp_path)
    (ptx,) = tmp_path.glob("*.ptx")
    accesses = re.findall(r"(?:ld|st)\.(?:global|shared)\.(\S+)", ptx.read_text())
    assert set(accesses) == {COPIES[kind]}
