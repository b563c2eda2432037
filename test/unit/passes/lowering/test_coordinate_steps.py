"""`cute.increment_coord` on the emulator, beside the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "coordinate_steps.py"


@pytest.mark.parametrize("kind", ["flat", "nested", "dynamic", "of other widths"])
@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_each_step_is_the_next_coordinate(cutecc, kind: str, pipeline: str) -> None:
    chosen = ("--entry", f"Steps('{kind}')", "--pipeline", pipeline)
    printed = cutecc("run", KERNELS, *chosen, "--reference", f"{KERNELS}:coordinates", "--device", "cpu").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"
