"""What threads have in registers, in the open pipeline, on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("kernels")
KERNELS = FOLDER / "registers.py"


@pytest.mark.parametrize("kind", ["two_fragments", "masked_load", "masked_store", "tf32_numbers"])
def test_it_agrees_with_the_reference(cutecc, kind: str) -> None:
    chosen = ("--entry", f"Registers('{kind}')", "--reference", f"{KERNELS}:{kind}")
    printed = cutecc("run", KERNELS, *chosen, "--device", "cpu", "--pipeline", "open").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"


def test_a_number_of_tf32_is_a_parameter(cutecc) -> None:
    printed = cutecc("run", FOLDER / "tf32_parameter.py", "--device", "cpu", "--pipeline", "open").stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"
