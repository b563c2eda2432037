"""TMA's gather and scatter of rows, which sm_100 has and the emulator has not: as the wheel's pipeline writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels
from hypothesis import given, settings
from hypothesis import strategies as st
from launches import host_program, launched

from cutecc.arguments.grammar import parse_spec

KERNEL = Path(__file__).with_name("kernels") / "gathered_rows.py"
ADDRESS = 0x7F00_0000_0000


@pytest.mark.parametrize("columns_adjacent", [True, False])
def test_they_are_those_of_the_wheel(emulated: EmulatedKernels, columns_adjacent: bool) -> None:
    """The copies with their modes, and what the kernel is launched with: descriptors, sizes."""
    args = {}
    if not columns_adjacent:
        args = {name: parse_spec(f"f16[128, ?{size}]:(1, ?{{i64 div=8}}) align=16") for name, size in ("xM", "yL")}
    wheel, ours = (
        emulated.compile(KERNEL, pipeline, entry=f"Rows({columns_adjacent})", args=args)
        for pipeline in ("nvidia", "open")
    )
    copies = re.findall(r"cp\.async\.bulk\.tensor\.\S+", wheel.ptx)
    assert re.findall(r"cp\.async\.bulk\.tensor\.\S+", ours.ptx) == copies
    assert [each.count("gather4") for each in copies] == [1, 1, 0, 0]
    assert [each.count("scatter4") for each in copies] == [0, 0, 1, 1]
    programs = host_program(wheel), host_program(ours)

    @given(st.integers(1, 1 << 20), st.integers(1, 1000), st.integers(1, 1 << 20), st.integers(16, 1 << 17))
    @settings(max_examples=50, deadline=None)
    def check(rows: int, count: int, others: int, eighths: int) -> None:
        stride = [] if columns_adjacent else [8 * eighths]
        leaves = [ADDRESS, rows, *stride, ADDRESS, count, ADDRESS, others, *stride]
        expected, found = (launched(program, leaves) for program in programs)
        assert found == expected

    check()
