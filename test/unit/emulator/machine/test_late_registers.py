"""Who uses a register of `tcgen05.ld` waits for that load, with and without `tcgen05.wait::ld`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.launch import load_program
from cutecc.emulator.options import EmulatorOptions
from cutecc.ptx.locations import PtxText

KERNEL = """
.version 9.0
.target sm_100a
.address_size 64
.shared .align 16 .b8 place[16];
.visible .entry kernel(.param .u64 a0)
{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [a0];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  mov.u32 %r2, place;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  bar.sync 0;
  ld.shared.b32 %r3, [%r2];
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r1};
  tcgen05.wait::st.sync.aligned;
  mov.u32 %r6, 0;
BODY
  bar.sync 0;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
  ret;
}
"""
LOAD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r4, %r5}, [%r3];"
LOOP = f"""
again:
  {LOAD}
  add.u32 %r6, %r6, %r4;
  setp.lt.u32 %p1, %r6, 50;
  @%p1 bra again;
  add.u32 %r4, %r4, %r5;
"""


@pytest.mark.parametrize(
    ("body", "late"),
    [
        (f"{LOAD} tcgen05.wait::ld.sync.aligned; add.u32 %r4, %r4, %r5;", set[int]()),
        (f"{LOAD} add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; mov.u32 %r6, %r5;", {12}),
        (f"{LOAD} setp.lt.u32 %p1, %r1, 8; @%p1 add.u32 %r4, %r4, %r4; @!%p1 add.u32 %r4, %r4, %r5;", {13, 14}),
    ],
)
@pytest.mark.parametrize("schedule", ["round-robin", "adversarial"])
def test_uses_of_loaded_registers(body: str, late: set[int], schedule: Any) -> None:
    """Operations that wait are those that may be the first to use any of a load's registers."""
    text = KERNEL.replace("BODY", f"{body} st.global.b32 [%rd1], %r4;")
    result = np.zeros(32, np.uint32)
    options = EmulatorOptions(check=frozenset({"races", "bounds", "barriers", "initialisation"}), schedule=schedule)
    found = run_text(text, launch_of(addresses_of(result)), allocations_of(result), options)
    assert not found.findings and found.failure is None
    np.testing.assert_array_equal(result, 2 * np.arange(32))
    assert late <= load_program(PtxText(text), "kernel").late.keys()
    assert len(load_program(PtxText(text), "kernel").late) <= len(late) + 1


CALLED = """
.func (.reg .b32 %result) sum(.reg .b32 %one, .reg .b32 %two) { add.u32 %result, %one, %two; ret; }
.visible .entry"""
BRANCHES = f"""
  {LOAD}
  targets: .branchtargets NONE, ONE, TWO;
  brx.idx %r4, targets;
NONE: mov.u32 %r4, 100; bra DONE;
ONE: mov.u32 %r4, 101; bra DONE;
TWO: mov.u32 %r4, 102;
DONE:
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (KERNEL.replace(".visible .entry", CALLED).replace("BODY", f"{LOAD} call (%r4), sum, (%r4, %r5);"), 4),
        (KERNEL.replace("BODY", BRANCHES), 102),
    ],
)
def test_what_decides_where_threads_go_waits(text: str, wanted: int) -> None:
    """A call that hands the register over, and a branch to the target of its number."""
    text = text.replace("%tid.x", "2").replace("  tcgen05.dealloc", "  st.global.b32 [%rd1], %r4; tcgen05.dealloc")
    result = np.zeros(32, np.uint32)
    options = EmulatorOptions(check=frozenset({"races", "initialisation"}), schedule="adversarial")
    found = run_text(text, launch_of(addresses_of(result)), allocations_of(result), options)
    assert found.failure is None and not found.findings
    assert result[2] == wanted


def test_loads_in_loops() -> None:
    """A load of the next turn writes over registers of the one before."""
    text = KERNEL.replace("BODY", f"{LOOP} st.global.b32 [%rd1], %r4;").replace("%tid.x", "100")
    result = np.zeros(128, np.uint32)
    options = EmulatorOptions(check=frozenset({"races"}), schedule="adversarial")
    found = run_text(text, launch_of(addresses_of(result)), allocations_of(result), options)
    assert not found.findings and set(result[100:101].tolist()) == {200}
