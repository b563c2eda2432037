"""What threads have in registers, in the open pipeline, on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

FOLDER = Path(__file__).with_name("kernels")
KERNELS = FOLDER / "registers.py"


@pytest.mark.parametrize("kind", ["two_fragments", "masked_load", "masked_store", "tf32_numbers"])
def test_it_agrees_with_the_reference(emulated: EmulatedKernels, kind: str) -> None:
    kernel = emulated.compile(KERNELS, "open", entry=f"Registers('{kind}')")
    emulated.agrees(kernel, KERNELS, reference=kind)


def test_a_number_of_tf32_is_a_parameter(emulated: EmulatedKernels) -> None:
    file = FOLDER / "tf32_parameter.py"
    emulated.agrees(emulated.compile(file, "open"), file)
