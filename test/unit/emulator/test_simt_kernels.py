"""Kernels of plain loops over registers: what `open` needs for them beside the wheel, and their results."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

from cutecc.compilation.request import CompileOptions
from cutecc.record import Compilation

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "kernels" / "simt"
MORE_REGISTERS = 16
MOST_LINES = 9_000
"""Of PTX of the kernel whose loop asks to be unrolled to three times as many."""
MORE_LINES = 4
"""Times the wheel's: it leaves more loops as they are."""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_loops_over_registers_take_no_more_than_the_wheel_takes(emulated: EmulatedKernels, file: Path) -> None:
    options = CompileOptions(backend="llvm", observe=True, artifacts=("ptx", "host-program"))
    kernel = emulated.compile(file, "open", target="sm_80", options=options)
    lines = kernel.ptx.count("\n")
    needs = Needs(kernel.compilation)
    if file.stem == "unrolled_gemm":  # for which the wheel takes as long as for all others
        assert lines < MOST_LINES and not needs.spilled
    else:
        made = emulated.compile(file, target="sm_80", options=CompileOptions(observe=True))
        wheel = Needs(made.compilation)
        assert lines < MORE_LINES * made.ptx.count("\n")
        assert needs.spilled <= wheel.spilled
        # An array that the wheel leaves in local memory, or spills, may be in registers.
        assert needs.registers <= wheel.registers + MORE_REGISTERS + (wheel.stack - needs.stack) // 4
    assert needs.tried <= (3 if needs.spilled else 1)
    emulated.agrees(kernel, file)


class Needs:
    """What the code of a compilation needs."""

    def __init__(self, compilation: Compilation) -> None:
        kernels = compilation.resources
        self.registers = max(each.registers for each in kernels)
        self.spilled = sum((each.spill_store_bytes or 0) + (each.spill_load_bytes or 0) for each in kernels)
        self.stack = max(each.stack_bytes or 0 for each in kernels)
        step = compilation.step("llvm-to-binary")
        remarks = [remark.message for remark in step.remarks] if step else []
        self.tried = sum(message.count(" registers, ") for message in remarks) or 1
