"""A wait for a barrier's state with a time limit, through LLVM, on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

KERNELS = Path(__file__).with_name("kernels") / "timed_waits.py"


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_the_wait_ends(emulated: EmulatedKernels, pipeline: str) -> None:
    emulated.agrees(emulated.compile(KERNELS, pipeline), KERNELS, reference="counted")
