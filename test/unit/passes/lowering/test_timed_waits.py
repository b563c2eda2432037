"""A wait for a barrier's state with a time limit, through LLVM, on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNELS = Path(__file__).with_name("kernels") / "timed_waits.py"


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_the_wait_ends(cutecc, pipeline: str) -> None:
    reference = f"{KERNELS}:counted"
    printed = cutecc("run", KERNELS, "--pipeline", pipeline, "--reference", reference, "--device", "cpu").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"
