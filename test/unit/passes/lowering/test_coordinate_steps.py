"""`cute.increment_coord` on the emulator, beside the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "coordinate_steps.py"


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
@pytest.mark.parametrize("kind", ["flat", "nested", "dynamic", "of other widths"])
def test_each_step_is_the_next_coordinate(emulated: EmulatedKernels, kind: str, pipeline: str) -> None:
    kernel = emulated.compile(KERNELS, pipeline, entry=f"Steps('{kind}')")
    emulated.agrees(kernel, KERNELS, reference="coordinates")
